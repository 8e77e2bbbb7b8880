#include "core/stoppable_sleep.h"

#include "core/clock.h"
#include "core/waiting.h"

namespace isobar {

void sleep_until_us(std::int64_t due_us, const std::stop_token& stop) {
  if (due_us <= steady_us()) return;
  std::mutex mutex;
  std::condition_variable stopped;
  const std::stop_callback wake(stop, [&] {
    { const std::lock_guard guard(mutex); }  // whoever is about to wait does so first
    stopped.notify_all();
  });
  std::unique_lock lock(mutex);
  wait_until(lock, stopped, due_us, [&] { return stop.stop_requested(); });
}

}  // namespace isobar
