// ./isobar run 03_gpu_loader --mine: batches of its rings go through the learner's prefetch. The device is a
// CPU: a thread copies, and the loop's own thread is the stream that computes.
#include <ATen/ops/empty.h>

#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "03_gpu_loader/exercise/part.h"
#include "03_gpu_loader/exercise/thread_stream.h"
#include "check/own_part.h"
#include "core/clock.h"
#include "core/error.h"
#include "data/device_prefetch.h"
#include "data/ring_loader.h"
#include "run/run_plan.h"

using namespace isobar;

namespace {

/// Copies in its thread, and records spans for the timeline.
class Uploads final : public exercise::DeviceStream {
 public:
  Uploads(SpanWriter* spans, std::int64_t first) : spans_(spans), next_(first) {}

  void copy(std::span<const std::byte> from, std::span<std::byte> to) override {
    stream_.ask([spans = spans_, batch = next_++, from, to] {
      const std::int64_t begin_us = steady_us();
      std::memcpy(to.data(), from.data(), from.size());
      if (spans != nullptr)
        spans->add(
            {"upload", "upload", batch, begin_us, steady_us(), static_cast<std::int64_t>(from.size())});
    });
  }
  exercise::EventPointer record() override { return stream_.record(); }
  void wait(const exercise::EventPointer& event) override { stream_.wait(event); }

 private:
  SpanWriter* spans_;
  std::int64_t next_;
  exercise::ThreadStream stream_;
};

/// What the loop's thread is asked for is done when the call returns.
class LoopStream final : public exercise::DeviceStream {
 public:
  void copy(std::span<const std::byte> from, std::span<std::byte> to) override {
    std::memcpy(to.data(), from.data(), from.size());
  }
  exercise::EventPointer record() override {
    return std::make_shared<exercise::ThreadEvent>(/*happened=*/true);
  }
  void wait(const exercise::EventPointer& event) override { event->wait_on_host(); }
};

/// Slots of the lesson's ring, from batch `first` on: to the end of its epoch where the ring does not cross
/// it.
class Slots final : public exercise::SlotRing {
 public:
  Slots(RingLoader& ring, std::int64_t first) : ring_(ring), first_(first), next_(first) {}

  std::span<const std::byte> take() override {
    const BatchOrder& order = ring_.order();
    if (failure_ || (!ring_.crosses_epochs() && order.epoch_of(next_) != order.epoch_of(first_))) return {};
    try {
      FilledSlot slot = ring_.take();
      const std::span<const std::byte> bytes(slot.memory.get(), slot.bytes);
      taken_[bytes.data()] = std::move(slot);
      ++next_;
      return bytes;
    } catch (...) {  // thrown when the batches before it were handed out
      failure_ = std::current_exception();
      return {};
    }
  }
  void give_back(std::span<const std::byte> slot, const exercise::EventPointer& read) override {
    const auto taken = taken_.find(slot.data());
    if (taken == taken_.end()) throw Error("your part gave back what is no slot", "--mine", "", Exit::failed);
    taken->second.set_before_reuse([read] { read->wait_on_host(); });
    taken_.erase(taken);
  }
  const std::exception_ptr& failure() const { return failure_; }

 private:
  RingLoader& ring_;
  std::int64_t first_;
  std::int64_t next_;
  std::map<const std::byte*, FilledSlot> taken_;
  std::exception_ptr failure_;
};

/// All that belongs to one prefetch; the last member goes first.
struct Prefetch {
  Prefetch(RingLoader& ring, std::int64_t first, const std::vector<at::Tensor>& buffers)
      : slots(ring, first), uploads(ring.spans(), first) {
    parts = {.ring = &slots, .uploads = &uploads, .computes = &computes, .buffers = {}};
    for (const at::Tensor& buffer : buffers)
      parts.buffers.push_back({static_cast<std::byte*>(buffer.mutable_data_ptr()), buffer.nbytes()});
    prefetch = own_part_as<exercise::Part>().make_prefetch(parts);
  }

  Slots slots;
  Uploads uploads;
  LoopStream computes;
  exercise::PrefetchParts parts;
  std::unique_ptr<exercise::BatchPrefetch> prefetch;
};

class PrefetchedRing final : public Loader {
 public:
  explicit PrefetchedRing(RingLoader& ring) : Loader(ring.order(), ring.dataset()), ring_(ring) {}
  ~PrefetchedRing() override {
    ring_.stop();
    part_.reset();
  }

  std::string text() const override {
    return "prefetch: yours; a thread copies each batch of the ring to one of " + std::to_string(kBuffers) +
           " buffers";
  }

 private:
  static constexpr std::int64_t kBuffers = PrefetchSetting().ahead + 1;

  LoaderCounts reading_counts() const override { return ring_.counts(); }

  void move(std::int64_t position) override {
    part_.reset();
    ring_.seek(position);
  }

  Batch load(std::int64_t position) override {
    for (std::int64_t i = static_cast<std::int64_t>(buffers_.size()); i < kBuffers; ++i)
      buffers_.push_back(at::empty(batch_shape(ring_.dataset(), batch_size()), at::kFloat));
    std::span<const std::byte> bytes = next_of_part(position);
    if (bytes.empty()) bytes = next_of_part(position);  // a batch of an epoch that was not read ahead
    for (const at::Tensor& buffer : buffers_)
      if (buffer.const_data_ptr() == bytes.data()) return as_batch(position, buffer);
    throw Error("your part handed out what is no buffer", "--mine", "./isobar check 03_gpu_loader says why",
                Exit::failed);
  }

  std::span<const std::byte> next_of_part(std::int64_t position) {
    if (!part_) part_ = std::make_unique<Prefetch>(ring_, position, buffers_);
    const std::span<const std::byte> bytes = part_->prefetch->next();
    if (!bytes.empty()) return bytes;
    const std::exception_ptr failure = part_->slots.failure();
    part_.reset();
    if (failure) std::rethrow_exception(failure);
    return {};
  }

  RingLoader& ring_;
  std::vector<at::Tensor> buffers_;  ///< [2, B, C, H, W] each
  std::unique_ptr<Prefetch> part_;
};

const PluggedIn prefetch(seams::host_prefetch, [](RingLoader& ring) -> std::shared_ptr<Loader> {
  return std::make_shared<PrefetchedRing>(ring);
});
const PluggedIn check(seams::check_run, [](const Config&, c10::Device device) {
  if (device.is_cpu()) return;
  throw Error("your part works with the streams of a CPU here, and the model is on " + device.str(), "--mine",
              "--set run.device=cpu");
});

}  // namespace
