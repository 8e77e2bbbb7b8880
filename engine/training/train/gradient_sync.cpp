#include "train/gradient_sync.h"

#include <c10/core/StreamGuard.h>

#include <algorithm>
#include <utility>

#include "comm/comm_seam.h"
#include "core/error.h"
#include "train/replicas.h"
#include "train/sync_waits.h"

namespace isobar {
namespace {

/// Time covered by at least one of the intervals.
std::int64_t covered_us(std::vector<CollectiveTimes> times) {
  std::sort(times.begin(), times.end(),
            [](const CollectiveTimes& a, const CollectiveTimes& b) { return a.begin_us < b.begin_us; });
  std::int64_t covered = 0;
  std::int64_t end = 0;
  for (const CollectiveTimes& one : times) {
    covered += std::max<std::int64_t>(0, one.end_us - std::max(one.begin_us, end));
    end = std::max(end, one.end_us);
  }
  return covered;
}

/// Rank `rank` of the group, as a rank of the world.
int world_rank(const Comm& comm, int rank) { return comm.members().at(static_cast<std::size_t>(rank)); }

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
  const CommCounts after = comm_.counts();
  const TensorParallelFigures split = model.take_figures();
  std::vector<CollectiveTimes> all = times;
  all.insert(all.end(), split.times.begin(), split.times.end());
  sent_ = {.total_us = split.calls > 0 && split.times.empty() ? -1 : covered_us(std::move(all)),
           .calls = after.calls - before_.calls + split.calls,
           .wire_bytes = after.wire_bytes - before_.wire_bytes + split.wire_bytes,
           .tp_calls = split.calls,
           .tp_wire_bytes = split.wire_bytes,
           .tp_forward_wait_us = split.forward_wait_us,
           .tp_backward_wait_us = split.backward_wait_us,
           .compress_us = figures_.arithmetic_us,
           .late_compress_us = figures_.late_us,
           .backward_wait_us = figures_.backward_wait_us};
  if (times.empty()) return sent_;
  // A device's collectives end when nobody looks.
  if (std::any_of(times.begin(), times.end(), [](const auto& one) { return one.end_us == 0; }))
    sent_.total_us = -1;
  else
    add_waits(times, stood_still_, sent_);
  if (sent_.waited_for >= 0) sent_.waited_for = world_rank(comm_, sent_.waited_for);
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
