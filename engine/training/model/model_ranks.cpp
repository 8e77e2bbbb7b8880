#include "model/model_ranks.h"

#include <ATen/ops/empty.h>

#include <utility>
#include <vector>

#include "core/clock.h"

namespace isobar {

ModelRanks::ModelRanks(Comm& comm, const Config& config)
    : comm_(&comm),
      count_(comm.size()),
      index_(comm.rank()),
      mesh_(config.mesh),
      sends_(config.comm.sync != SyncKind::none || config.run.measure != MeasureKind::synthetic) {}

bool ModelRanks::travels_as_float(at::ScalarType type) const {
  return comm_->backend() == "gloo" && (type == at::kHalf || type == at::kBFloat16);
}

void ModelRanks::finish(Work work, std::string_view what) {
  const std::int64_t begin_us = steady_us();
  const CollectiveTimes times = work.wait();
  const std::int64_t wait_us = steady_us() - begin_us;
  const CommCounts now = comm_->counts();
  if (what == kForwardTrack && comm_->step() == taken_step_) return;
  figures_.calls += now.calls - before_.calls;
  figures_.wire_bytes += now.wire_bytes - before_.wire_bytes;
  if (what == kForwardTrack) figures_.forward_wait_us += wait_us;
  if (what == kBackwardTrack) figures_.backward_wait_us += wait_us;
  if (times.end_us != 0) figures_.times.push_back(times);
}

void ModelRanks::all_reduce(const at::Tensor& x, std::string_view what) {
  if (!sends_) return;
  before_ = comm_->counts();
  if (travels_as_float(x.scalar_type())) {
    const at::Tensor wide = x.to(at::kFloat);
    finish(comm_->all_reduce(wide, Reduce::sum, what), what);
    x.copy_(wide);
    return;
  }
  finish(comm_->all_reduce(x, Reduce::sum, what), what);
}

at::Tensor ModelRanks::all_gather(const at::Tensor& x, std::string_view what) {
  std::vector<std::int64_t> shape = x.sizes().vec();
  shape.front() *= count_;
  const at::Tensor out = at::empty(shape, x.options().requires_grad(false));
  before_ = comm_->counts();
  if (sends_)
    finish(comm_->all_gather(out, x.contiguous(), what), what);
  else
    out.view({count_, -1}).copy_(x.reshape({1, -1}).expand({count_, -1}));
  return out;
}

at::Tensor ModelRanks::reduce_scatter(const at::Tensor& x, std::string_view what) {
  const std::int64_t rows = x.size(0) / count_;
  if (!sends_) return x.narrow(0, index_ * rows, rows).clone();
  std::vector<std::int64_t> shape = x.sizes().vec();
  shape.front() = rows;
  const at::ScalarType type = travels_as_float(x.scalar_type()) ? at::kFloat : x.scalar_type();
  const at::Tensor out = at::empty(shape, x.options().dtype(type).requires_grad(false));
  before_ = comm_->counts();
  finish(comm_->reduce_scatter(out, x.to(type).contiguous(), Reduce::sum, what), what);
  return out.to(x.scalar_type());
}

TensorParallelFigures ModelRanks::take_figures() {
  taken_step_ = comm_->step();
  return std::exchange(figures_, {});
}

}  // namespace isobar
