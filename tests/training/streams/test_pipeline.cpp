// A pipeline on a device with streams: autograd's threads leave gradients of weights to the one that computes
// them later, and nothing leans on an order that nobody asked for.
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>

#include <cstdint>
#include <vector>

#include "pipeline/pipeline.h"
#include "support/small_vit.h"
#include "training/streams/checked_device.h"

using namespace isobar;
using namespace isobar::host_device;

namespace {

/// [8, C, H, W]
at::Tensor made_fields(double first) {
  const std::vector<std::int64_t> shape = {8, kOddVit.channels, kOddVit.height, kOddVit.width};
  return at::arange(first, first + 8 * kOddVit.channels * kOddVit.height * kOddVit.width, at::kFloat)
      .sin()
      .view(shape);
}

/// Gradients of a step of `form`; its 4 micro-batches run one behind the other.
at::Tensor stepped(PipelineForm form, c10::Device device) {
  Config config;
  config.model.depth = kOddVit.depth;
  config.model.attention = AttentionKind::math;
  config.mesh.schedule = form;
  config.train.accumulate = 4;
  Comm alone;
  Parameters parameters;
  const FusedVit vit(parameters, kOddVit, config.fusion, config.model.attention);
  parameters.materialise(3, device);
  Pipeline pipeline(vit, alone, config);
  GradScaler scaler({.mode = AmpMode::none}, device);
  const Batch batch{.input = made_fields(0).to(device), .target = made_fields(0.5).to(device)};
  for (int step = 0; step < 2; ++step) {
    parameters.zero_gradients();
    pipeline.begin(batch);
    for (const PipelineAction& next : pipeline.actions()) {
      const at::Tensor in = pipeline.receive(next);
      if (next.work == PipelineWork::forward)
        pipeline.forward(next, in);
      else if (next.work == PipelineWork::weight)
        pipeline.weights(next);
      else
        pipeline.backward(next, in, scaler);
    }
    pipeline.finish();
    if (!device.is_cpu()) CHECK(pipeline.figures().pipe_busy_us == 0);  // what the host did is no computing
  }
  return parameters.gradients().cpu();
}

}  // namespace

TEST_CASE("a pipeline on a device with streams has the gradients of a CPU, split backward or whole") {
  for (const PipelineForm form : {PipelineForm::one_f_one_b, PipelineForm::zb_h1}) {
    const at::Tensor expected = stepped(form, at::kCPU);
    check_right([&] { CHECK(at::allclose(stepped(form, kHostDevice), expected, 1e-4, 1e-6)); }, 5);
  }
}
