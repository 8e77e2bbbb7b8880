#include "train/gradient_sync.h"

#include <c10/core/StreamGuard.h>

#include <utility>

#include "comm/comm_seam.h"
#include "core/error.h"
#include "train/replicas.h"
#include "train/sync_waits.h"

namespace isobar {
namespace {

class NoSync final : public GradientSync {
 public:
  NoSync(Parameters& parameters, Comm& comm, const CommConfig& config)
      : GradientSync(parameters, comm, config) {}
  std::int64_t planned_calls() const override { return 0; }

 private:
  std::vector<CollectiveTimes> exchange() override { return {}; }
};

}  // namespace

GradientSync::GradientSync(Parameters& parameters, Comm& comm, const CommConfig& config)
    : parameters_(parameters),
      comm_(comm),
      config_(config),
      reduce_(has_fault(Fault::sum_gradients) ? Reduce::sum : Reduce::mean) {}

void GradientSync::begin(bool last_micro_batch) {
  if (!std::exchange(in_step_, true)) before_ = comm_.counts();
  last_ = last_micro_batch;
  if (last_) prepare();
  share_buffers();
}

void GradientSync::share_buffers() {
  if (config_.broadcast_buffers) broadcast_buffers(parameters_, comm_);
}

void GradientSync::backward(const at::Tensor& loss) {
  comm_.backward({loss, parameters_.gradients(), last_, [this](const at::Tensor& from) {
                    if (last_) arm();
                    from.backward();
                  }});
}

SyncFigures GradientSync::finish(const TensorParallel& model) {
  if (!std::exchange(in_step_, false) || !last_) {
    throw Error("gradients are averaged behind the backward pass of the last micro-batch",
                "no such pass was announced", "", Exit::failed);
  }
  const std::vector<CollectiveTimes> times = exchange();
  sent_ = sync_figures(times, stood_still_, comm_, before_, model.take_figures());
  sent_.compress_us = figures_.arithmetic_us;
  sent_.late_compress_us = figures_.late_us;
  sent_.backward_wait_us = figures_.backward_wait_us;
  return sent_;
}

std::unique_ptr<GradientSync> make_gradient_sync(Parameters& parameters, Comm& comm, const CommConfig& config,
                                                 std::optional<c10::Stream> stream) {
  // In the order of SyncKind.
  static constexpr std::array kMakers = {make_bucket_sync, make_at_end_sync, make_per_parameter_sync,
                                         make_reducer_sync, make_no_sync};
  static_assert(kMakers.size() == kSyncKinds.size());
  const auto make = comm.size() == 1 ? make_no_sync : kMakers.at(static_cast<std::size_t>(config.sync));
  const c10::OptionalStreamGuard guard(stream);
  return make(parameters, comm, config);
}

std::unique_ptr<GradientSync> make_no_sync(Parameters& parameters, Comm& comm, const CommConfig& config) {
  return std::make_unique<NoSync>(parameters, comm, config);
}

}  // namespace isobar
