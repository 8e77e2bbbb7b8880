#pragma once
// What scenarios of Comm have in common.
#include <ATen/Parallel.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full_like.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "comm/comm.h"
#include "core/files.h"
#include "core/machine.h"
#include "core/waiting.h"
#include "launch/rank_status.h"
#include "support/named.h"
#include "support/rank_scenarios.h"
#include "support/set_clock.h"
#include "support/until.h"

namespace isobar::testing {

using Words = std::vector<std::string>;

inline CommConfig config_of(const Words& words, double timeout_s = 300) {
  CommConfig out;
  out.backend = words.empty() ? BackendKind::gloo : named<BackendKind>(words[0]);
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

/// Whether the main thread of a process stands still; while it is on its way it runs, or waits to run.
inline bool is_asleep(std::int64_t pid) {
  const std::optional<ProcessFacts> facts = process_facts(pid);
  return facts && facts->state == 'S';
}

/// Whether `rank` waits in a collective or an exchange that is called so, or did until it gave up. It says so
/// a moment before it has come: a rank that sleeps has.
inline bool has_come(int rank, const std::string& what) {
  const RankStatus status = read_rank_status(meeting_folder(), rank).value_or(RankStatus{});
  return status.phase == RankPhase::followed ||
         (status.phase == RankPhase::in_collective && status.what.find(what) != std::string::npos &&
          is_asleep(status.pid));
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

/// Eight bytes that all ranks of a launch see.
inline std::atomic<std::int64_t>* shared_time() {
  const std::filesystem::path path = meeting_folder() / "clock";
  const FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  require(file.is_open() && ftruncate(file.number(), sizeof(std::int64_t)) == 0, "there is a clock");
  void* const place =
      mmap(nullptr, sizeof(std::int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
  require(place != MAP_FAILED, "the clock can be read");
  static_assert(std::atomic<std::int64_t>::is_always_lock_free);
  return static_cast<std::atomic<std::int64_t>*>(place);  // until the process ends
}

/// The clock of all ranks: it stands still until one of them starts it, and then goes on, half a second at a
/// time, until that one ends.
class HeldClock {
 public:
  HeldClock() {
    waker_ = std::jthread([this](const std::stop_token& stop) {
      for (; !stop.stop_requested(); pause_us(1000)) clock.wake_who_is_due();
    });
  }
  template <class When>
  void start(When when) {
    hand_ = std::jthread([this, when](const std::stop_token& stop) {
      until([&] { return stop.stop_requested() || when(); });
      for (; !stop.stop_requested(); pause_us(1000)) clock.advance_us(500'000);
    });
  }
  SetClock clock{shared_time()};

 private:
  std::jthread waker_;
  std::jthread hand_;
};

}  // namespace isobar::testing
