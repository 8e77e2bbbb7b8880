// The training step of `bench step` (lesson 01) and `bench fusion` (lesson 05) as the lessons make it. Usage:
// bench_step_worker FOLDER, which holds case.json; writes the weights and batches that both sides use, then
// answers commands (worker.h).
#include <ATen/core/Tensor.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench/serve.h"
#include "bench/worker_data.h"
#include "core/error.h"
#include "core/files.h"
#include "data/loader.h"
#include "device/device.h"
#include "device/memory.h"
#include "device/peak.h"
#include "device/precision.h"
#include "model/fused_vit.h"
#include "model/parameters.h"
#include "model/relative_l2.h"
#include "model/vit.h"
#include "train/adam.h"
#include "train/fused_adam.h"
#include "train/grad_scaler.h"
#include "train/weights.h"

using namespace isobar;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

class Trainer {
 public:
  explicit Trainer(const fs::path& folder)
      : weights_(folder / "weights.safetensors"),
        sheet_(Json::parse(read_text_file(folder / "case.json", 1 << 20))),
        device_(choose_device(sheet_["device"])),
        shape_(shape_of(sheet_)) {
    set_up_cpu(sheet_["threads"]);
    set_deterministic(Determinism::automatic, device_);  // PyTorch's side has all kernels too
    apply_precision(sheet_["tf32"] ? AmpMode::tf32 : AmpMode::none);
    optim_.lr = sheet_["lr"];
    optim_.beta1 = sheet_["beta1"];
    optim_.beta2 = sheet_["beta2"];
    optim_.eps = sheet_["eps"];
    if (sheet_.value("fused", false)) {
      loss_ = [model = FusedVit(parameters_, shape_, {}, AttentionKind::automatic)](const Batch& batch) {
        return model.loss(batch.input, batch.target);
      };
    } else {
      loss_ = [model = Vit(parameters_, shape_)](const Batch& batch) {
        return relative_l2(model(batch.input), batch.target);
      };
    }
    parameters_.materialise(1, device_);
    save_weights(parameters_, weights_);
    make_batches(folder / "batches.safetensors");
  }

  /// The first weights and a new optimiser.
  Json reset(const std::vector<std::string>&) {
    load_weights(parameters_, weights_);
    if (sheet_.value("fused", false)) {
      const auto adam = std::make_shared<FusedAdam>(parameters_, optim_, FusionConfig{});
      const auto scaler = std::make_shared<GradScaler>(AmpConfig{}, device_);  // passes float32 through
      update_ = [this, adam, scaler] { adam->step(optim_.lr, *scaler); };
    } else {
      update_ = [this, adam = std::make_shared<Adam>(parameters_, optim_)] { adam->step(optim_.lr); };
    }
    steps_ = 0;
    return {{"device", device_.str()}, {"kernels", cpu_capability()}};
  }

  Json losses(const std::vector<std::string>& words) {
    std::vector<double> out;
    for (int i = 0; i < std::stoi(words.at(0)); ++i) out.push_back(step().loss.item<double>());
    return {{"losses", out}};
  }

  /// Microseconds of each step and of its parts.
  Json run(const std::vector<std::string>& words) {
    std::vector<double> all;
    std::array<std::vector<double>, 3> parts;
    for (int i = 0; i < std::stoi(words.at(0)); ++i) {
      const Measured measured = step();
      const auto between = [&](std::size_t from, std::size_t to) {
        return std::chrono::duration<double, std::micro>(measured.times[to] - measured.times[from]).count();
      };
      all.push_back(between(0, 3));
      for (std::size_t part = 0; part < 3; ++part) parts[part].push_back(between(part, part + 1));
    }
    return {{"step", all}, {"forward", parts[0]}, {"backward", parts[1]}, {"optimize", parts[2]}};
  }

  /// Of the device; on a CPU of the whole process.
  Json peak(const std::vector<std::string>&) { return {{"bytes", peak_bytes(device_)}}; }

  /// The time of the step's operations at the rate of matrix products here: what no step can beat.
  Json floor(const std::vector<std::string>&) {
    const double operations = training_flops(shape_) * sheet_["batch"].get<double>();
    return {{"ms", operations / measure_peak_flops(device_) * 1e3}};
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Measured {
    at::Tensor loss;
    std::array<Clock::time_point, 4>
        times;  ///< before forward, after it, after backward, after the optimiser
  };

  void make_batches(const fs::path& file) {
    const std::vector<std::int64_t> sizes = {sheet_["batch"], shape_.channels, shape_.height, shape_.width};
    NamedTensors tensors;
    for (int i = 0; i < sheet_["batches"]; ++i) {
      Batch batch;
      for (auto [tensor, name] : {std::pair(&batch.input, "input."), std::pair(&batch.target, "target.")}) {
        *tensor = random_field(name + std::to_string(i), sizes);
        tensors.emplace_back(name + std::to_string(i), *tensor);
        *tensor = tensor->to(device_);  // how it gets there is the loader's affair, and no part of the step
      }
      batches_.push_back(batch);
    }
    write_tensors(file, tensors);
  }

  Clock::time_point clock() const {
    if (!device_.is_cpu()) c10::impl::VirtualGuardImpl(device_.type()).synchronizeDevice(device_.index());
    return Clock::now();
  }

  /// The middle of a lesson's page.
  Measured step() {
    const Batch& batch = batches_[steps_++ % batches_.size()];
    Measured out;
    out.times[0] = clock();
    parameters_.zero_gradients();
    out.loss = loss_(batch);
    out.times[1] = clock();
    out.loss.backward();
    out.times[2] = clock();
    update_();
    out.times[3] = clock();
    return out;
  }

  fs::path weights_;
  Json sheet_;
  c10::Device device_;
  OptimConfig optim_;
  Parameters parameters_;
  VitShape shape_;
  std::function<at::Tensor(const Batch&)> loss_;
  std::function<void()> update_;
  std::vector<Batch> batches_;
  std::size_t steps_ = 0;
};

int serve_trainer(int argc, char** argv) {
  if (argc != 2) throw Error("which folder?", "bench_step_worker FOLDER", "./isobar bench step starts it");
  Trainer trainer(argv[1]);
  const auto bound = [&](Json (Trainer::*method)(const std::vector<std::string>&)) {
    return [&trainer, method](const std::vector<std::string>& words) { return (trainer.*method)(words); };
  };
  serve({{"reset", bound(&Trainer::reset)},
         {"losses", bound(&Trainer::losses)},
         {"run", bound(&Trainer::run)},
         {"floor", bound(&Trainer::floor)},
         {"peak", bound(&Trainer::peak)}});
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("bench_step_worker", [&] { return serve_trainer(argc, argv); });
}
