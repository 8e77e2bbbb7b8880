#pragma once
// What `show` says of a run while it goes on.
#include <functional>

#include "analyse/run_reader.h"
#include "record/console.h"

namespace isobar {

struct FollowUntil {
  std::function<bool()> more_comes = {};  ///< though the run said its end: another attempt, or another rank
  std::function<bool()> stop = {};        ///< asked ten times a second
};

/// Tells each score and now and then where the run is, until it is over; false when `stop` said so before.
bool follow_run(RunReader& reader, Console& console, const FollowUntil& until = {});

bool is_over(const RunView& view);

}  // namespace isobar
