// Lesson 02: a bounded queue that reads ahead, and stops cleanly.
// exercise.h says what is given and what is promised; ./isobar check 02_workers looks at what you wrote.
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "02_workers/exercise/exercise.h"

namespace isobar::mine {

using exercise::Fill;
using exercise::Memory;
using exercise::QueueSetting;
using exercise::QueueStopped;

class Queue : public exercise::BatchQueue {
 public:
  Queue(Fill fill, const QueueSetting& setting)
      : fill_(std::move(fill)), setting_(setting), claimed_(setting.first), taken_(setting.first) {
    // BEGIN Start setting_.threads threads that run work().
    for (std::int64_t i = 0; i < setting_.threads; ++i) threads_.emplace_back([this] { work(); });
    // END
  }

  ~Queue() override {
    // BEGIN End the threads and wait for each of them.
    stop();
    for (std::thread& thread : threads_) thread.join();
    // END
  }

  Memory take() override {
    // BEGIN Wait until batch number taken_ is there, and hand it out. What can end the wait?
    //> return nullptr;
    std::unique_lock lock(mutex_);
    if (stopped_) throw QueueStopped();
    if (taken_ == setting_.end) return nullptr;
    changed_.wait(lock, [this] { return stopped_ || done_.count(taken_) > 0; });
    if (stopped_) throw QueueStopped();
    const Done batch = std::move(done_.at(taken_));
    done_.erase(taken_++);
    changed_.notify_all();  // there is room again
    if (batch.failure) std::rethrow_exception(batch.failure);
    return batch.memory;
    // END
  }

  void stop() noexcept override {
    // BEGIN Make every wait end.
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
    // END
  }

 private:
  struct Done {
    Memory memory;
    std::exception_ptr failure;  ///< what fill_ threw instead
  };

  /// What each thread does until there is nothing left to do.
  void work() {
    // BEGIN Wait for room, claim a batch, fill it, put it into done_, notify. When is nothing left?
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return stopped_ || claimed_ == setting_.end || has_room(); });
      if (stopped_ || claimed_ == setting_.end) return;
      const std::int64_t batch = claimed_++;
      lock.unlock();  // the others read meanwhile
      Done done;
      try {
        done.memory = fill_(batch);
      } catch (...) {
        done.failure = std::current_exception();
      }
      lock.lock();
      done_[batch] = std::move(done);
      changed_.notify_all();
    }
    // END
  }

  /// Under the lock.
  bool has_room() const { return claimed_ - taken_ < setting_.ahead; }

  const Fill fill_;
  const QueueSetting setting_;
  // Whoever changes what another thread waits for says so: changed_.notify_all().
  std::mutex mutex_;  ///< guards all members below
  std::condition_variable changed_;
  std::int64_t claimed_;               ///< the batch that a thread claims next
  std::int64_t taken_;                 ///< the batch that take() hands out next
  std::map<std::int64_t, Done> done_;  ///< filled and not taken
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

std::unique_ptr<exercise::BatchQueue> make_read_ahead(Fill fill, const QueueSetting& setting) {
  return std::make_unique<Queue>(std::move(fill), setting);
}

}  // namespace isobar::mine
