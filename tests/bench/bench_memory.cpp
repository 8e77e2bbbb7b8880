// ./isobar bench memory: what it costs to compute activations again, beside the step that keeps them all.
#include <ATen/ops/equal.h>
#include <fmt/format.h>

#include "bench/bench_report.h"
#include "bench/case_sheet.h"
#include "bench/worker_data.h"
#include "core/clock.h"
#include "core/error.h"
#include "device/device.h"
#include "device/emulated_products.h"
#include "device/precision.h"
#include "formula/recompute.h"
#include "model/fused_vit.h"
#include "train/autocast.h"
#include "train/fused_adam.h"
#include "train/grad_scaler.h"

using namespace isobar;

namespace {

constexpr double kBand = 1.15;  // times the predicted factor
const c10::Device kOfHost(c10::kCPU);

struct Way {
  CheckpointKind kind = CheckpointKind::none;
  std::int64_t every = 1;
  std::string text() const {
    return every > 1 ? fmt::format("{} of {}", name_of(kind), every) : name_of(kind);
  }
};

/// The step of lesson 14 on one batch that lies in memory.
class Checkpointed {
 public:
  Checkpointed(const nlohmann::ordered_json& sheet, AmpMode mode, const Way& way)
      : mode_(mode), model_(parameters_, shape_of(sheet), {}, AttentionKind::automatic) {
    model_.checkpoint(way.kind, way.every);
    parameters_.materialise(1, kOfHost);
    OptimConfig optim;
    optim.lr = rate_ = sheet["lr"];
    adam_.emplace(parameters_, optim, FusionConfig{});
    const VitShape& shape = model_.shape();
    const std::vector<std::int64_t> sizes = {sheet["batch"], shape.channels, shape.height, shape.width};
    input_ = random_field("input", sizes);
    target_ = random_field("target", sizes);
  }

  void step() {
    parameters_.zero_gradients();
    Autocast autocast(mode_, kOfHost);
    const at::Tensor loss = model_.loss(input_, target_);
    autocast.end();
    loss.backward();
    adam_->step(rate_, scaler_);
  }

  /// Milliseconds of one of `count` steps.
  double time(int count) {
    const std::int64_t begin_us = steady_us();
    for (int i = 0; i < count; ++i) step();
    return static_cast<double>(steady_us() - begin_us) * 1e-3 / count;
  }

  const at::Tensor& weights() const { return parameters_.values(); }

 private:
  AmpMode mode_;
  Parameters parameters_;
  FusedVit model_;
  GradScaler scaler_{AmpConfig{}, kOfHost};
  std::optional<FusedAdam> adam_;
  at::Tensor input_, target_;
  double rate_ = 0;
};

void measure(const std::string& preset, AmpMode mode, const Way& way, int pairs, int threads,
             BenchReport& report) {
  const nlohmann::ordered_json sheet = case_sheet(preset, "cpu", threads);
  const VitShape shape = shape_of(sheet);
  const KeptForm form{.kind = way.kind, .every = way.every, .value_bytes = mode == AmpMode::none ? 4 : 2};
  const KeptForm all{.value_bytes = form.value_bytes};
  const double factor = recompute_factor(form, shape);
  Checkpointed ours(sheet, mode, way), peer(sheet, mode, {});
  PairedRow row;
  row.name = fmt::format("step of {} in {}, {}: {:.3g} of {:.3g} bytes kept, {:.3g} x the operations", preset,
                         mode == AmpMode::none ? "fp32" : name_of(mode), way.text(),
                         kept_by_block(form, shape).per_value, kept_by_block(all, shape).per_value, factor);
  row.unit = "ms";
  row.peer_name = "none";
  row.least_ratio = 1 / (factor * kBand);
  ours.time(3);
  peer.time(3);
  if (!at::equal(ours.weights(), peer.weights()))
    throw Error("weights differ after three steps; nothing was timed", row.name, "", Exit::failed);
  const int count = std::max(2, static_cast<int>(300 / peer.time(2)));
  for (int pair = 0; pair < pairs; ++pair) {
    row.ours.push_back(ours.time(count));
    row.peer.push_back(peer.time(count));
  }
  report.add(row);
}

int run(int argc, char** argv) {
  int pairs = 20, threads = 2;
  OptionParser parser("Steps that compute activations again, beside those that keep them",
                      "./isobar bench memory");
  BenchReport report("memory", parser);
  const OptionParser::Option given = parser.add("--pairs", pairs, "blocks of each side").in_range(1, 1000);
  parser.add("--threads", threads, "of tensor operations").in_range(1, 1024);
  if (!report.parse(argc, argv)) return 0;
  if (report.quick() && !given.given()) pairs = 3;
  set_up_cpu(threads);
  report.begin();
  std::vector<AmpMode> modes = {AmpMode::none};
  if (!emulates(AmpMode::bf16, precision_facts(kOfHost))) modes.push_back(AmpMode::bf16);
  std::vector<const char*> presets = {"cpu_tiny"};
  if (!report.quick()) presets.insert(presets.end(), {"cpu_small", "cpu_attn"});
  for (const AmpMode mode : modes)
    for (const char* const preset : presets)
      for (const Way& way : {Way{CheckpointKind::cheap}, Way{CheckpointKind::selective},
                             Way{CheckpointKind::block}, Way{CheckpointKind::block, 2}})
        measure(preset, mode, way, pairs, threads, report);
  return report.finish();
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("isobar bench memory", [&] { return run(argc, argv); });
}
