#include "run/step_faults.h"

#include <ATen/core/grad_mode.h>

#include <csignal>
#include <limits>
#include <optional>

#include "comm/replica_hash.h"
#include "core/fault.h"
#include "core/waiting.h"
#include "device/precision.h"

namespace isobar {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// The first value of a parameter in the middle of the model.
at::Tensor middle(const Parameters& parameters, bool gradient) {
  const Parameter& parameter = parameters.all()[parameters.all().size() / 2];
  return (gradient ? parameter.tensor.grad() : parameter.tensor).view(-1)[0];
}

class NanWeight final : public StepFaults {
 public:
  explicit NanWeight(const Parameters& parameters) : parameters_(parameters) {}
  void begin(std::int64_t step) override {
    const at::NoGradGuard no_grad;
    if (step == fault_setting().step) middle(parameters_, /*gradient=*/false).fill_(kNan);
  }

 private:
  const Parameters& parameters_;
};

class FlippedBit final : public StepFaults {
 public:
  FlippedBit(const Parameters& parameters, int rank) : parameters_(parameters), rank_(rank) {}
  void begin(std::int64_t step) override {
    constexpr int kBit = 12;  // of the mantissa: no loss shows it
    if (step == fault_setting().step && rank_ == fault_setting().rank)
      flip_bit(parameters_.values(), parameters_.all().back().flat_begin, kBit);
  }

 private:
  const Parameters& parameters_;
  int rank_;
};

class BrokenGradient final : public StepFaults {
 public:
  BrokenGradient(const Parameters& parameters, float value, bool in_padding)
      : parameters_(parameters), value_(value), in_padding_(in_padding) {}
  void entered(std::int64_t step, const std::string& stage) override {
    if (stage != "optimize" || step != fault_setting().step) return;
    const at::NoGradGuard no_grad;
    (in_padding_ ? parameters_.gradients()[-1] : middle(parameters_, /*gradient=*/true)).fill_(value_);
  }

 private:
  const Parameters& parameters_;
  float value_;
  bool in_padding_;
};

class AllHalf final : public StepFaults {
 public:
  AllHalf(const Parameters& parameters, c10::ScalarType half) : parameters_(parameters), half_(half) {
    round();
  }
  void ended(const at::Tensor&) override { round(); }

 private:
  void round() const {
    const at::NoGradGuard no_grad;
    at::Tensor values = parameters_.values();
    values.copy_(values.to(half_));
  }
  const Parameters& parameters_;
  c10::ScalarType half_;
};

class SyncEachStep final : public StepFaults {
 public:
  void ended(const at::Tensor& loss) override {
    if (loss.defined()) loss.item<float>();
  }
};

class SlowStage final : public StepFaults {
 public:
  void entered(std::int64_t, const std::string& stage) override {
    if (stage == fault_setting().stage) sleep_us(fault_setting().ms * 1000);
  }
};

class LostRank final : public StepFaults {
 public:
  LostRank(Comm& ranks, int signal) : ranks_(ranks), signal_(signal) {}
  void entered(std::int64_t steps_done, const std::string& stage) override {
    const FaultSetting& fault = fault_setting();
    if (stage != fault.stage) return;
    // Of checkpoints the first one from that step on.
    if (stage == "checkpoint" ? steps_done < fault.step : steps_done != fault.step) return;
    if (stage == "comm")
      ranks_.raise_in_next_wait(signal_);  // not in front of the collective but in the middle of it
    else
      raise(signal_);
  }

 private:
  Comm& ranks_;
  int signal_;
};

int signal_of(Fault fault) {
  return fault == Fault::kill_rank ? SIGKILL : fault == Fault::stop_rank ? SIGSTOP : 0;
}

}  // namespace

std::unique_ptr<StepFaults> make_step_faults(const RunPlan& plan, const Parameters& parameters, Comm& ranks) {
  const FaultSetting& fault = fault_setting();
  switch (fault.fault) {
    case Fault::nan_weight:
      return std::make_unique<NanWeight>(parameters);
    case Fault::flip_bit:
      return std::make_unique<FlippedBit>(parameters, ranks.rank());
    case Fault::nan_gradient:
      return std::make_unique<BrokenGradient>(parameters, kNan, false);
    case Fault::nan_in_padding:
      return std::make_unique<BrokenGradient>(parameters, kNan, true);
    case Fault::inject_inf:
      if (plan.replicas() > 1) return nullptr;  // one rank's loss overflows instead
      return std::make_unique<BrokenGradient>(parameters, kInfinity, false);
    case Fault::all_half:
      return std::make_unique<AllHalf>(parameters, *half_type(plan.config().amp.mode));
    case Fault::sync_each_step:
      return std::make_unique<SyncEachStep>();
    case Fault::slow_stage:
      return std::make_unique<SlowStage>();
    case Fault::kill_rank:
    case Fault::stop_rank:
      if (plan.ranks.rank != fault.rank) return nullptr;
      return std::make_unique<LostRank>(ranks, signal_of(fault.fault));
    default:
      return nullptr;
  }
}

void strike_at_start(const RunPlan& plan) {
  const FaultSetting& fault = fault_setting();
  const int signal = signal_of(fault.fault);
  if (signal != 0 && fault.stage == "start" && plan.ranks.rank == fault.rank) raise(signal);
}

}  // namespace isobar
