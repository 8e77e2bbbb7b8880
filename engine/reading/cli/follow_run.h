#pragma once
// What `show` says of a run while it goes on.
#include <cstdint>
#include <functional>
#include <optional>

#include "analyse/run_reader.h"
#include "record/console.h"

namespace isobar {

/// Tells each score of a run, and from time to time where it is.
class RunTeller {
 public:
  RunTeller(RunReader& reader, Console& console, std::int64_t every_us, const char* indent = "")
      : reader_(reader), console_(console), every_us_(every_us), indent_(indent) {}

  /// What was said since the last call.
  void look();

 private:
  RunReader& reader_;
  Console& console_;
  std::int64_t every_us_;  ///< between two lines of where it is
  const char* indent_;
  std::size_t told_ = 0;
  std::optional<std::int64_t> shown_us_;
};

struct FollowUntil {
  std::function<bool()> more_comes = {};  ///< though the run said its end: another attempt, or another rank
  std::function<bool()> stop = {};        ///< asked ten times a second
};

/// Tells each score and now and then where the run is, until it is over; false when `stop` said so before.
bool follow_run(RunReader& reader, Console& console, const FollowUntil& until = {});

bool is_over(const RunView& view);

}  // namespace isobar
