#include "comm/c10d_adapter.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/engine.h>

#include <deque>
#include <functional>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <utility>

#include "core/error.h"

namespace isobar {
namespace {

using Tensors = std::vector<at::Tensor>;

/// A collective of Comm as c10d sees it.
class AdaptedWork final : public c10d::Work {
 public:
  /// `start` makes the collective; it is called by `start` or `complete`, whichever comes first.
  AdaptedWork(int rank, c10d::OpType op, Tensors results, std::function<isobar::Work()> start,
              std::vector<CollectiveTimes>* times)
      : c10d::Work(rank, op),
        results_(std::move(results)),
        start_(std::move(start)),
        times_(times),
        future_(c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()))) {}

  bool isCompleted() override { return complete_; }
  bool wait(std::chrono::milliseconds) override {  // the deadline is comm.timeout_s
    complete();
    return true;
  }
  Tensors result() override { return results_; }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }

  void start() {
    if (const auto once = std::exchange(start_, nullptr)) work_ = once();
  }
  void complete() {
    if (std::exchange(complete_, true)) return;
    start();
    const CollectiveTimes times = work_.wait();
    if (times_ != nullptr) times_->push_back(times);
    finish();
    future_->markCompleted(c10::IValue(results_));
  }

 private:
  Tensors results_;
  std::function<isobar::Work()> start_;
  isobar::Work work_;
  std::vector<CollectiveTimes>* times_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
  bool complete_ = false;
};

class CommBackend final : public c10d::Backend {
 public:
  CommBackend(Comm& comm, std::string what, bool overlap)
      : Backend(comm.rank(), comm.size()), comm_(comm), what_(std::move(what)), overlap_(overlap) {}
  const std::string getBackendName() const override { return "isobar"; }

  c10::intrusive_ptr<c10d::Work> allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override {
    if (tensors.size() != 1 || options.reduceOp != c10d::ReduceOp::SUM)
      throw Error("this all-reduce is not made for libtorch", "one tensor and SUM are", "", Exit::failed);
    const auto work = c10::make_intrusive<AdaptedWork>(
        getRank(), c10d::OpType::ALLREDUCE, tensors,
        [this, tensor = tensors.front(), name = fmt::format("{} {}", what_, number_++)] {
          return comm_.all_reduce(tensor, Reduce::sum, name);
        },
        &times_);
    const bool in_backward = torch::autograd::get_current_graph_task_id() >= 0;
    if (overlap_ || !in_backward) work->start();
    open_.push_back(work);
    if (in_backward) torch::autograd::Engine::get_default_engine().queue_callback([this] { complete_all(); });
    return work;
  }

  c10::intrusive_ptr<c10d::Work> broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override {
    const auto work = c10::make_intrusive<AdaptedWork>(
        getRank(), c10d::OpType::BROADCAST, tensors,
        [&] {
          return comm_.broadcast(tensors.front(), static_cast<int>(options.rootRank), what_ + " order");
        },
        nullptr);
    work->complete();
    return work;
  }

  c10::intrusive_ptr<c10d::Work> allgather(std::vector<Tensors>& outs, Tensors& ins,
                                           const c10d::AllgatherOptions&) override {
    const at::Tensor in = ins.front().contiguous();
    const at::Tensor all = at::empty({getSize(), in.numel()}, in.options());
    const auto work = c10::make_intrusive<AdaptedWork>(
        getRank(), c10d::OpType::ALLGATHER, outs.front(),
        [&] { return comm_.all_gather(all, in, what_ + " shapes"); }, nullptr);
    work->complete();
    for (std::size_t i = 0; i < outs.front().size(); ++i)
      outs.front()[i].copy_(all[static_cast<std::int64_t>(i)].view(in.sizes()));
    return work;
  }

  void restart_numbers() {
    complete_all();
    number_ = 0;
    times_.clear();
  }
  const std::vector<CollectiveTimes>& times() const { return times_; }

 private:
  void complete_all() {
    while (!open_.empty()) {
      const auto work = open_.front();
      open_.pop_front();
      work->complete();
    }
  }

  Comm& comm_;
  std::string what_;
  bool overlap_;
  int number_ = 0;
  std::vector<CollectiveTimes> times_;
  std::deque<c10::intrusive_ptr<AdaptedWork>> open_;
};

CommBackend& backend_of(c10d::ProcessGroup& group) {
  return dynamic_cast<CommBackend&>(*group.getDefaultBackend());
}

}  // namespace

c10::intrusive_ptr<c10d::ProcessGroup> make_process_group(Comm& comm, const std::string& what, bool overlap) {
  auto group = c10::make_intrusive<c10d::ProcessGroup>(c10::make_intrusive<c10d::HashStore>(), comm.rank(),
                                                       comm.size());
  const auto backend = c10::make_intrusive<CommBackend>(comm, what, overlap);
  for (const c10::DeviceType device : {at::kCPU, at::kCUDA})
    group->setBackend(device, c10d::ProcessGroup::BackendType::CUSTOM, backend);
  group->setDefaultBackend(c10d::ProcessGroup::BackendType::CUSTOM);
  return group;
}

void restart_numbers(c10d::ProcessGroup& group) { backend_of(group).restart_numbers(); }
const std::vector<CollectiveTimes>& times_of(c10d::ProcessGroup& group) { return backend_of(group).times(); }

}  // namespace isobar
