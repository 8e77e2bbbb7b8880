#include "ring/link_clock.h"

#include <sys/prctl.h>

#include <algorithm>
#include <cmath>

#include "core/clock.h"
#include "core/error.h"
#include "core/patience.h"
#include "core/waiting.h"

namespace isobar {
namespace {

// Half of what the board remembers: another rank may be as far ahead again.
constexpr std::size_t kMostOpen = ArrivalBoard::kRemembered / 2;
constexpr std::int64_t kLinkLook_us = 200;
constexpr std::int64_t kMostApart_us = 1'000'000;  // two looks, unless this process stands still

}  // namespace

void wait_for_link(std::int64_t due_us) {
  if (steady_us() >= due_us) return;
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);  // 50 us otherwise
  sleep_until_us(due_us);
  prctl(PR_SET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL);  // back to this thread's own
}

std::shared_ptr<LinkClock::Use> LinkClock::begin(double cost_us, std::int64_t timeout_us) {
  Patience patience(kMostApart_us);
  std::int64_t waited_us = 0;
  std::unique_lock lock(mutex_);
  settle();
  while (open_.size() >= kMostOpen) {
    waited_us += patience.pass();
    if (waited_us > timeout_us) {
      throw Error("a rank does not come to the collectives that are under way", "emulated link",
                  "wait for collectives before more are started", Exit::failed);
    }
    lock.unlock();
    pause_us(kLinkLook_us);
    lock.lock();
    settle();
  }
  auto use = std::make_shared<Use>(Use{.number = next_++, .cost_us = cost_us, .end_us = {}});
  board_.arrive(use->number, steady_us());
  open_.push_back(use);
  return use;
}

std::optional<std::int64_t> LinkClock::end_us(const Use& use) {
  const std::lock_guard lock(mutex_);
  if (!use.end_us.has_value()) settle();
  if (!use.end_us.has_value()) return std::nullopt;
  return std::llround(*use.end_us);
}

void LinkClock::settle() {
  while (!open_.empty()) {
    Use& first = *open_.front();
    const std::optional<RankArrival> last = board_.latest(first.number);
    if (!last.has_value()) return;
    free_us_ = std::max(static_cast<double>(last->time_us), free_us_) + first.cost_us;
    first.end_us = free_us_;
    open_.pop_front();
  }
}

}  // namespace isobar
