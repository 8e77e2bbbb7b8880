#include "data/cuda_uploader.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "core/waiting.h"
#include "data/loader.h"
#include "device/device_clock.h"
#include "device/load_cuda.h"
#include "device/memory_ledger.h"
#include "device/stream.h"

namespace isobar {
namespace {

/// When a batch was on its way, for who wants to hear of it.
class UploadSpans {
 public:
  /// Now, on the current stream, the upload begins.
  UploadSpans(SpanWriter& spans, EventPool& events, const DeviceClock& clock, std::int64_t batch)
      : spans_(spans), events_(events), clock_(clock), batch_(batch) {
    mark();
  }
  ~UploadSpans() {
    for (CUevent_st* const event : marks_) events_.give_back(event);
  }
  UploadSpans(const UploadSpans&) = delete;
  UploadSpans& operator=(const UploadSpans&) = delete;

  /// First where the copy ends, then where the kernel does.
  void mark() { marks_.push_back(events_.record()); }
  void tell(std::string_view kernel, std::int64_t bytes) const {
    const std::int64_t uploaded_us = clock_.host_us(marks_[1]);
    spans_.add({"upload", "upload", batch_, clock_.host_us(marks_[0]), uploaded_us, bytes});
    if (!kernel.empty())
      spans_.add({"upload", kernel, batch_, uploaded_us, clock_.host_us(marks_[2]), bytes});
  }

 private:
  SpanWriter& spans_;
  EventPool& events_;
  const DeviceClock& clock_;
  std::int64_t batch_;
  std::vector<CUevent_st*> marks_;
};

struct CudaArrival : Arrival {
  explicit CudaArrival(c10::Device on) : device(on), ready(on.type()) {}

  bool here() const override { return ready.query(); }
  void hand_over(bool waits) override {
    const c10::Stream stream = current_stream(device);
    if (waits) ready.block(stream);
    keep_for(fields, stream);
  }
  std::int64_t settle() override {
    if (spans) spans->tell(kernel, bytes);
    spans.reset();
    return nonfinite.defined() ? nonfinite.item<std::int64_t>() : 0;
  }

  c10::Device device;
  c10::Event ready;
  std::unique_ptr<UploadSpans> spans;  ///< null: nobody wants to know
  std::string_view kernel;             ///< what follows the upload, "" for nothing
  std::int64_t bytes = 0;
  at::Tensor nonfinite;  ///< in host memory, once the batch is here
};

/// Names what a kernel makes of a layout; "" where the copy is all.
std::string_view kernel_of(SlotLayout layout) {
  if (layout == SlotLayout::ready) return "";
  return layout == SlotLayout::raw ? "normalise" : "unpack";
}

class CudaUploader : public Uploader {
 public:
  CudaUploader(const Dataset& dataset, std::int64_t batch_size, SlotLayout layout, c10::Device device,
               std::optional<c10::Stream> stream, SpanWriter* spans);

  std::shared_ptr<Arrival> start(const FilledSlot& slot) override;
  void finish() noexcept override;

 private:
  at::TensorOptions on_device(at::ScalarType type) const { return at::TensorOptions(type).device(device_); }
  void copy(void* to, const FilledSlot& slot, std::size_t bytes, CudaArrival& arrival,
            const c10::Stream& stream);
  void make_batch(const at::Tensor& fields, const FilledSlot& slot, CudaArrival& arrival,
                  const c10::Stream& stream) const;

