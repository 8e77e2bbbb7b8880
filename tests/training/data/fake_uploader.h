#pragma once
// A device for tests: each upload is done by a thread that sleeps first and then reads the slot, so that late
// uploads, swapped ones and slots that are filled again too early all show in the values.
#include <ATen/ops/zeros.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/random.h"
#include "data/uploader.h"

namespace isobar {

/// What a test wants of its device.
struct FakeDevice {
  std::vector<std::int64_t> shape;  ///< [1 + R, B, C, H, W]
  std::int64_t most_us = 0;         ///< an upload takes 0 .. most_us, drawn anew each time
  std::int64_t refuses = -1;        ///< the upload of this batch is refused
  std::int64_t lost_at = -1;        ///< the device stops to answer while this batch is on its way
  std::int64_t bad_at = -1;         ///< of this batch three values are said to be not finite
  std::atomic<bool> stuck = false;  ///< no upload ends
  std::atomic<std::int64_t> starts = 0;
  std::atomic<std::int64_t> ends = 0;     ///< that have arrived
  std::atomic<std::int64_t> settled = 0;  ///< that were looked at by who queued them
};

class FakeArrival : public Arrival {
 public:
  FakeArrival(FakeDevice& device, std::int64_t batch) : device_(device), batch_(batch) {}

  void arrive() {
    const std::scoped_lock lock(mutex_);
    here_ = true;
    ++device_.ends;
    came_.notify_all();
  }
  void wait() const {
    std::unique_lock lock(mutex_);
    came_.wait(lock, [this] { return here_; });
  }

  bool here() const override {
    if (batch_ == device_.lost_at) throw Error("the device is lost", "a fake device", "", Exit::failed);
    const std::scoped_lock lock(mutex_);
    return here_;
  }
  /// Values are looked at by the thread itself: what orders a stream waits for it here.
  void hand_over(bool waits) override {
    if (waits && !device_.stuck) wait();
  }
  std::int64_t settle() override {
    ++device_.settled;
    return batch_ == device_.bad_at ? 3 : 0;
  }

 private:
  FakeDevice& device_;
  std::int64_t batch_;
  mutable std::mutex mutex_;
  mutable std::condition_variable came_;
  bool here_ = false;
};

class FakeUploader : public Uploader {
 public:
  explicit FakeUploader(FakeDevice& device) : device_(device) {}
  ~FakeUploader() override {
    for (std::thread& thread : threads_) thread.join();
  }

  std::shared_ptr<Arrival> start(const FilledSlot& slot) override {
    const std::int64_t batch = slot.plan.batch;
    if (batch == device_.refuses) throw Error("the upload is refused", "a fake device", "", Exit::failed);
    auto arrival = std::make_shared<FakeArrival>(device_, batch);
    arrival->fields = at::zeros(device_.shape);
    const std::int64_t draw = device_.starts++;
    if (device_.stuck) return arrival;
    const auto us = static_cast<std::int64_t>(uniform_at(7, static_cast<std::uint64_t>(draw)) *
                                              static_cast<double>(device_.most_us));
    threads_.emplace_back([arrival, us, to = arrival->fields, from = slot.memory.get()] {
      std::this_thread::sleep_for(std::chrono::microseconds(us));
      std::memcpy(to.mutable_data_ptr(), from, to.nbytes());
      arrival->arrive();
    });
    slot.set_before_reuse([arrival] { arrival->wait(); });
    last_ = arrival;
    return arrival;
  }
  void finish() noexcept override {
    if (last_) last_->wait();
  }

 private:
  FakeDevice& device_;
  std::vector<std::thread> threads_;
  std::shared_ptr<FakeArrival> last_;
};

}  // namespace isobar
