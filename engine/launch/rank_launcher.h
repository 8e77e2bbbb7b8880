#pragma once
// Several processes of one program that train together on this machine.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "launch/supervise.h"

namespace isobar {

struct RankEnded {
  int rank = 0;
  int code = 0;             ///< exit code, 128 + signal for one that was killed
  int signal = 0;           ///< that killed it, 0 = none
  bool followed = false;    ///< it was stopped, or gave up, because another had failed before
  std::int64_t end_us = 0;  ///< steady clock
  std::int64_t peak_bytes = 0;
  std::string errors;  ///< the end of what it wrote to standard error, at most 8 kB
  std::string output;  ///< of a quiet one: the same of standard output
};

struct RanksEnded {
  std::vector<RankEnded> ranks;  ///< by rank
  int first = -1;                ///< the rank that failed first, -1 = none failed
  int code = 0;                  ///< of the whole: that of the first that failed, else of rank 0
  bool timed_out = false;        ///< `deadline_s` passed, and all were killed
  int asked = 0;                 ///< the last signal to stop that came here and was passed on, 0 = none
};

struct RankOptions {
  bool quiet = false;               ///< nothing of what they say reaches this terminal
  double deadline_s = 0;            ///< all are killed after so many seconds; 0 = never
  double grace_s = 10;              ///< after the first failure the others have so long to end by themselves
  std::function<void()> tick = {};  ///< called a few times a second while they run
};

/// Starts `words` `ranks` times with RANK, LOCAL_RANK, WORLD_SIZE and ISOBAR_MEETING (a file in a new private
/// folder, removed at the end) and waits for all of them. Lines of theirs are prefixed with their rank. When
/// one fails the others are stopped: SIGTERM, after `grace_s` SIGKILL. Signals to stop are passed on as by
/// `supervise`; if this process is killed, so are they.
RanksEnded launch_ranks(const std::vector<std::string>& words, int ranks, const RankOptions& options = {});

}  // namespace isobar