  const CudaPlugin& plugin_;
  SlotLayout layout_;
  c10::Device device_;
  std::optional<c10::Stream> stream_;
  SpanWriter* spans_;
  std::array<std::int64_t, 5> shape_;   ///< [1 + R, B, C, H, W]
  at::Tensor mean_, spread_;            ///< [C]
  std::unique_ptr<EventPool> events_;   ///< where spans are wanted
  std::unique_ptr<DeviceClock> clock_;  ///< where spans are wanted
  std::shared_ptr<Arrival> last_;
};

at::Tensor to_device(std::vector<float> values, at::TensorOptions options) {
  return at::from_blob(values.data(), {static_cast<std::int64_t>(values.size())}, at::kFloat).to(options);
}

CudaUploader::CudaUploader(const Dataset& dataset, std::int64_t batch_size, SlotLayout layout,
                           c10::Device device, std::optional<c10::Stream> stream, SpanWriter* spans)
    : plugin_(cuda_plugin()),
      layout_(layout),
      device_(device),
      stream_(stream),
      spans_(spans),
      shape_(batch_shape(dataset, batch_size)),
      mean_(to_device(dataset.statistics().mean, on_device(at::kFloat))),
      spread_(to_device(dataset.statistics().std, on_device(at::kFloat))) {
  current_stream(device_).synchronize();  // the statistics are there before any stream asks for them
  if (spans_ == nullptr) return;
  events_ = std::make_unique<EventPool>(device_);
  clock_ = std::make_unique<DeviceClock>(*events_);
}

std::shared_ptr<Arrival> CudaUploader::start(const FilledSlot& slot) {
  const c10::Stream stream = stream_ ? *stream_ : current_stream(device_);
  const c10::StreamGuard guard(stream);
  const MemoryScope scope(MemoryCategory::batches);
  auto arrival = std::make_shared<CudaArrival>(device_);
  arrival->fields = at::empty(shape_, on_device(at::kFloat));
  std::size_t bytes = arrival->fields.nbytes();
  if (layout_ == SlotLayout::ready) {
    copy(arrival->fields.mutable_data_ptr(), slot, bytes, *arrival, stream);
  } else {
    const std::size_t uses = slot.plan.field_of.size();
    const std::size_t field_bytes = bytes / uses / (layout_ == SlotLayout::raw ? 1 : 2);
    bytes = slot.plan.fields.size() * field_bytes;
    // It belongs to this stream alone: when it is dropped, the next upload gets it, behind this one.
    const at::Tensor fields = at::empty({static_cast<std::int64_t>(bytes)}, on_device(at::kByte));
    copy(fields.mutable_data_ptr(), slot, bytes, *arrival, stream);
    make_batch(fields, slot, *arrival, stream);
  }
  arrival->kernel = kernel_of(layout_);
  arrival->bytes = static_cast<std::int64_t>(bytes);
  arrival->ready.record(stream);
  last_ = arrival;
  return arrival;
}

void CudaUploader::copy(void* to, const FilledSlot& slot, std::size_t bytes, CudaArrival& arrival,
                        const c10::Stream& stream) {
  if (spans_ != nullptr && spans_->wants(slot.plan.batch)) {
    arrival.spans = std::make_unique<UploadSpans>(*spans_, *events_, *clock_, slot.plan.batch);
  }
  plugin_.upload(to, slot.memory.get(), bytes, stream_handle(stream));
  const auto copied = std::make_shared<c10::Event>(device_.type());
  copied->record(stream);
  slot.set_before_reuse([copied] {
    while (!copied->query()) pause_us(kEventPause_us);
  });
  if (arrival.spans) arrival.spans->mark();
}

void CudaUploader::make_batch(const at::Tensor& fields, const FilledSlot& slot, CudaArrival& arrival,
                              const c10::Stream& stream) const {
  const std::vector<std::int32_t>& uses = slot.plan.field_of;
  const auto count = static_cast<std::int64_t>(uses.size());
  // Page-locked, or the copy would wait for the stream. libtorch keeps it until it was read.
  const at::Tensor host_uses = at::empty({count}, at::TensorOptions(at::kInt).pinned_memory(true));
  std::memcpy(host_uses.mutable_data_ptr(), uses.data(), uses.size() * sizeof(std::int32_t));
  const at::Tensor field_of = host_uses.to(device_, /*non_blocking=*/true);
  at::Tensor nonfinite = at::zeros({}, on_device(at::kLong));
  auto* const input = arrival.fields.mutable_data_ptr<float>();
  const DeviceFields batch = {.fields = fields.const_data_ptr(),
                              .field_of = field_of.const_data_ptr<std::int32_t>(),
                              .mean = mean_.const_data_ptr<float>(),
                              .spread = spread_.const_data_ptr<float>(),
                              .samples = shape_[1],
                              .targets = shape_[0] - 1,
                              .channels = shape_[2],
                              .plane = shape_[3] * shape_[4],
                              .input = input,
                              .target = input + arrival.fields.numel() / shape_[0],
                              .nonfinite = nonfinite.mutable_data_ptr<std::int64_t>()};
  CUstream_st* const handle = stream_handle(stream);
  if (layout_ == SlotLayout::raw) {
    plugin_.normalise(batch, FieldOutput::f32, handle);
  } else {
    plugin_.unpack(batch, layout_ == SlotLayout::f16 ? PackedField::f16 : PackedField::i16, FieldOutput::f32,
                   handle);
  }
  arrival.nonfinite = at::empty({}, at::TensorOptions(at::kLong).pinned_memory(true));
  arrival.nonfinite.copy_(nonfinite, /*non_blocking=*/true);
  if (arrival.spans) arrival.spans->mark();
}

void CudaUploader::finish() noexcept {
  try {
    // Not the copy alone: the kernel behind it reads the statistics, whose memory goes with this.
    while (last_ && !last_->here()) pause_us(kEventPause_us);
  } catch (...) {
    // The device is broken, and every call to it reports that; it reads nothing any more.
  }
}

}  // namespace

std::unique_ptr<Uploader> make_cuda_uploader(const Dataset& dataset, std::int64_t batch_size,
                                             SlotLayout layout, c10::Device device,
                                             std::optional<c10::Stream> stream, SpanWriter* spans) {
  return std::make_unique<CudaUploader>(dataset, batch_size, layout, device, stream, spans);
}

}  // namespace isobar
