#pragma once
// How threads of a parallel loop wait for one another at its end. OpenMP's spin for some ten milliseconds
// before they sleep, which is quickest while each has a processor; beside other programs a thread that spins
// keeps the one that it waits for from running. So both happen, each in its time. Torch-free.
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>

namespace isobar {

/// What one thread had of the processors so far, and how long it could have run while another one did
/// (Documentation/scheduler/sched-stats.rst of Linux).
struct ProcessorUse {
  std::int64_t ran_us = 0;
  std::int64_t waited_us = 0;
};

/// Threads in `tasks` (`/proc/self/task`), by their numbers. Empty where the kernel does not count.
std::map<pid_t, ProcessorUse> processor_use(const std::filesystem::path& tasks);

/// Whether waiting threads should sleep at once, decided anew at each look.
class WaitChoice {
 public:
  /// A loop is as slow as its slowest thread: the largest share of its time that a thread waited for a
  /// processor since the look before decides. Twice in a row above kContended: sleep. Five times below kCalm:
  /// spin. Threads that hardly wanted to run count for nothing.
  bool sleeps(const std::map<pid_t, ProcessorUse>& now);

  static constexpr double kContended = 0.25;
  static constexpr double kCalm = 0.1;
  static constexpr std::int64_t kLeastWanted_us = 10'000;

 private:
  std::map<pid_t, ProcessorUse> before_;
  bool sleeps_ = false;
  int looks_against_ = 0;  ///< in a row that ask for the other choice
};

/// While it lives, OpenMP's threads of this process that wait sleep almost at once (100 turns instead of
/// 300,000), for there are more of them than processors: libgomp spins shortly then (GOMP_SPINCOUNT in its
/// manual). The additional ones sleep from their first moment on. `threads`: those that parallel loops have.
class SurplusThreads {
 public:
  explicit SurplusThreads(int threads);
  ~SurplusThreads();
  SurplusThreads(const SurplusThreads&) = delete;
  SurplusThreads& operator=(const SurplusThreads&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// From now on waits of this process's parallel loops of `threads` threads follow WaitChoice, with a look
/// every 100 ms. Nothing changes where the environment decides (OMP_WAIT_POLICY, GOMP_SPINCOUNT), or where
/// threads never wait long: one thread, or more threads than processors. The last call counts.
void adapt_barrier_waits(int threads);

}  // namespace isobar
