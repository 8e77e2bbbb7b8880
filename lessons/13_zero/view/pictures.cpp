// Pictures: who owns which part of the store by mesh.zero, with its padding; bytes by category; a step whose
// weights are gathered unit by unit. Of a run, the memory of its recorded step.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/text.h"
#include "formula/vit_memory.h"
#include "plot/bars.h"
#include "plot/lesson_view.h"
#include "plot/memory_picture.h"

namespace isobar::lesson_13 {
namespace {

// ---- Owners ----------------------------------------------------------------------------------------------

constexpr int kOwners = 4;
constexpr double kLine = 16;                                ///< values of a line of memory
constexpr std::array<double, 2> kBucketValues = {110, 70};  ///< without padding
constexpr std::array<const char*, 3> kStates = {"weights", "gradients", "moments"};
constexpr float kLane = 13;

double part_values(double values) {
  double lines = 1;
  while (lines * kLine * kOwners < values) ++lines;
  return lines * kLine;
}

double padded_values() {
  double out = 0;
  for (const double values : kBucketValues) out += kOwners * part_values(values);
  return out;
}

/// What a rank holds of one state: of each bucket its part, or all of it.
void paint_held(Sketch& sketch, const Box& box, const char* state, int rank, bool is_shared) {
  const Theme& theme = sketch.theme();
  const StackPart look = memory_part(theme, state, 0);
  const float gap = sketch.px(6);
  const double scale = (box.width() - gap) / padded_values();
  float x = box.x0;
  for (const double values : kBucketValues) {
    const double part = part_values(values), all = kOwners * part;
    const double from = is_shared ? rank * part : 0, to = is_shared ? from + part : all;
    const auto at = [&](double value) { return x + static_cast<float>(value * scale); };
    const double filled = std::clamp(values, from, to);
    if (filled > from) sketch.area({at(from), box.y0, at(filled), box.y1}, look.colour);
    if (to > filled) sketch.area({at(filled), box.y0, at(to), box.y1}, theme.dim, Hatch::crossed);
    sketch.canvas().frame({at(0), box.y0, at(all), box.y1}, theme.dim);
    x = at(all) + gap;
  }
}

/// The lanes of all ranks for one value of mesh.zero.
float paint_cut(Sketch& sketch, int zero, const char* words, PlotPoint at, float width) {
  const float label = sketch.text_width("rank 0") + sketch.px(10), gap = sketch.px(14);
  const float wide = (width - label - 2 * gap) / 3, lane = sketch.px(kLane);
  at.y = sketch.words(at, width, fmt::format("mesh.zero = {}: {}", zero, words),
                      {.colour = sketch.theme().text}) +
         sketch.px(4);
  for (int rank = 0; rank < kOwners; ++rank) {
    sketch.words({at.x, at.y}, label, fmt::format("rank {}", rank), {.colour = sketch.theme().dim});
    for (int state = 0; state < 3; ++state) {
      const float x = at.x + label + static_cast<float>(state) * (wide + gap);
      const bool is_shared = zero >= 3 - state;  // moments first, then gradients, then weights
      paint_held(sketch, {x, at.y, x + wide, at.y + lane}, kStates[static_cast<std::size_t>(state)], rank,
                 is_shared);
    }
    at.y += std::max(lane, sketch.words_height("rank 0", Face::small, label)) + sketch.px(3);
  }
  return at.y + sketch.px(8);
}

float paint_owners(Sketch& sketch, PlotPoint at, float width) {
  at.y = paint_cut(sketch, 0, "every rank holds everything", at, width);
  at.y = paint_cut(sketch, 1, "moments are shared out", at, width);
  at.y = paint_cut(sketch, 2, "gradients as well", at, width);
  at.y = paint_cut(sketch, 3, "weights as well", at, width);
  std::vector<LegendEntry> legend;
  for (const char* const state : kStates)
    legend.push_back({state, memory_part(sketch.theme(), state, 0).colour});
  legend.push_back({"padding", sketch.theme().dim, Hatch::crossed});
  return sketch.legend(at, width, legend);
}

// ---- Bytes -----------------------------------------------------------------------------------------------

// Variant 2 of 13.fits with one sample a GPU, so this picture stands in `closes`.
constexpr VitShape kLarge = {.embed = 2048, .depth = 24, .heads = 16};
constexpr std::int64_t kGroup = 8;

StackedBar cut_bar(const Theme& theme, std::int64_t zero, double most) {
  TrainingForm form{
      .batch = 1, .kept = {.value_bytes = 2}, .fused = true, .fused_loss = true, .fused_adam = true};
  form.shares = {.stage = zero, .ranks = kGroup};
  const TrainingBytes bytes = count_training_bytes(kLarge, form);
  return memory_bar(theme, fmt::format("mesh.zero = {}", zero),
                    {{"weights", bytes.weights},
                     {"gradients", bytes.gradients},
                     {"moments", bytes.moments},
                     {"communication", bytes.in_flight},
                     {"activations", bytes.activations},
                     {"workspace", bytes.working}},
                    most);
}

float paint_bytes(Sketch& sketch, PlotPoint at, float width) {
  const Theme& theme = sketch.theme();
  double most = 0;
  for (const StackPart& part : cut_bar(theme, 0, 0).parts) most += part.value;
  std::vector<StackedBar> bars;
  for (const std::int64_t zero : {0, 1, 2, 3}) bars.push_back(cut_bar(theme, zero, most));
  return paint_stacked_bars(sketch, std::move(bars), at, width);
}

// ---- A step ----------------------------------------------------------------------------------------------

constexpr std::size_t kUnits = 4;
constexpr double kForward = 6, kBackward = 11, kGather = 4.4, kUpdate = 4;

/// A step with mesh.zero = 3 and mesh.prefetch = 1 in units of the picture. Gathers and reduce-scatters go
/// one behind the other; the next unit is gathered once this one is due.
class SharedStep {
 public:
  explicit SharedStep(const Theme& theme) : theme_(theme) {
    for (std::size_t i = 0; i < kUnits; ++i) units_[i].label = fmt::format("weights of {}", i + 1);
    gather(0);
    for (std::size_t i = 0; i < kUnits; ++i) {
      if (i + 1 < kUnits) gather(i + 1);
      compute(i, kForward, "forward");
      hold(i);
    }
    gather(kUnits - 1);
    for (std::size_t i = kUnits; i-- > 0;) {
      if (i > 0) gather(i - 1);
      compute(i, kBackward, "backward");
      hold(i);
      scatter(i);
    }
    const double begin = std::max(now_, link_);
    loop_.spans.push_back(stage_span(theme_, begin, begin + kUpdate, "optimize", ""));
    now_ = begin + kUpdate;
  }

