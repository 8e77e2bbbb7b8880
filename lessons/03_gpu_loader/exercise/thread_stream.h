#pragma once
// The streams of the exercise over threads: a device on a CPU.
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "03_gpu_loader/exercise/exercise.h"

namespace isobar::exercise {

class ThreadEvent final : public DeviceEvent {
 public:
  explicit ThreadEvent(bool happened = false) : happened_(happened) {}

  void wait_on_host() const override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return happened_; });
  }
  void happen() {
    const std::scoped_lock lock(mutex_);
    happened_ = true;
    changed_.notify_all();
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool happened_;
};

/// Does what it is asked for in a thread of its own, in order.
class ThreadStream final : public DeviceStream {
 public:
  ThreadStream() : thread_([this] { work(); }) {}
  /// When all is done.
  ~ThreadStream() override {
    ask({});
    thread_.join();
  }
  ThreadStream(const ThreadStream&) = delete;
  ThreadStream& operator=(const ThreadStream&) = delete;

  /// Any work; an empty one ends the thread.
  void ask(std::function<void()> job) {
    const std::scoped_lock lock(mutex_);
    jobs_.push_back(std::move(job));
    asked_.notify_one();
  }

  void copy(std::span<const std::byte> from, std::span<std::byte> to) override {
    ask([from, to] { std::memcpy(to.data(), from.data(), from.size()); });
  }
  EventPointer record() override {
    auto event = std::make_shared<ThreadEvent>();
    ask([event] { event->happen(); });
    return event;
  }
  void wait(const EventPointer& event) override {
    ask([event] { event->wait_on_host(); });
  }

 private:
  void work() {
    while (const std::function<void()> job = next_job()) job();
  }
  std::function<void()> next_job() {
    std::unique_lock lock(mutex_);
    asked_.wait(lock, [this] { return !jobs_.empty(); });
    std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    return job;
  }

  std::mutex mutex_;
  std::condition_variable asked_;
  std::deque<std::function<void()>> jobs_;
  std::thread thread_;
};

}  // namespace isobar::exercise
