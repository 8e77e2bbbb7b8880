#include "comm/comm_watch.h"

#include <chrono>
#include <utility>

#include "comm/lost_ranks.h"
#include "core/clock.h"
#include "core/patience.h"

namespace isobar {
namespace {

constexpr auto kPause = std::chrono::microseconds(500);
constexpr std::int64_t kWatchLook_us = 1'000'000;

}  // namespace

CommWatch::CommWatch(CommGroup& core) : core_(core), thread_([this] { run(); }) {}

CommWatch::~CommWatch() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void CommWatch::add(Watched watched) {
  {
    const std::lock_guard lock(mutex_);
    watched.since_us = clock_us_;
    waiting_.push_back(std::move(watched));
  }
  wake_.notify_all();
}

void CommWatch::run() {
  std::unique_lock lock(mutex_);
  Patience patience(kWatchLook_us);
  while (!ends_) {
    if (waiting_.empty()) {
      wake_.wait(lock, [&] { return ends_ || !waiting_.empty(); });
      patience.pass();
      continue;
    }
    clock_us_ += patience.pass();
    Watched oldest = waiting_.front();
    lock.unlock();
    const bool settled = look(oldest);
    lock.lock();
    if (settled) {
      waiting_.pop_front();
      told_ = false;
    } else {
      wake_.wait_for(lock, kPause, [&] { return ends_; });
    }
  }
}

bool CommWatch::look(Watched& watched) {
  if (core_.is_broken()) return true;
  const Waited& waited = watched.waited;
  try {
    if (watched.pending->done()) {
      watched.span.track = watched.track;
      watched.span.end_us = steady_us();
      if (core_.shared->spans != nullptr && !watched.track.empty()) core_.shared->spans->add(watched.span);
      return true;
    }
    const std::int64_t waited_us = clock_us_ - watched.since_us;
    if (waited_us < kWatchLook_us || clock_us_ - looked_us_ < kWatchLook_us) return false;
    looked_us_ = clock_us_;
    if (!std::exchange(told_, true)) leave_waiting(core_, waited);
    std::string how;
    if (ended_rank(core_, how)) {
      core_.break_off(
          std::make_exception_ptr(lost_error(core_, waited, static_cast<double>(waited_us) * 1e-6, "")),
          Blame::others);
      return true;
    }
    if (static_cast<double>(waited_us) < core_.config.timeout_s * 1e6) return false;
    core_.break_off(std::make_exception_ptr(late_error(core_, waited, static_cast<double>(waited_us) * 1e-6)),
                    Blame::others);
  } catch (const std::exception& error) {
    core_.break_off(std::make_exception_ptr(lost_error(core_, waited, 0, error.what())), Blame::others);
  }
  return true;
}

}  // namespace isobar