  Gantt gantt() && {
    Gantt out{.rows = {std::move(loop_), std::move(network_)},
              .end = now_ * 1.01,
              .axis = "time",
              .has_ticks = false};
    for (GanttRow& row : units_) out.rows.push_back(std::move(row));
    return out;
  }

 private:
  void gather(std::size_t unit) {
    const double begin = std::max(link_, now_);
    link_ = begin + kGather;
    network_.spans.push_back(stage_span(theme_, begin, link_, "comm", std::to_string(unit + 1)));
    there_[unit] = link_;
    from_[unit] = begin;
  }
  void scatter(std::size_t unit) {
    const double begin = std::max(link_, now_);
    link_ = begin + kGather;
    network_.spans.push_back(stage_span(theme_, begin, link_, "copy", std::to_string(unit + 1)));
  }
  void compute(std::size_t unit, double length, const char* stage) {
    const double begin = std::max(now_, there_[unit]);
    now_ = begin + length;
    loop_.spans.push_back(stage_span(theme_, begin, now_, stage, std::to_string(unit + 1)));
  }
  void hold(std::size_t unit) {
    const StackPart look = memory_part(theme_, "weights", 0);
    units_[unit].spans.push_back({from_[unit], now_, "", look.colour});
  }

  const Theme& theme_;
  GanttRow loop_{"computing", {}}, network_{"messages", {}};
  std::array<GanttRow, kUnits> units_ = {};
  std::array<double, kUnits> there_ = {}, from_ = {};
  double now_ = 0, link_ = 0;
};

float paint_step(Sketch& sketch, PlotPoint at, float width) {
  const Theme& theme = sketch.theme();
  at.y = paint_gantt(sketch, SharedStep(theme).gantt(), at, width) + sketch.px(8);
  return sketch.legend(
      at, width,
      std::array{stage_entry(theme, "forward"), stage_entry(theme, "backward"),
                 stage_entry(theme, "optimize"), stage_entry(theme, "comm", "gather of a unit"),
                 stage_entry(theme, "copy", "reduce-scatter of its gradients"),
                 LegendEntry{"whole weights of a unit are there", memory_part(theme, "weights", 0).colour}});
}

// ---- Runs ------------------------------------------------------------------------------------------------

Drawing runs_together(std::string_view rule, const std::vector<ShownRun>& runs) {
  const bool is_of_memory = rule == "sends_and_holds" || rule == "peak_owner" || rule == "made_peak";
  return is_of_memory ? memory_together(runs) : Drawing{};
}

std::vector<LessonPicture> pictures() {
  return {
      {"idea",
       {"Who holds what of two buckets, over four ranks",
        "by count: parts of whole lines of 16 values, so that buckets of 110 and 70 values get padding",
        "Four groups of rows, one for each value of mesh.zero, with a row for each of four ranks: weights, "
        "gradients and moments, each of two buckets. With 0 every rank holds all of them. With 1 each rank "
        "holds its quarter of the moments of either bucket, with 2 its quarter of gradients and moments, "
        "with 3 of all three. The end of each bucket is padding, and in the second one a rank holds "
        "nothing but padding.",
        paint_owners}},
      {"bytes",
       {"Memory of a rank by mesh.zero",
        "by formula: 1.2 billion parameters, 8 ranks, 1 sample of 4050 tokens each, 16 bits",
        "Four stacked bars of bytes by category, one for each value of mesh.zero. From 0 to 1 the moments "
        "shrink to an eighth, from 1 to 2 the gradients, from 2 to 3 the weights. Activations and workspace "
        "are as long in all four, and communication appears with 2.",
        paint_bytes}},
      {"step",
       {"A step with mesh.zero = 3", "schematic: four units, one gathered ahead",
        "Rows over the time of a step: computing, messages, and for each of four units when its whole "
        "weights are there. Nothing computes until the first unit is gathered; each other gather of forward "
        "lies beside the computing of the unit before. Backward begins with a gather, too, takes the units "
        "in reverse order, and behind each of them its gradients are scattered. Weights of no more than two "
        "units are there at any moment.",
        paint_step}}};
}

const AddLessonView kView{{"13_zero", pictures, own_memory, {}, runs_together}};

}  // namespace
}  // namespace isobar::lesson_13
