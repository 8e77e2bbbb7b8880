#include "device/barrier_waits.h"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <optional>
#include <thread>

#include "core/proc.h"
#include "core/waiting.h"

namespace isobar {
namespace {

constexpr std::int64_t kLook_us = 100'000;
constexpr int kLooksToSleep = 2;
constexpr int kLooksToSpin = 5;

/// Signals are heard by the program's own threads.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_{};
};

/// -1 = no thread wanted to run.
double worst_share(const std::map<pid_t, ProcessorUse>& before, const std::map<pid_t, ProcessorUse>& now) {
  double worst = -1;
  for (const auto& [thread, use] : now) {
    const auto old = before.find(thread);
    if (old == before.end()) continue;
    const std::int64_t waited_us = use.waited_us - old->second.waited_us;
    const std::int64_t wanted_us = waited_us + use.ran_us - old->second.ran_us;
    if (wanted_us < WaitChoice::kLeastWanted_us) continue;
    worst = std::max(worst, static_cast<double>(waited_us) / static_cast<double>(wanted_us));
  }
  return worst;
}

void follow(const std::atomic<int>& threads) {
  WaitChoice choice;
  std::optional<SurplusThreads> surplus;
  for (;;) {
    pause_us(kLook_us);
    const bool sleeps = choice.sleeps(processor_use("/proc/self/task"));
    if (sleeps && !surplus) surplus.emplace(threads);
    if (!sleeps) surplus.reset();
  }
}

}  // namespace

std::map<pid_t, ProcessorUse> processor_use(const std::filesystem::path& tasks) {
  std::map<pid_t, ProcessorUse> out;
  for (const pid_t thread : numbered_entries(tasks)) {
    std::ifstream file(tasks / std::to_string(thread) / "schedstat");
    std::int64_t ran_ns = 0, waited_ns = 0;
    if (file >> ran_ns >> waited_ns) out[thread] = {ran_ns / 1000, waited_ns / 1000};
  }
  return out;
}

bool WaitChoice::sleeps(const std::map<pid_t, ProcessorUse>& now) {
  const double share = worst_share(before_, now);
  before_ = now;
  if (share < 0) return sleeps_;  // an idle process learns nothing
  const bool asks = sleeps_ ? share < kCalm : share > kContended;
  looks_against_ = asks ? looks_against_ + 1 : 0;
  if (looks_against_ >= (sleeps_ ? kLooksToSpin : kLooksToSleep)) {
    sleeps_ = !sleeps_;
    looks_against_ = 0;
  }
  return sleeps_;
}

struct SurplusThreads::State {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_there = false;
  bool is_over = false;
  std::thread holder;  ///< libgomp keeps the team of a thread for as long as the thread lives
};

SurplusThreads::SurplusThreads(int threads) : state_(std::make_unique<State>()) {
  const NoSignals guard;
  const int more = std::max(2, omp_get_num_procs() - threads + 2);  // its holder was there already
  state_->holder = std::thread([state = state_.get(), more] {
    std::atomic<int> came = 0;
#pragma omp parallel num_threads(more)
    came.fetch_add(1, std::memory_order_relaxed);
    std::unique_lock lock(state->mutex);
    state->is_there = true;
    state->changed.notify_all();
    state->changed.wait(lock, [&] { return state->is_over; });
  });
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->is_there; });
}

SurplusThreads::~SurplusThreads() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->is_over = true;
    state_->changed.notify_all();
  }
  state_->holder.join();
}

void adapt_barrier_waits(int threads) {
  static std::atomic<int> of_loops;
  static std::once_flag once;
  of_loops = threads;
  const bool is_decided =
      std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr;
  if (is_decided || threads < 2 || threads > omp_get_num_procs()) return;
  std::call_once(once, [] {
    const NoSignals guard;
    // It ends with the process, which need not wait for its next look.
    std::thread([] { follow(of_loops); }).detach();
  });
}

}  // namespace isobar
