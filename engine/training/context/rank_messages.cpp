#include "context/rank_messages.h"

#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/graph_task.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/clock.h"

namespace isobar {
namespace {

/// A forward pass can run there, too: that of a block which is computed again.
bool is_in_backward() { return torch::autograd::get_current_graph_task_id() >= 0; }

}  // namespace

RankMessages::RankMessages(Comm& comm, const Config& config, const PassTracks& tracks)
    : comm_(&comm),
      count_(comm.size()),
      index_(comm.rank()),
      tracks_(tracks),
      mesh_(config.mesh),
      sends_(config.comm.sync != SyncKind::none || config.run.measure != MeasureKind::synthetic) {}

bool RankMessages::travels_as_float(at::ScalarType type) const {
  return comm_->backend() == "gloo" && (type == at::kHalf || type == at::kBFloat16);
}

bool RankMessages::scores(std::string_view what) const {
  return what == tracks_.forward && comm_->step() == taken_step_;
}

void RankMessages::count(const CommCounts& before, std::string_view what) {
  if (scores(what)) return;
  const CommCounts now = comm_->counts();
  figures_.calls += now.calls - before.calls;
  figures_.wire_bytes += now.wire_bytes - before.wire_bytes;
}

void RankMessages::wait(Work& work, std::string_view what) {
  const std::int64_t begin_us = steady_us();
  const CollectiveTimes times = work.wait();
  const std::int64_t wait_us = steady_us() - begin_us;
  if (scores(what)) return;
  if (what == tracks_.backward || (what == tracks_.forward && is_in_backward()))
    figures_.backward_wait_us += wait_us;
  else if (what == tracks_.forward)
    figures_.forward_wait_us += wait_us;
  if (times.end_us != 0) figures_.times.push_back(times);
}

void RankMessages::finish(Work work, const CommCounts& before, std::string_view what) {
  count(before, what);
  wait(work, what);
}

void RankMessages::all_reduce(const at::Tensor& x, std::string_view what) {
  if (!sends_) return;
  const CommCounts before = comm_->counts();
  if (travels_as_float(x.scalar_type())) {
    const at::Tensor wide = x.to(at::kFloat);
    finish(comm_->all_reduce(wide, Reduce::sum, what), before, what);
    x.copy_(wide);
    return;
  }
  finish(comm_->all_reduce(x, Reduce::sum, what), before, what);
}

at::Tensor RankMessages::all_gather(const at::Tensor& x, std::string_view what) {
  std::vector<std::int64_t> shape = x.sizes().vec();
  shape.front() *= count_;
  const at::Tensor out = at::empty(shape, x.options().requires_grad(false));
  const CommCounts before = comm_->counts();
  if (sends_)
    finish(comm_->all_gather(out, x.contiguous(), what), before, what);
  else
    out.view({count_, -1}).copy_(x.reshape({1, -1}).expand({count_, -1}));
  return out;
}

at::Tensor RankMessages::reduce_scatter(const at::Tensor& x, std::string_view what) {
  const std::int64_t rows = x.size(0) / count_;
  if (!sends_) return x.narrow(0, index_ * rows, rows).clone();
  std::vector<std::int64_t> shape = x.sizes().vec();
  shape.front() = rows;
  const at::ScalarType type = travels_as_float(x.scalar_type()) ? at::kFloat : x.scalar_type();
  const at::Tensor out = at::empty(shape, x.options().dtype(type).requires_grad(false));
  const CommCounts before = comm_->counts();
  finish(comm_->reduce_scatter(out, x.to(type).contiguous(), Reduce::sum, what), before, what);
  return out.to(x.scalar_type());
}

RankMessages::Moving RankMessages::start_all_to_all(const at::Tensor& out, const at::Tensor& in,
                                                    const std::vector<std::int64_t>& receives,
                                                    const std::vector<std::int64_t>& sends,
                                                    std::string_view what) {
  Moving moving{.work = {}, .in = in, .out = out, .what = what};
  if (!sends_) {
    const std::int64_t values = std::min(in.numel(), out.numel());
    out.view({-1}).narrow(0, 0, values).copy_(in.view({-1}).narrow(0, 0, values));
    return moving;
  }
  const CommCounts before = comm_->counts();
  moving.work = comm_->all_to_all(out.view({-1}), in.view({-1}), receives, sends, what);
  count(before, what);
  return moving;
}

at::Tensor RankMessages::finish(Moving moving) {
  if (moving.work.is_open()) wait(moving.work, moving.what);
  return std::move(moving.out);
}

TensorParallelFigures RankMessages::take_figures() {
  taken_step_ = comm_->step();
  return std::exchange(figures_, {});
}

}  // namespace isobar
