#pragma once
// What scenarios of Comm have in common.
#include <ATen/Parallel.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full_like.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "comm/comm.h"
#include "core/files.h"
#include "core/waiting.h"
#include "launch/rank_status.h"
#include "support/rank_scenarios.h"
#include "support/set_clock.h"
#include "support/until.h"

namespace isobar::testing {

using Words = std::vector<std::string>;

inline CommConfig config_of(const Words& words, double timeout_s = 300) {
  CommConfig out;
  out.backend = words.empty() ? "gloo" : words[0];
  out.timeout_s = timeout_s;
  return out;
}

inline Comm world(const Words& words, double timeout_s = 300) {
  at::set_num_threads(1);
  return {read_rank_environment(), config_of(words, timeout_s), false};
}

inline void require(bool holds, const std::string& what) {
  if (!holds) throw Error("it is not so: " + what, "scenario", "", Exit::failed);
}

inline bool all_are(const at::Tensor& tensor, double value) {
  return at::equal(tensor, at::full_like(tensor, value));
}

inline std::filesystem::path meeting_folder() {
  return std::filesystem::path(read_rank_environment().meeting_file).parent_path();
}

/// Whether `rank` waits in a collective or an exchange that is called so, or did until it gave up.
inline bool has_come(int rank, const std::string& what) {
  const RankStatus status = read_rank_status(meeting_folder(), rank).value_or(RankStatus{});
  return status.phase == RankPhase::followed ||
         (status.phase == RankPhase::in_collective && status.what.find(what) != std::string::npos);
}

inline bool is_stopped(int rank) {
  return read_rank_status(meeting_folder(), rank).value_or(RankStatus{}).process == RankProcess::stopped;
}
inline bool has_ended(int rank) {
  return read_rank_status(meeting_folder(), rank).value_or(RankStatus{}).process == RankProcess::gone;
}

/// A word from one rank to others.
inline void say(const std::string& word) { write_file_whole(meeting_folder() / word, std::string_view()); }
inline bool is_said(const std::string& word) { return std::filesystem::exists(meeting_folder() / word); }

/// The clock of this rank: it stands still until `start`, and then goes on, half a second at a time, until
/// the process ends.
class HeldClock {
 public:
  template <class When>
  void start(When when) {
    thread_ = std::jthread([this, when](const std::stop_token& stop) {
      until([&] { return stop.stop_requested() || when(); });
      while (!stop.stop_requested()) {
        clock.advance_us(500'000);
        pause_us(1000);
      }
    });
  }
  SetClock clock;

 private:
  std::jthread thread_;
};

}  // namespace isobar::testing
