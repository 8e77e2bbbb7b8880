// What is asked of my/08_recorded_step.cpp, easy things first.
#include "08_cuda_graphs/exercise/part.h"
#include "08_cuda_graphs/exercise/simulated_device.h"
#include "check/check.h"
#include "core/text.h"

namespace isobar {
namespace exercise {
namespace {

using Names = SimulatedDevice::Names;

constexpr std::size_t kValues = 4;
constexpr double kTakenBack = -1;

std::string words(const Names& names) { return names.empty() ? "nothing" : joined(names); }

/// Without what brings in a batch and a rate.
Names without_renewing(const Names& names) {
  Names out;
  for (const std::string& name : names)
    if (name != "copy" && name != "write") out.push_back(name);
  return out;
}

/// One weight a value of the batch, drawn towards it: what a step of it should come to, computed by hand.
struct PlainTraining {
  double weight = 0, loss = 0;
  void step(double batch, double rate) {
    loss = (weight - batch) * (weight - batch);
    weight -= rate * 2 * (weight - batch);
  }
};

double batch_value(int step) { return 1 + step; }
double rate_of(int step) { return 0.01 * (1 + step); }

/// The same on the simulated device, with the learner's step. Batches come in two memories in turn, of which
/// the one that is not in use holds kTakenBack.
class Training {
 public:
  Training(const Part& part, std::int64_t warmup) : warmup_(warmup) {
    for (DeviceMemory* memory : {&weight_, &gradient_, &loss_}) *memory = device_.allocate(1);
    for (DeviceMemory& slot : slots_) slot = device_.allocate(kValues);
    loaded_ = device_.allocations();
    step_ = part.make_recorded_step(device_, work(), warmup);
  }

  /// Up to the choice between launch and replay.
  void renew() {
    ++index_;
    DeviceMemory& slot = slots_[static_cast<std::size_t>(index_ % 2)];
    device_.at(slot).assign(kValues, batch_value(index_));
    device_.at(slots_[static_cast<std::size_t>((index_ + 1) % 2)]).assign(kValues, kTakenBack);
    step_->renew(slot, rate_of(index_));
    plain_.step(batch_value(index_), rate_of(index_));
  }

  void step() {
    renew();
    if (step_->record_is_due()) record();
    if (step_->recorded())
      step_->replay();
    else
      step_->launch();
  }

  void record() {
    step_->record();
    expect(!device_.is_recording(),
           {"end_recording() before record() returns", "the recording goes on", "record()"});
  }

  /// Steps up to the one that is recorded, which is renewed.
  void up_to_recording() {
    for (std::int64_t i = 0; i < warmup_; ++i) {
      renew();
      step_->launch();
    }
    renew();
    device_.take_asked();
  }

  RecordedStep& learner() { return *step_; }
  SimulatedDevice& device() { return device_; }
  int index() const { return index_; }  ///< number of the step under way, from 0
  double weight() { return device_.at(weight_).front(); }
  const PlainTraining& plain() const { return plain_; }
  DeviceMemory read_from() const { return read_from_; }
  bool is_of_loader(const DeviceMemory& memory) const {
    return memory.address == slots_[0].address || memory.address == slots_[1].address;
  }
  std::size_t own_allocations() const { return device_.allocations() - loaded_; }
  double seen_batch() const { return seen_batch_; }
  double seen_rate() const { return seen_rate_; }
  const std::vector<double>& log() const { return log_; }

 private:
  StepWork work() {
    StepWork out;
    out.forward = [this](const DeviceMemory& batch) {
      read_from_ = batch;
      device_.kernel("forward", [this, batch] {
        seen_batch_ = device_.at(batch).front();
        const double off = device_.at(weight_).front() - seen_batch_;
        device_.at(loss_).front() = off * off;
        device_.at(gradient_).front() = 0;
      });
    };
    out.backward = [this] {
      const DeviceMemory batch = read_from_;
      device_.kernel("backward", [this, batch] {
        device_.at(gradient_).front() += 2 * (device_.at(weight_).front() - device_.at(batch).front());
      });
    };
    out.optimize = [this](const DeviceMemory& rate) {
      device_.kernel("optimize", [this, rate] {
        seen_rate_ = device_.at(rate).front();
        device_.at(weight_).front() -= seen_rate_ * device_.at(gradient_).front();
      });
    };
    out.report = [this] {
      device_.host("report");
      log_.push_back(device_.at(loss_).front());
    };
    return out;
  }

