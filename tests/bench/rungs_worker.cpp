// The step of one rung of the ladder, for `bench rungs`. Usage: bench_rungs_worker FOLDER, which holds
// case.json; writes the weights and batches that both sides use, then answers commands (worker.h).
#include <c10/core/impl/VirtualGuardImpl.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench/serve.h"
#include "bench/worker_data.h"
#include "core/error.h"
#include "core/files.h"
#include "device/device.h"
#include "device/precision.h"
#include "model/attention_choice.h"
#include "model/fused_vit.h"
#include "model/relative_l2.h"
#include "support/named.h"
#include "train/adam.h"
#include "train/autocast.h"
#include "train/fused_adam.h"
#include "train/grad_scaler.h"
#include "train/step_graph.h"
#include "train/weights.h"

using namespace isobar;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kWarmUp =
    3;  // launched steps before the recording: what a first step must not wait for

/// Rung 01 and 04: the plain model under a precision; 05: the fused one; 08: the fused one in a graph.
class Rung {
 public:
  Rung(const std::string& name, AmpMode mode, AttentionKind attention, const VitShape& shape,
       const OptimConfig& optim, const fs::path& weights, c10::Device device)
      : guard_(attention), mode_(mode), device_(device), scaler_({.mode = mode}, device) {
    const bool fused = name == "05" || name == "08";
    if (fused) {
      const auto model = std::make_shared<FusedVit>(parameters_, shape, FusionConfig{}, attention);
      loss_ = [model](const Batch& batch) { return model->loss(batch.input, batch.target); };
    } else {
      const auto model = std::make_shared<Vit>(parameters_, shape);
      loss_ = [model](const Batch& batch) { return relative_l2((*model)(batch.input), batch.target); };
    }
    parameters_.materialise(1, device);
    if (fs::exists(weights)) load_weights(parameters_, weights);
    if (fused) {
      fused_adam_.emplace(parameters_, optim, FusionConfig{});
      Config config;
      config.graph = {.enabled = name == "08", .scope = GraphScope::step, .warmup = kWarmUp};
      graph_.emplace(config, *fused_adam_, device, std::vector<Comm*>{});
    } else {
      adam_.emplace(parameters_, optim);
    }
    rate_ = optim.lr;
  }

  at::Tensor step(const Batch& batch) {
    if (graph_) {
      graph_->renew(batch, rate_);
      const StepOutput out = graph_->step(
          *this, [this](const Batch& fixed) { return gradients(fixed); }, [] {},
          [this] { return fused_adam_->update(scaler_); });
      if (out.recording) facts_ = *out.recording;
      return out.loss;
    }
    const at::Tensor loss = gradients(batch);
    if (scaler_.unscale(parameters_)) adam_->step(rate_);
    scaler_.update();
    return loss.detach();
  }

  const Parameters& parameters() const { return parameters_; }
  const GraphFacts& facts() const { return facts_; }
  void enter(Stage) {}  // nobody asks for stages

 private:
  at::Tensor gradients(const Batch& batch) {
    parameters_.zero_gradients();
    Autocast autocast(mode_, device_);
    const at::Tensor loss = loss_(batch);
    autocast.end();
    scaler_.scale(loss).backward();
    return loss;
  }

  AttentionGuard guard_;
  AmpMode mode_;
  c10::Device device_;
  Parameters parameters_;
  GradScaler scaler_;
  std::function<at::Tensor(const Batch&)> loss_;
  std::optional<Adam> adam_;
  std::optional<FusedAdam> fused_adam_;
  std::optional<StepGraph> graph_;
  GraphFacts facts_;
  double rate_ = 0;
};

