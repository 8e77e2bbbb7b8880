#pragma once
// Several processes of one program that train together on this machine.
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launch/rank_status.h"

namespace isobar {

struct SpawnOptions;

struct RankEnded {
  int rank = 0;
  int code = 0;                      ///< exit code, 128 + signal for one that was killed
  int signal = 0;                    ///< the signal that killed it, 0 = none
  bool followed = false;             ///< it was stopped, or gave up, because another had failed before
  bool stopped = false;              ///< its process stood still (SIGSTOP) when the others gave up
  bool out_of_memory = false;        ///< the system reports that memory ran out meanwhile
  std::int64_t end_us = 0;           ///< steady clock
  std::int64_t peak_bytes = 0;       ///< most memory that it held at once
  std::string errors;                ///< the end of what it wrote to standard error, at most 8 kB
  std::string output;                ///< of a quiet one: the end of standard output, likewise
  std::optional<RankStatus> status;  ///< its last status; nullopt when it published none
};

struct RanksEnded {
  std::vector<RankEnded> ranks;  ///< by rank
  int first = -1;                ///< the rank that failed first, -1 = none failed
  int code = 0;                  ///< exit code: of the first that failed, else of rank 0
  bool timed_out = false;        ///< `deadline_s` passed, and all were killed
  int asked = 0;                 ///< the last signal to stop that came here and was passed on, 0 = none
};

struct RankOptions {
  bool quiet = false;               ///< nothing that they print reaches this terminal
  double deadline_s = 0;            ///< all are killed after so many seconds; 0 = never
  double grace_s = 10;              ///< after the first failure the others have so long to end by themselves
  std::function<void()> tick = {};  ///< called a few times a second while they run
  std::function<pid_t(const std::vector<std::string>&, const SpawnOptions&)> start = {};  ///< {} = `spawn`
};

/// Starts `words` `ranks` times with RANK, LOCAL_RANK, WORLD_SIZE and ISOBAR_MEETING (a file in a new private
/// folder, removed at the end) and waits for all of them. Each has a process group of its own, and what is
/// left of it is killed when the rank ends. Whole lines of theirs come out prefixed with their rank; on a
/// terminal standard output of rank 0 goes there as it is, so that it can have a live line. When one fails
/// (any code but 0 and 75) the others are stopped: SIGTERM, after `grace_s` SIGKILL, and for one that
/// stands still once the others have ended. Signals to stop are passed on as by `supervise`; a second SIGINT
/// or SIGTERM (a quarter of a second later or more) ends all within a second; the code is 128 + that signal
/// then. If this process is killed, programs of ours stop.
///
/// The first that failed is found from the ranks' own status (RankStatus, by the link "run" that rank 0 lays
/// beside the meeting file), so that one that only followed is never blamed.
/// Error (exit code 1) where all went well and what they printed could not be written, unless who reads it
/// left.
RanksEnded launch_ranks(const std::vector<std::string>& words, int ranks, const RankOptions& options = {});

/// Lays that link; called by rank 0 of LaunchedBy::isobar. Does nothing where it cannot, and for ranks
/// that do not meet at a file.
void show_run_folder(const std::string& meeting_file, const std::filesystem::path& run_folder);

/// "rank 1 failed first, in step 13, stage forward: killed (SIGKILL); rank 0 followed". "" when none failed.
std::string first_failure_text(const RanksEnded& ended);

}  // namespace isobar