  SimulatedDevice device_;
  std::int64_t warmup_;
  DeviceMemory weight_, gradient_, loss_, slots_[2];
  std::size_t loaded_ = 0;
  std::unique_ptr<RecordedStep> step_;
  PlainTraining plain_;
  int index_ = -1;
  DeviceMemory read_from_;
  double seen_batch_ = 0, seen_rate_ = 0;
  std::vector<double> log_;
};

void check_launch(const Part& part) {
  Training training(part, 10);
  const Names wanted = {"forward", "backward", "optimize", "report"};
  for (int i = 0; i < 3; ++i) {
    training.renew();
    training.learner().launch();
    const Names came = without_renewing(training.device().take_asked());
    expect(came == wanted,
           {"launch() to ask for " + words(wanted), words(came), "the pieces in launch() and ask()"});
    expect(std::abs(training.weight() - training.plain().weight) < 1e-12,
           {fmt::format("the weight {:.4f} after step {}", training.plain().weight, i),
            fmt::format("{:.4f}", training.weight()), "which batch and which rate the pieces are given"});
  }
}

void check_fixed(const Part& part) {
  Training training(part, 10);
  std::size_t first = 0;
  for (int i = 0; i < 4; ++i) {
    training.renew();
    training.learner().launch();
    const DeviceMemory from = training.read_from();
    expect(!training.is_of_loader(from),
           {"forward to read a batch that was copied to memory of your own",
            "the memory in which the batch came, which the next one does not", "renew()"});
    if (i == 0) first = from.address;
    expect(from.address == first, {"forward to read from the same address in every step",
                                   fmt::format("another address in step {}", i), "when batch_ is allocated"});
  }
  expect(
      training.own_allocations() == 2,
      {"two memories in all: one for the batch, one for the rate",
       fmt::format("{} were allocated in 4 steps", training.own_allocations()), "when they are allocated"});
}

void check_record(const Part& part) {
  Training training(part, 2);
  training.up_to_recording();
  const double before = training.weight();
  training.record();
  const Names wanted = {"forward", "backward", "optimize"};
  const Names came = training.device().recorded();
  expect(came == wanted,
         {words(wanted) + " in the recording", words(came),
          "what stands between begin_recording() and end_recording(): all that is the same in every "
          "step, and nothing that is new in each"});
  const Names asked = training.device().take_asked();
  expect(asked.empty() && training.device().replays() == 0 && training.weight() == before,
         {"record() to make no step: it writes one down",
          training.device().replays() > 0 ? "it replays one" : "it asks for " + words(asked),
          "what else record() does"});
}

void check_replay(const Part& part) {
  Training training(part, 2);
  training.up_to_recording();
  training.record();
  training.learner().replay();
  expect(training.device().replays() == 1,
         {"replay() to ask for the recording once", fmt::format("{} times", training.device().replays()),
          "replay()"});
  const Names came = training.device().take_asked();
  expect(came == Names{"report"},
         {"one call for the device and a report in replay()", words(came), "what replay() does besides"});
  expect(training.log().back() == training.plain().loss,
         {fmt::format("the loss {:.2f} to be reported in step 2", training.plain().loss),
          fmt::format("{:.2f}", training.log().back()), "whether report() comes behind the step"});
}

void check_due(const Part& part) {
  for (const int warmup : {3, 1}) {
    Training training(part, warmup);
    for (int launched = 0; launched < warmup; ++launched) {
      training.renew();
      expect(!training.learner().record_is_due(),
             {fmt::format("no recording before {} steps were launched", warmup),
              fmt::format("record_is_due() after {}", launched), "what record_is_due() counts"});
      training.learner().launch();
    }
    training.renew();
    expect(training.learner().record_is_due(),
           {fmt::format("record_is_due() once {} steps were launched (warmup = {})", warmup, warmup),
            "it is not", "what launch() counts, and whether as many as warmup are enough"});
    training.record();
    expect(training.learner().recorded() && !training.learner().record_is_due(),
           {"one recording, and recorded() from then on",
            training.learner().recorded() ? "record_is_due() once more" : "recorded() is false",
            "recorded_ in record() and record_is_due()"});
  }
}

/// What a replayed step `index` took, where `wanted` is new.
std::string taken(double came, double wanted_at_recording) {
  if (came == kTakenBack) return "what lies in memory that was taken back";
  return came == wanted_at_recording ? fmt::format("{:.2f}, as in the recorded step", came)
                                     : fmt::format("{:.2f}", came);
}

void check_input(const Part& part) {
  Training training(part, 2);
  for (int i = 0; i < 6; ++i) {
    training.step();
    expect(training.seen_batch() == batch_value(i),
           {fmt::format("step {} to train on its own batch, of {:.2f}", i, batch_value(i)),
            taken(training.seen_batch(), batch_value(2)), "whether renew() copies in every step"});
  }
}

void check_rate(const Part& part) {
  Training training(part, 2);
  for (int i = 0; i < 6; ++i) {
    training.step();
    expect(training.seen_rate() == rate_of(i),
           {fmt::format("step {} to take its own learning rate, {:.2f}", i, rate_of(i)),
            taken(training.seen_rate(), rate_of(2)), "whether renew() writes it in every step"});
  }
}

void check_shape(const Part& part) {
  for (const int steps : {1, 5}) {
    for (const std::size_t values : {kValues + 1, kValues - 1}) {
      Training training(part, 3);
      for (int i = 0; i < steps; ++i) training.step();
      const DeviceMemory other = training.device().allocate(values);
      std::string came = "it was taken";
      try {
        training.learner().renew(other, 0.1);
      } catch (const std::invalid_argument&) {
        came = "std::invalid_argument";
      }
      expect(came == "std::invalid_argument",
             {fmt::format("std::invalid_argument for a batch of {} values behind {} of {}", values, steps,
                          kValues),
              came, "renew()"});
      training.step();  // and it continues
    }
  }
}

void check_same(const Part& part) {
  constexpr int kSteps = 20;
  Training training(part, 4);
  for (int i = 0; i < kSteps; ++i) {
    training.step();
    expect(training.weight() == training.plain().weight,
           {fmt::format("the weight of a training without a recording, {:.6f}, after step {}",
                        training.plain().weight, i),
            fmt::format("{:.6f}", training.weight()), "what a replayed step does, and how often"});
  }
  expect(training.log().size() == kSteps,
         {fmt::format("{} reports of {} steps", kSteps, kSteps), fmt::format("{}", training.log().size()),
          "launch() and replay()"});
  expect(training.own_allocations() == 2,
         {"no memory to be allocated after the first step",
          fmt::format("{} in 20 steps", training.own_allocations()), "renew()"});
  expect(training.device().replays() == kSteps - 4,
         {"16 replays after 4 warm-up steps", fmt::format("{}", training.device().replays()),
          "record_is_due()"});
}

}  // namespace
}  // namespace exercise

Checks checks_of_part(const void* given) {
  return checks_of<exercise::Part>(given, {{"launch", exercise::check_launch},
                                           {"fixed", exercise::check_fixed},
                                           {"record", exercise::check_record},
                                           {"replay", exercise::check_replay},
                                           {"due", exercise::check_due},
                                           {"input", exercise::check_input},
                                           {"rate", exercise::check_rate},
                                           {"shape", exercise::check_shape},
                                           {"same", exercise::check_same}});
}

}  // namespace isobar