class Side {
 public:
  explicit Side(const fs::path& folder)
      : weights_(folder / "weights.safetensors"),
        sheet_(Json::parse(read_text_file(folder / "case.json", 1 << 20))),
        device_(choose_device(sheet_["device"])),
        shape_(shape_of(sheet_)) {
    set_up_cpu(sheet_["threads"]);
    set_deterministic(Determinism::automatic, device_);  // PyTorch's side has all kernels too
    optim_.lr = sheet_["lr"];
    optim_.beta1 = sheet_["beta1"];
    optim_.beta2 = sheet_["beta2"];
    optim_.eps = sheet_["eps"];
    save_weights(
        Rung("01", AmpMode::none, AttentionKind::automatic, shape_, optim_, weights_, device_).parameters(),
        weights_);
    make_batches(folder / "batches.safetensors");
  }

  /// start RUNG MODE ATTENTION: from the first weights; the time until its first step is done.
  Json start(const std::vector<std::string>& words) {
    rung_.reset();
    settle();
    const auto mode = testing::named<AmpMode>(words.at(1));
    apply_precision(mode);
    began_ = Clock::now();
    steps_ = 0;
    rung_ = std::make_unique<Rung>(words.at(0), mode, testing::named<AttentionKind>(words.at(2)), shape_,
                                   optim_, weights_, device_);
    const double loss = next().item<double>();
    return {{"s", since(began_)}, {"loss", loss}, {"device", device_.str()}};
  }

  Json losses(const std::vector<std::string>& words) {
    std::vector<double> out;
    for (int i = 0; i < std::stoi(words.at(0)); ++i) out.push_back(next().item<double>());
    return {{"losses", out}};
  }

  /// until N: goes on to step N; the time since `start` began.
  Json until(const std::vector<std::string>& words) {
    while (steps_ < std::stoul(words.at(0))) next();
    settle();
    return {{"s", since(began_)}, {"kernels", rung_->facts().nodes.kernels}};
  }

  /// run N: milliseconds a step, and of that what the host needed to ask for it.
  Json run(const std::vector<std::string>& words) {
    const int count = std::stoi(words.at(0));
    settle();
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < count; ++i) next();
    const double asked_s = since(begin);
    settle();
    return {{"ms", since(begin) / count * 1e3}, {"host_ms", asked_s / count * 1e3}};
  }

 private:
  using Clock = std::chrono::steady_clock;

  static double since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  void settle() const {
    if (!device_.is_cpu()) c10::impl::VirtualGuardImpl(device_.type()).synchronizeDevice(device_.index());
  }

  void make_batches(const fs::path& file) {
    const std::vector<std::int64_t> sizes = {sheet_["batch"], shape_.channels, shape_.height, shape_.width};
    NamedTensors tensors;
    for (int i = 0; i < sheet_["batches"]; ++i) {
      const std::string number = std::to_string(i);
      const at::Tensor input = random_field("input." + number, sizes);
      const at::Tensor target = random_field("target." + number, sizes);
      tensors.emplace_back("input." + number, input);
      tensors.emplace_back("target." + number, target);
      batches_.push_back({input.to(device_), target.to(device_)});
    }
    write_tensors(file, tensors);
  }

  at::Tensor next() { return rung_->step(batches_[steps_++ % batches_.size()]); }

  fs::path weights_;
  Json sheet_;
  c10::Device device_;
  VitShape shape_;
  OptimConfig optim_;
  std::vector<Batch> batches_;  ///< on the device
  std::unique_ptr<Rung> rung_;
  Clock::time_point began_;
  std::size_t steps_ = 0;
};

int serve_side(int argc, char** argv) {
  if (argc != 2) throw Error("which folder?", "bench_rungs_worker FOLDER", "./isobar bench rungs starts it");
  Side side(argv[1]);
  const auto bound = [&](Json (Side::*method)(const std::vector<std::string>&)) {
    return [&side, method](const std::vector<std::string>& words) { return (side.*method)(words); };
  };
  serve({{"start", bound(&Side::start)},
         {"losses", bound(&Side::losses)},
         {"until", bound(&Side::until)},
         {"run", bound(&Side::run)}});
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("bench_rungs_worker", [&] { return serve_side(argc, argv); });
}
