#include "faults/rank_fault.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include <functional>
#include <limits>
#include <map>
#include <utility>

#include "comm/comm_core.h"
#include "core/clock.h"
#include "core/waiting.h"
#include "model/model_ranks.h"

namespace isobar {
namespace {

/// A collective that starts behind the one that was asked for after it, or when it is waited for.
class Held final : public Pending {
 public:
  explicit Held(std::function<Work()> start) : start_(std::move(start)) {}
  void start() {
    if (start_) work_ = std::exchange(start_, nullptr)();
  }
  bool done() override { return !start_ && work_.done(); }
  bool wait(std::int64_t) override {
    start();
    work_.wait();
    return true;
  }

 private:
  std::function<Work()> start_;
  Work work_;
};

/// other_shape, other_order and extra_collective: once a step and group, in an all-reduce that counts.
class WrongCollective final : public CommSeam {
 public:
  explicit WrongCollective(const FaultSetting& fault) : fault_(fault) {}

  Work start(CommCore& core, Collective job) override {
    Group& group = groups_[&core];
    if (group.held) {
      const std::shared_ptr<Held> held = std::exchange(group.held, nullptr);
      group.swapped = true;
      Work out = core.launch(job);
      held->start();
      return out;
    }
    if (!strikes(core, group, job)) return core.launch(job);
    group.struck_step = core.shared->step;
    if (fault_.fault == Fault::other_order) return hold(core, group, job);
    if (fault_.fault == Fault::extra_collective)
      core.launch({.op = Op::all_reduce, .out = at::zeros({64}, job.out.options()), .what = "extra"}).wait();
    if (fault_.fault == Fault::other_shape) job.out = job.out.view({-1}).narrow(0, 0, job.out.numel() - 1);
    return core.launch(job);
  }

 private:
  struct Group {
    std::int64_t struck_step = -1;
    bool swapped = false;
    std::shared_ptr<Held> held;
  };

  bool strikes(const CommCore& core, const Group& group, const Collective& job) const {
    const std::int64_t step = core.shared->step;
    // An order takes two: of a step with one message nothing comes, and the next one is struck.
    const bool due =
        fault_.fault == Fault::other_order ? step >= fault_.step && !group.swapped : step == fault_.step;
    return due && core.is_counted && group.struck_step != step && core.world_rank() == fault_.rank &&
           core.size() > 1 && job.op == Op::all_reduce;
  }

  Work hold(CommCore& core, Group& group, const Collective& job) const {
    group.held = std::make_shared<Held>([&core, &group, job] {
      group.held.reset();
      return core.launch(job);
    });
    return {core.shared_from_this(),
            group.held,
            -1,
            job.text(),
            "",
            Span{.track = "", .name = "", .begin_us = steady_us()}};
  }

  FaultSetting fault_;
  std::map<const CommCore*, Group> groups_;
};

/// no_copy_f and noncontiguous_reduce: this rank continues with its own part of what is `what`.
class KeptPart final : public CommSeam {
 public:
  /// `sends`: the part is sent all the same, and the sum left in a copy.
  KeptPart(std::string_view what, bool sends) : what_(what), sends_(sends) {}

  Work start(CommCore& core, Collective job) override {
    if (job.what != what_) return core.launch(job);
    if (job.op == Op::reduce_scatter) {
      const std::int64_t rows = job.out.size(0);
      job.out.copy_(job.in.narrow(0, core.rank() * rows, rows));
      return {};
    }
    if (job.op != Op::all_reduce) return core.launch(job);
    if (!sends_) return {};
    job.out = copy_ = job.out.clone();
    return core.launch(job);
  }

 private:
  std::string_view what_;
  bool sends_;
  at::Tensor copy_;  ///< copy of the last one, which is under way
};

/// slow_rank, unequal_batch and inject_inf.
class WrongBackward final : public CommSeam {
 public:
  WrongBackward(const FaultSetting& fault, std::int64_t replicas) : fault_(fault), replicas_(replicas) {}

  void backward(CommCore& core, const BackwardPass& pass) override {
    if (core.world_rank() != fault_.rank) return pass.run(pass.loss);
    if (fault_.fault == Fault::unequal_batch) run_in_vain(pass);
    if (fault_.fault == Fault::slow_rank && pass.last) sleep_us(fault_.ms * 1000);
    const bool overflows =
        fault_.fault == Fault::inject_inf && pass.last && replicas_ > 1 && core.shared->step == fault_.step;
    pass.run(overflows ? pass.loss.mul(std::numeric_limits<double>::infinity()) : pass.loss);
  }

 private:
  static void run_in_vain(const BackwardPass& pass) {
    const at::Tensor before = pass.gradients.clone();
    pass.loss.backward({}, /*retain_graph=*/true);
    const at::NoGradGuard no_grad;
    at::Tensor(pass.gradients).copy_(before);
  }

  FaultSetting fault_;
  std::int64_t replicas_;
};

}  // namespace

std::shared_ptr<CommSeam> rank_fault(const FaultSetting& fault, std::int64_t replicas) {
  switch (fault.fault) {
    case Fault::other_shape:
    case Fault::other_order:
    case Fault::extra_collective:
      return std::make_shared<WrongCollective>(fault);
    case Fault::no_copy_f:
      return std::make_shared<KeptPart>(kBackwardTrack, /*sends=*/false);
    case Fault::noncontiguous_reduce:
      return std::make_shared<KeptPart>(kForwardTrack, /*sends=*/true);
    case Fault::slow_rank:
    case Fault::unequal_batch:
    case Fault::inject_inf:
      return std::make_shared<WrongBackward>(fault, replicas);
    default:
      return std::make_shared<CommSeam>();
  }
}

}  // namespace isobar
