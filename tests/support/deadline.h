#pragma once
// Ends the whole program, with a sentence, when a test hangs: a thread that waits forever cannot be joined.
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>

namespace isobar {

class Deadline {
 public:
  Deadline(std::string what, std::chrono::milliseconds limit)
      : what_(std::move(what)), thread_([this, limit](const std::stop_token& stop) { watch(stop, limit); }) {}
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

 private:
  void watch(const std::stop_token& stop, std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    ended_.wait_for(lock, stop, limit, [] { return false; });
    if (stop.stop_requested()) return;
    std::fprintf(stderr, "hangs: %s\n", what_.c_str());
    _exit(99);
  }

  std::string what_;
  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::jthread thread_;
};

}  // namespace isobar
