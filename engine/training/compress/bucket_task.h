#pragma once
// A bucket's way through one step as one function of a page: it sends, and continues where it left off once
// the ranks have added up.
#include <coroutine>
#include <cstddef>
#include <exception>
#include <functional>
#include <utility>

#include "train/gradient_buckets.h"

namespace isobar {

/// What is sent in place of gradients: contiguous, and equal in size and type on all ranks.
struct Payload {
  at::Tensor values;
  Reduce reduce = Reduce::mean;
};

/// The coroutine that a page writes for its buckets. Each `resume` runs it to its next all-reduce, the last
/// one to its end; what it throws leaves `resume`.
class [[nodiscard]] BucketTask {
 public:
  struct promise_type {
    BucketTask get_return_object() {
      return BucketTask(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    // So that what the first part throws leaves `resume`, too.
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    [[noreturn]] void unhandled_exception() const { throw; }
  };

  explicit BucketTask(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  BucketTask(BucketTask&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  BucketTask& operator=(BucketTask&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~BucketTask() {
    if (handle_) handle_.destroy();
  }

  bool done() const { return handle_.done(); }
  void resume() { handle_.resume(); }

 private:
  std::coroutine_handle<promise_type> handle_;
};

/// One bucket of this step.
class SentBucket {
 public:
  /// `sent`: messages of all buckets of this step so far. Both outlive this.
  SentBucket(std::size_t index, BucketMessenger& messenger, std::size_t& sent)
      : index_(index), messenger_(messenger), sent_(sent) {}

  std::size_t index() const { return index_; }  ///< in the plan of this step
  int rounds() const { return rounds_; }        ///< all-reduces that it has begun
  /// What the last all-reduce is about: once the task continues, what all ranks made of it.
  const at::Tensor& payload() const { return payload_; }

  /// For `co_await`: starts the all-reduce, and the task continues when it is done. Backward runs meanwhile.
  auto all_reduce(const Payload& payload) {
    struct Wait {
      SentBucket& bucket;
      bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<>) const noexcept {}
      void await_resume() const { bucket.wait(); }
    };
    payload_ = payload.values;
    ++rounds_;
    message_ = sent_++;
    messenger_.send(message_, payload_, payload.reduce);
    return Wait{*this};
  }

 private:
  void wait() { messenger_.wait(message_); }

  std::size_t index_;
  BucketMessenger& messenger_;
  std::size_t& sent_;
  std::size_t message_ = 0;
  int rounds_ = 0;
  at::Tensor payload_;
};

/// A page's function; the bucket outlives the task.
using BucketWay = std::function<BucketTask(SentBucket& bucket)>;

}  // namespace isobar
