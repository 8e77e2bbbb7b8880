// Pictures: memory over a step by what is kept; a block's bytes by tensor; time against memory.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "draw/chart.h"
#include "formula/device_rates.h"
#include "formula/recompute.h"
#include "formula/step_time.h"
#include "plot/lesson_view.h"
#include "plot/memory_picture.h"

namespace isobar::lesson_14 {
namespace {

constexpr std::array kKinds = {CheckpointKind::none, CheckpointKind::cheap, CheckpointKind::selective,
                               CheckpointKind::block};

KeptForm form_of(CheckpointKind kind, std::int64_t every = 1) {
  return {.kind = kind, .every = every, .value_bytes = 2};
}

/// Memory over a step of a few blocks. Times are in forward passes of a block, whose backward takes two;
/// bytes are those of a token and channel.
struct StepCurve {
  std::vector<ChartPoint> points = {};

  void add(double time, double bytes) {
    time_ += time;
    bytes_ += bytes;
    points.push_back({time_, bytes_});
  }

 private:
  double time_ = 0, bytes_ = 0;
};

constexpr int kDrawnBlocks = 6;

ChartLine step_line(CheckpointKind kind, const char* words) {
  const KeptForm form = form_of(kind);
  const double kept = kept_by_block(form, kBaseShape).per_value, again = redone_bytes_per_value(form);
  const double time_again = redone_flops(form, kBaseShape) / count_forward_flops(kBaseShape).total();
  StepCurve curve;
  curve.add(0, 0);
  for (int block = 0; block < kDrawnBlocks; ++block) curve.add(1, kept);
  for (int block = 0; block < kDrawnBlocks; ++block) {
    if (again > 0) curve.add(time_again, again);
    curve.add(2, -kept - again);
  }
  const double whole = kept_by_block(form_of(CheckpointKind::none), kBaseShape).per_value * kDrawnBlocks;
  for (ChartPoint& point : curve.points) point = {point.x, 100 * point.y / whole};
  return {.words = words, .points = curve.points, .marks = false};
}

float paint_steps(Sketch& sketch, PlotPoint at, float width) {
  const std::vector<ChartLine> lines = {step_line(CheckpointKind::none, "none"),
                                        step_line(CheckpointKind::selective, "selective"),
                                        step_line(CheckpointKind::block, "block")};
  ChartSpec spec;
  spec.x = {.least = 0, .most = lines.back().points.back().x * 1.02};
  spec.y = {.least = 0, .most = 105};
  spec.x_title = "time, in forward passes of a block";
  spec.y_title = "activations, % of the most without checkpoints";
  spec.height = 230;
  return paint_chart_lines(sketch, spec, lines, at, width).end;
}

struct KeptTensor {
  const char* words;
  const char* sign;
  float bytes;
  bool with_cheap, with_selective, with_block;
};

constexpr std::array<KeptTensor, 8> kTensors = {
    {{"the block's input", "input", 4, true, true, true},
     {"output of the first norm", "norm", 2, false, false, false},
     {"queries, keys, values", "q k v", 6, true, true, false},
     {"what attention gives", "att", 2, true, true, false},
     {"input of the second norm", "sum", 4, true, false, false},
     {"output of the second norm", "norm", 2, false, false, false},
     {"hidden values before GELU", "before GELU", 8, true, false, false},
     {"behind GELU", "behind GELU", 8, false, false, false}}};

bool is_kept(const KeptTensor& tensor, CheckpointKind kind) {
  switch (kind) {
    case CheckpointKind::cheap:
      return tensor.with_cheap;
    case CheckpointKind::selective:
      return tensor.with_selective;
    case CheckpointKind::block:
      return tensor.with_block;
    case CheckpointKind::none:
      break;
  }
  return true;
}

float paint_tensors(Sketch& sketch, PlotPoint at, float width) {
  const Theme& theme = sketch.theme();
  const float whole = static_cast<float>(kept_by_block(form_of(CheckpointKind::none), kBaseShape).per_value);
  for (const CheckpointKind kind : kKinds) {
    const KeptForm form = form_of(kind);
    at.y =
        sketch.words(at, width,
                     fmt::format("{}: {:g} bytes from forward to backward{}", name_of(kind),
                                 kept_by_block(form, kBaseShape).per_value,
                                 kind == CheckpointKind::none ? ""
                                                              : fmt::format(", {:g} more in its own backward",
                                                                            redone_bytes_per_value(form)))) +
        sketch.px(2);
    float x = at.x;
    for (const KeptTensor& tensor : kTensors) {
      const Box box = {x, at.y, x + width * tensor.bytes / whole, at.y + sketch.px(26)};
      x = box.x1;
      if (is_kept(tensor, kind)) {
        sketch.pale(box, theme.series[1]);
      } else {
        paint_outline(sketch.canvas(), box, theme.dim, 1, Dash::dotted);
      }
      sketch.words_in(box, std::array{std::string(tensor.words), std::string(tensor.sign)},
                      is_kept(tensor, kind) ? theme.text : theme.dim);
    }
    at.y += sketch.px(36);
  }
  return sketch.legend(
      at, width,
      std::array{LegendEntry{"kept from forward to backward", theme.series[1]},
                 LegendEntry{.words = "dropped, and made again", .colour = theme.dim, .line = Dash::dotted}});
}

constexpr VitShape kWideShape = {.embed = 1024};
constexpr std::int64_t kAtATime = 16;

/// Time of a step over that without checkpoints, and GB of activations at their peak.
ChartPoint front_point(const VitShape& shape, const KeptForm& kept) {
  StepForm form{.shape = shape,
                .batch = kAtATime,
                .precision = AmpMode::bf16,
                .fused_adam = true,
                .fused_bias_gelu = true,
                .fused_residual_norm = true,
                .fused_qkv = true,
                .fused_head_loss = true,
                .fused_grad_norm = true,
                .patch_is_product = true};
  const DeviceRates& device = rates_of("A100-40GB");
  const double plain_us = predict_step(form, device).step_us();
  form.kept = kept;
  const std::int64_t rows = kAtATime * shape.tokens();
  const double bytes = kept_by_blocks(kept, shape, rows) +
                       redone_bytes_per_value(kept) * static_cast<double>(rows * shape.embed);
  return {predict_step(form, device).step_us() / plain_us, bytes * 1e-9};
}

ChartLine front_line(const VitShape& shape, const char* words) {
  ChartLine out{.words = words};
  for (const CheckpointKind kind : kKinds) out.points.push_back(front_point(shape, form_of(kind)));
  return out;
}

ChartLine groups_line(const VitShape& shape, const char* words) {
  ChartLine out{.words = words};
  for (const std::int64_t every : {2, 3, 4})
    out.points.push_back(front_point(shape, form_of(CheckpointKind::block, every)));
  return out;
}

float paint_front(Sketch& sketch, PlotPoint at, float width) {
  const std::vector<ChartLine> lines = {
      front_line(kWideShape, "mp: none, cheap, selective, block from the left"),
      groups_line(kWideShape, "mp: block for every 2, 3 and 4 blocks"),
      front_line(kBaseShape, "base: none, cheap, selective, block")};
  ChartSpec spec;
  spec.x = {.least = 0.98, .most = 1.02};
  for (const ChartLine& line : lines) spec.x.most = std::max(spec.x.most, line.points.back().x + 0.02);
  spec.y = {.least = 1, .most = 40, .log = true};
  spec.x_title = "time of a step, over that without checkpoints";
  spec.y_title = "GB of activations at their peak";
  spec.height = 240;
  return paint_chart_lines(sketch, spec, lines, at, width).end;
}

Drawing runs_together(std::string_view rule, const std::vector<ShownRun>& runs) {
  constexpr std::array<std::string_view, 4> kOfMemory = {"block_activations", "blocks_beside", "made_memory",
                                                         "peak_moment"};
  return std::ranges::find(kOfMemory, rule) == kOfMemory.end() ? Drawing{} : memory_together(runs);
}

std::vector<LessonPicture> pictures() {
  return {
      {"idea",
       {"Activations over a step: kept, or computed again",
        "by formula: six blocks of base in 16 bits; a backward pass of a block takes two forward passes",
        "Three lines over the time of a step of six blocks. Without checkpoints the line climbs evenly "
        "through "
        "forward to 100 percent, and comes down evenly in backward, half as steeply. With selective "
        "checkpoints it climbs to a third of that, and each block of backward begins with a rise. With a "
        "checkpoint of each block it stays low in forward, and in backward each block rises to a tooth of "
        "its "
        "own full height; this line ends last.",
        paint_steps}},
      {"bytes",
       {"A block's tensors: kept, or made again", "by formula, in 16 bits: bytes for each token and channel",
        "Four rows of the same eight tensors of a block, as wide as their bytes. None keeps all 36. Cheap "
        "drops "
        "both norms' outputs and what is behind GELU, and keeps 24. Selective keeps the block's input, "
        "queries, keys, values and what attention gives, 12. Block keeps its input, 4.",
        paint_tensors}},
      {"front",
       {"Time against memory",
        "predicted for an A100, 16 samples at a time in bf16, 12 blocks; activations by formula",
        "Points over the time of a step, bytes of activations on a logarithmic axis. For the wide model a "
        "line "
        "falls from none at 29 gigabytes steeply to selective at little more time, and on to block at 5 "
        "gigabytes and about a quarter more time. Groups of two, three and four blocks lie to the right "
        "of block and above it. The line of base has the same shape, lower.",
        paint_front}}};
}

const AddLessonView kView{{"14_checkpointing", pictures, own_memory, {}, runs_together}};

}  // namespace
}  // namespace isobar::lesson_14
