#pragma once
// The loop of lesson 08, as its page has it, over a small data set.
#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "data/device_prefetch.h"
#include "data/ring_loader.h"
#include "model/fused_vit.h"
#include "support/small_data.h"
#include "support/temp_folder.h"
#include "train/fused_adam.h"
#include "train/grad_scaler.h"
#include "train/gradient_sync.h"
#include "train/step_graph.h"

namespace isobar {

inline constexpr VitShape kLoopVit = {
    .height = 8, .width = 16, .channels = 3, .patch = 4, .embed = 24, .depth = 2, .heads = 2};

struct LoopResult {
  std::vector<double> losses, norms;
  at::Tensor weights;
  std::vector<at::Tensor> buffers;
  std::int64_t replays = 0;

  void enter(Stage stage) { replays += stage == Stage::replay ? 1 : 0; }
};

class LessonLoop {
 public:
  LessonLoop() { data_.write(folder_.path()); }

  /// Change what is needed before `train`.
  Config config = [] {
    Config out;
    out.train.global_batch = 2;
    out.data.workers = 2;
    out.loader.kind = LoaderKind::gpu;
    out.graph.warmup = 3;
    out.model.attention = AttentionKind::math;
    return out;
  }();
  VitShape shape = kLoopVit;
  int steps = 8;
  /// The other ranks, which hold the whole model or, with mesh.tp = 2, share it; null: this one trains alone.
  std::function<std::unique_ptr<Comm>()> make_comm = [] { return nullptr; };
  /// Hooks of gradients are made for the stream on which backward runs, as lesson 08 does.
  bool hooks_on_stream = true;

  LoopResult train(c10::Device device) {
    DataConfig sets = data_.config();
    sets.workers = config.data.workers;
    config.data = sets;
    const Dataset dataset(config.data, folder_.path(), "train", 0);
    SpanWriter spans(folder_ / "spans.jsonl", 200, StreamStart::create, 0, 0, 0);
    RingLoader ring(dataset, Sampler(dataset.size(), true, 333), config, device, spans);
    DevicePrefetch loader(ring, config.loader);
    const std::unique_ptr<Comm> made = make_comm();
    Comm alone;
    Comm& model_ranks = made && config.mesh.tp > 1 ? *made : alone;
    Comm& replicas = made && config.mesh.tp == 1 ? *made : alone;
    const TensorParallel ranks(model_ranks, config);
    Parameters parameters;
    FusedVit model(parameters, shape, config.fusion, config.model.attention, ranks);
    parameters.materialise(3, device);
    FusedAdam adam(parameters, config.optim, config.fusion, ranks);
    GradScaler scaler(config.amp, device);
    StepGraph graph(config, adam, device, {&replicas, &model_ranks});
    std::optional<c10::Stream> stream;
    if (hooks_on_stream) stream = graph.stream();
    const auto sync = make_gradient_sync(parameters, replicas, config.comm, stream);
    LoopResult out;
    std::vector<at::Tensor> losses, norms;  // the host waits for none of them before the end
    for (int step = 0; step < steps; ++step) {
      graph.renew(loader.next().to(device), 1e-3 * (1 + step));
      sync->begin();
      const StepOutput done = graph.step(
          out,
          [&](const Batch& fixed) {
            parameters.zero_gradients();
            const at::Tensor loss = model.loss(fixed.input, fixed.target);
            sync->backward(scaler.scale(loss));
            return loss;
          },
          [&] {
            sync->finish(ranks);
            ranks.sum_partial_gradients(parameters);
          },
          [&] { return adam.update(scaler); });
      losses.push_back(done.loss + 0);
      norms.push_back(done.gradient_norm + 0);
    }
    for (const at::Tensor& loss : losses) out.losses.push_back(loss.item<double>());
    for (const at::Tensor& norm : norms) out.norms.push_back(norm.item<double>());
    out.weights = parameters.values().cpu();
    for (const Buffer& buffer : parameters.buffers()) out.buffers.push_back(buffer.tensor.cpu());
    return out;
  }

 private:
  TempFolder folder_;
  SmallData data_;
};

}  // namespace isobar
