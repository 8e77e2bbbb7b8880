#pragma once
// Ends the whole program when a test hangs, with its name and where its threads stand: one that waits forever
// cannot be joined. No test may depend on how long it takes, so limits are far above what any machine needs.
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace isobar {

class Deadline {
 public:
  Deadline(std::string what, std::chrono::milliseconds limit) : Deadline([what] { return what; }, limit) {}
  /// `what` is asked at the end.
  Deadline(std::function<std::string()> what, std::chrono::milliseconds limit);
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

 private:
  void watch(const std::stop_token& stop, std::chrono::milliseconds limit);

  std::function<std::string()> what_;
  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::jthread thread_;
};

}  // namespace isobar
