#include "support/deadline.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "support/threads.h"

namespace isobar {

Deadline::Deadline(std::function<std::string()> what, std::chrono::milliseconds limit)
    : what_(std::move(what)), thread_([this, limit](const std::stop_token& stop) { watch(stop, limit); }) {}

void Deadline::watch(const std::stop_token& stop, std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  ended_.wait_for(lock, stop, limit, [] { return false; });
  if (stop.stop_requested()) return;
  std::fprintf(stderr, "\nhangs: %s\nafter %lld s. Its threads:\n%s", what_().c_str(),
               static_cast<long long>(limit.count() / 1000), own_threads().c_str());
  const std::string children = children_text();
  if (!children.empty()) std::fprintf(stderr, "What it started, and is ended now:\n%s", children.c_str());
  kill_children();
  _exit(99);
}

}  // namespace isobar
