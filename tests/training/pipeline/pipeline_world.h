#pragma once
// One rank of a small pipeline, and one process that has the whole model.
#include <ATen/ops/equal.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "launch/mesh.h"
#include "pipeline/pipeline.h"
#include "train/sync_world.h"

namespace isobar::testing {

/// 12 heads and 8 blocks: stages for any pipeline of a test. 6 tokens.
inline constexpr VitShape kPipeVit = {
    .height = 8, .width = 12, .channels = 3, .patch = 4, .embed = 24, .depth = 8, .heads = 12};
inline constexpr std::int64_t kPipeSamples = 2;  // a micro-batch's

/// What `key=value` words of a scenario set.
inline Config pipe_config(const std::vector<std::string>& words) {
  std::map<std::string, std::string> set;
  for (const std::string& word : words) set[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
  const auto number = [&](const char* key, std::int64_t usual) {
    return set.count(key) > 0 ? std::stoll(set[key]) : usual;
  };
  Config out;
  out.comm = small_buckets(set.count("backend") > 0 ? set["backend"] : "ring", "buckets");
  out.comm.timeout_s = 120;
  out.model.embed = kPipeVit.embed;
  out.model.depth = kPipeVit.depth;
  out.model.heads = kPipeVit.heads;
  out.model.patch = kPipeVit.patch;
  out.mesh.pp = number("pp", 1);
  out.mesh.tp = number("tp", 1);
  out.comm.check = number("check", 0) != 0;
  out.comm.link.latency_us = static_cast<double>(number("latency", 0));
  out.mesh.sequence_parallel = number("tokens", 0) != 0;
  out.mesh.chunks = number("chunks", 1);
  out.mesh.schedule = set.count("form") > 0 ? named<PipelineForm>(set["form"]) : PipelineForm::one_f_one_b;
  out.train.accumulate = number("m", 1);
  out.train.steps = number("steps", set.count("amp") > 0 ? 2 : 1);
  if (set.count("blocks") > 0)
    for (const char digit : set["blocks"]) out.mesh.stage_blocks.push_back(digit - '0');
  if (set.count("amp") > 0) out.amp.mode = named<AmpMode>(set["amp"]);
  if (set.count("checkpoint") > 0) out.model.checkpoint = named<CheckpointKind>(set["checkpoint"]);
  out.model.checkpoint_every = number("every", 1);
  out.model.dropout = number("dropout", 0) != 0 ? 0.25 : 0;
  if (set.count("fusion") > 0 && set["fusion"] == "plain") out.fusion = kNoFusion;
  return out;
}

struct PipeModel {
  /// Its weights are those of `from`, which has all of the model, where there is one.
  PipeModel(const Config& config, const TensorParallel& ranks, const std::vector<ModelStage>& held = {},
            const Parameters* from = nullptr)
      : vit(parameters, kPipeVit, config.fusion, AttentionKind::automatic, ranks, held) {
    vit.checkpoint(config.model.checkpoint, config.model.checkpoint_every);
    vit.dropout(config.model.dropout);
    parameters.materialise(3, at::kCPU);
    if (from == nullptr)
      spread(parameters);
    else
      copy_weights(*from, parameters);
  }
  at::Tensor loss(const at::Tensor& image, const at::Tensor& target) const { return vit.loss(image, target); }

  Parameters parameters;
  FusedVit vit;
};

inline Batch pipe_batch(const Config& config, std::int64_t step) {
  const auto joint = joint_batch(kPipeVit, kPipeSamples * config.train.accumulate, step);
  return {.input = joint.first, .target = joint.second};
}

/// A step as a lesson makes it; gives the loss. `before` is called in front of what an action computes.
inline double pipe_step(
    Pipeline& pipeline, Parameters& parameters, const Batch& batch, GradScaler& scaler,
    const std::function<void(const PipelineAction&)>& before = [](const PipelineAction&) {}) {
  parameters.zero_gradients();
  pipeline.begin(batch);
  for (const PipelineAction& next : pipeline.actions()) {
    const at::Tensor in = pipeline.receive(next);
    before(next);
    at::Tensor out;
    if (next.work == PipelineWork::forward)
      out = pipeline.forward(next, in);
    else if (next.work == PipelineWork::weight)
      pipeline.weights(next);
    else
      out = pipeline.backward(next, in, scaler);
    pipeline.send(next, out);
  }
  return pipeline.finish().item<double>();
}

/// All micro-batches one behind the other, without a pipeline.
inline double plain_step(PipeModel& model, const Config& config, const Batch& batch, GradScaler& scaler) {
  model.parameters.zero_gradients();
  double sum = 0;
  for (std::int64_t part = 0; part < config.train.accumulate; ++part) {
    Autocast autocast(config.amp.mode, at::kCPU);
    const at::Tensor loss = model.loss(batch.input.narrow(0, part * kPipeSamples, kPipeSamples),
                                       batch.target.narrow(0, part * kPipeSamples, kPipeSamples));
    autocast.end();
    const at::Tensor share = loss.div(config.train.accumulate);
    scaler.scale(share).backward();
    sum += share.item<double>();
  }
  return sum;
}

/// The parameters that `ours` has: as gradient_error, and whether all bits are equal.
struct GradientsBeside {
  double error = 0;
  std::string other_bits;  ///< first parameter whose differ
};
inline GradientsBeside beside(const Parameters& ours, const Parameters& whole) {
  GradientsBeside out;
  const double floor = kGradientFloor * largest(whole.gradients());
  for (const Parameter& one : ours.all()) {
    const at::Tensor& mine = one.tensor.grad();
    const at::Tensor& exact = whole.find(one.name).tensor.grad();
    const bool is_key = one.name.find("attn.k.bias") != std::string::npos;  // its true gradient is zero
    const double allowed = kGradient * std::max(largest(is_key ? whole.gradients() : exact), floor);
    out.error = std::max(out.error, difference(mine, exact) / allowed);
    if (out.other_bits.empty() && !at::equal(mine, exact)) out.other_bits = one.name;
  }
  return out;
}

}  // namespace isobar::testing
