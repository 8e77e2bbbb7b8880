// ./isobar bench emulated: what emulated 16 bits cost on a processor without instructions for them, the
// products and the training step of lessons 01 and 04. A processor that has the instructions is held to AVX2.
#include <ATen/TensorOperators.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <map>

#include "bench/bench_report.h"
#include "bench/case_sheet.h"
#include "bench/worker_data.h"
#include "core/clock.h"
#include "core/cpu_instructions.h"
#include "core/error.h"
#include "device/device.h"
#include "device/emulated_products.h"
#include "device/precision.h"
#include "model/parameters.h"
#include "support/tolerance_values.h"
#include "train/adam.h"
#include "train/autocast.h"
#include "train/grad_scaler.h"
#include "train/loss.h"

using namespace isobar;

namespace {

constexpr double kLeastRatio = 1 / 1.5;
constexpr int kCheckedSteps = 20;
const c10::Device kCpu(c10::kCPU);

/// The step of lesson 04 in one mode, of lesson 01 with "none", on batches that lie in memory.
class Trained {
 public:
  Trained(const nlohmann::ordered_json& sheet, AmpMode mode)
      : mode_(mode), model_(parameters_, shape_of(sheet)), scaler_(amp(mode), kCpu) {
    parameters_.materialise(1, kCpu);
    OptimConfig optim;
    optim.lr = rate_ = sheet["lr"];
    adam_.emplace(parameters_, optim);
    const VitShape& shape = model_.shape();
    const std::vector<std::int64_t> sizes = {sheet["batch"], shape.channels, shape.height, shape.width};
    input_ = random_field("input", sizes);
    target_ = random_field("target", sizes);
  }

  double step() {
    parameters_.zero_gradients();
    Autocast autocast(mode_, kCpu);
    const at::Tensor loss = relative_l2(model_(input_), target_);
    autocast.end();
    scaler_.scale(loss).backward();
    if (scaler_.unscale(parameters_)) adam_->step(rate_);
    scaler_.update();
    return loss.item<double>();
  }

  /// Milliseconds of one of `count` steps.
  double time(int count) {
    const std::int64_t begin_us = steady_us();
    for (int i = 0; i < count; ++i) step();
    return static_cast<double>(steady_us() - begin_us) * 1e-3 / count;
  }

 private:
  static AmpConfig amp(AmpMode mode) {
    AmpConfig out;
    out.mode = mode;
    return out;
  }

  AmpMode mode_;
  Parameters parameters_;
  Vit model_;
  GradScaler scaler_;
  std::optional<Adam> adam_;
  at::Tensor input_, target_;
  double rate_ = 0;
};

/// Losses of the first steps lie within the band of the tests, or nothing is timed.
void check_losses(Trained& one, Trained& plain, const std::string& what) {
  for (int i = 0; i < kCheckedSteps; ++i) {
    const double ours = one.step(), theirs = plain.step();
    if (std::abs(ours / theirs - 1) < kLossHalf) continue;
    throw Error("the two do not train alike; nothing was timed", what,
                fmt::format("loss of step {}: {:.6g} against {:.6g} in fp32", i, ours, theirs), Exit::failed);
  }
}

void measure_steps(const std::string& preset, AmpMode mode, int pairs, int threads, BenchReport& report) {
  const nlohmann::ordered_json sheet = case_sheet(preset, "cpu", threads);
  Trained ours(sheet, mode), peer(sheet, AmpMode::none);
  PairedRow row;
  row.name = fmt::format("step of {} in {}", preset, name_of(mode));
  row.unit = "ms";
  row.peer_name = "the same in fp32";
  row.least_ratio = kLeastRatio;
  check_losses(ours, peer, row.name);
  const int count = std::max(2, static_cast<int>(300 / peer.time(2)));
  for (int pair = 0; pair < pairs; ++pair) {
    row.ours.push_back(ours.time(count));
    row.peer.push_back(peer.time(count));
  }
  report.add(row);
}

void measure_product(c10::ScalarType type, std::int64_t side, int pairs, BenchReport& report) {
  const at::Tensor wide = at::randn({side, side}), narrow = wide.to(type);
  const at::Tensor expected = at::mm(narrow.to(at::kFloat), narrow.to(at::kFloat)).to(type);
  PairedRow row;
  row.name = fmt::format("product of {0} x {0} in {1}", side, toString(type));
  row.unit = "us";
  row.peer_name = "the same in fp32";
  if (!at::mm(narrow, narrow).equal(expected)) {
    throw Error("an emulated product is not that of float32, rounded; nothing was timed", row.name, "",
                Exit::failed);
  }
  const auto time = [&](const at::Tensor& of) {
    const int count = std::max(1, static_cast<int>(4e9 / std::pow(static_cast<double>(side), 3)));
    const std::int64_t begin_us = steady_us();
    for (int i = 0; i < count; ++i) at::mm(of, of);
    return static_cast<double>(steady_us() - begin_us) / count;
  };
  for (int pair = -1; pair < pairs; ++pair) {
    const double ours = time(narrow), peer = time(wide);
    if (pair < 0) continue;  // the first of all is a warm-up
    row.ours.push_back(ours);
    row.peer.push_back(peer);
  }
  report.add(row);
}

int run(int argc, char** argv) {
  int pairs = 20, threads = 2;
  OptionParser parser("Emulated products in 16 bits, and training with them, beside float32",
                      "./isobar bench emulated");
  BenchReport report("emulated", parser);
  const OptionParser::Option given = parser.add("--pairs", pairs, "blocks of each side").in_range(1, 1000);
  parser.add("--threads", threads, "of tensor operations").in_range(1, 1024);
  if (!report.parse(argc, argv)) return 0;
  if (report.quick() && !given.given()) pairs = 3;
  set_up_cpu(threads);
  emulate_products();
  report.begin();
  report.say("libtorch's kernels: " + cpu_capability());
  for (const AmpMode mode : {AmpMode::bf16, AmpMode::fp16}) {
    if (!emulates(mode, precision_facts(kCpu)))
      throw Error(std::string(name_of(mode)) + " is not emulated here", "./isobar bench emulated",
                  "the limits of the environment leave its instructions; unset them", Exit::failed);
    for (const std::int64_t side : {128, 512, 1024}) measure_product(*half_type(mode), side, pairs, report);
    for (const char* const preset : {"cpu_micro", "cpu_tiny", "cpu_small"})
      measure_steps(preset, mode, pairs, threads, report);
  }
  return report.finish();
}

}  // namespace

int main(int argc, char** argv) {
  // Asked for when the first operation runs, which is later.
  for (const auto& [name, word] : std::map<const char*, const char*>{{"ISOBAR_CPU_CAPABILITY", "avx2"},
                                                                     {"ATEN_CPU_CAPABILITY", "avx2"},
                                                                     {"ONEDNN_MAX_CPU_ISA", "AVX2"},
                                                                     {"MKL_ENABLE_INSTRUCTIONS", "AVX2"}})
    setenv(name, word, /*overwrite=*/0);
  return guarded_main("isobar bench emulated", [&] { return run(argc, argv); });
}
