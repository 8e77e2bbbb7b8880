// Pictures: a matrix cut by columns, one cut by rows; and what a rank of a run keeps and sends by how many
// share the model.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analyse/run_prediction.h"
#include "core/text.h"
#include "formula/memory_plan.h"
#include "formula/model_shape.h"
#include "formula/tensor_parallel.h"
#include "plot/bars.h"
#include "plot/lesson_view.h"

namespace isobar::lesson_07 {
namespace {

constexpr std::array<Hatch, 2> kPartHatch = {Hatch::rising, Hatch::falling};

/// Where things stand in the lane of a rank, in parts of the width.
struct LanePlaces {
  float x = 0, width = 0, height = 0, top = 0;
  Box box(float from, float to, float y0 = 0, float y1 = 1) const {
    return {x + width * from, top + height * y0, x + width * to, top + height * y1};
  }
};

void matrix(Sketch& sketch, const Box& box, const Box& part, std::size_t series, Hatch hatch) {
  sketch.area(part, sketch.theme().series[series], hatch);
  sketch.canvas().frame(box, sketch.theme().dim);
}

Box part_of_columns(const Box& box, float from, float to) {
  return {box.x0 + box.width() * from, box.y0, box.x0 + box.width() * to, box.y1};
}

void below_matrix(Sketch& sketch, const LanePlaces& lane, float from, float to, const std::string& words) {
  const Box box = lane.box(from, to);
  const float more = sketch.px(16);
  sketch.words({box.x0 - more, box.y1 + sketch.px(4)}, box.width() + 2 * more, words,
               {.colour = sketch.theme().dim, .across = 0.5F});
}

void lane_arrow(Sketch& sketch, const LanePlaces& lane, float from, float to) {
  const float y = lane.top + lane.height / 2;
  sketch.arrow({lane.x + lane.width * from, y}, {lane.x + lane.width * to, y}, sketch.theme().text);
}

void paint_rank_lane(Sketch& sketch, const LanePlaces& lane, std::size_t rank) {
  const auto r = static_cast<float>(rank);
  const Hatch hatch = kPartHatch[rank];
  const std::size_t own = rank == 0 ? 1 : 6;
  const float low = r * 0.5F, high = low + 0.5F;
  const Theme& theme = sketch.theme();
  sketch.pale(lane.box(0.10F, 0.17F, 0.1F, 0.9F), theme.series[2]);  // x, whole
  lane_arrow(sketch, lane, 0.175F, 0.255F);
  const Box first = lane.box(0.26F, 0.42F, 0.2F, 0.8F);
  matrix(sketch, first, part_of_columns(first, low, high), own, hatch);
  lane_arrow(sketch, lane, 0.425F, 0.475F);
  const Box hidden = lane.box(0.48F, 0.60F, 0.1F, 0.9F);
  matrix(sketch, hidden, part_of_columns(hidden, low, high), own, hatch);
  lane_arrow(sketch, lane, 0.605F, 0.645F);
  const Box second = lane.box(0.65F, 0.73F, 0, 1);
  matrix(sketch, second,
         {second.x0, second.y0 + second.height() * low, second.x1, second.y0 + second.height() * high}, own,
         hatch);
  lane_arrow(sketch, lane, 0.735F, 0.795F);
  sketch.pale(lane.box(0.80F, 0.86F, 0.1F, 0.9F), theme.series[own], hatch);  // partial sum
  lane_arrow(sketch, lane, 0.865F, 0.925F);
  sketch.pale(lane.box(0.93F, 1, 0.1F, 0.9F), theme.series[2]);
  const Box label = lane.box(0, 0.09F);
  sketch.words({label.x0, (label.y0 + label.y1) / 2 - sketch.px(8)}, label.width(),
               fmt::format("rank {}", rank));
}

void exchange(Sketch& sketch, const LanePlaces& top, const LanePlaces& bottom, float at, const char* name) {
  const Theme& theme = sketch.theme();
  const float x = top.x + top.width * at, half = sketch.px(9);
  const Box box = {x - half, top.top - sketch.px(6), x + half, bottom.top + bottom.height + sketch.px(6)};
  sketch.pale(box, stage_colour(theme, "comm"));
  sketch.words_in({box.x0 - sketch.px(4), box.y0, box.x1 + sketch.px(4), box.y1},
                  std::array{std::string(name)}, theme.text, Face::bold);
}

float paint_split_layers(Sketch& sketch, PlotPoint at, float width) {
  const float height = sketch.px(74), gap = sketch.px(24);
  LanePlaces top{at.x, width, height, at.y + sketch.px(40)}, bottom = top;
  bottom.top = top.top + height + gap;
  const auto head = [&](float from, float to, const std::string& words) {
    const float x = at.x + width * from, wide = width * (to - from);
    const float high = sketch.words_height(words, Face::small, wide);
    sketch.words({x, top.top - sketch.px(8) - high}, wide, words,
                 {.colour = sketch.theme().dim, .across = 0.5F});
  };
  head(0.09F, 0.18F, "x");
  head(0.235F, 0.445F, "W1, by columns");
  head(0.465F, 0.605F, "hidden, GELU");
  head(0.615F, 0.755F, "W2, by rows");
  head(0.77F, 0.885F, "partial sum");
  head(0.92F, 1, "y");
  paint_rank_lane(sketch, top, 0);
  paint_rank_lane(sketch, bottom, 1);
  exchange(sketch, top, bottom, 0.215F, "f");
  exchange(sketch, top, bottom, 0.895F, "g");
  below_matrix(sketch, bottom, 0.10F, 0.17F, "R x E");
  below_matrix(sketch, bottom, 0.26F, 0.42F, "E x 4E");
  below_matrix(sketch, bottom, 0.48F, 0.60F, "R x 4E");
  below_matrix(sketch, bottom, 0.65F, 0.73F, "4E x E");
  below_matrix(sketch, bottom, 0.93F, 1, "R x E");
  at.y = bottom.top + height + sketch.px(32);
  for (const char* words :
       {"f: forward, nothing travels. Backward, an all-reduce adds up the ranks' gradients of x: R x E "
        "values.",
        "g: forward, an all-reduce adds up the partial sums: R x E values. Backward, nothing travels.",
        "R rows are the tokens of all samples of the model, E the width. Of an all-reduce of S bytes each of "
        "t ranks sends 2 (t - 1) / t S."})
    at.y = sketch.words({at.x, at.y}, width, words) + sketch.px(4);
  return at.y;
}

constexpr std::int64_t kMostShown = 8;

struct SplitCase {
  std::int64_t tp = 1;
  bool is_own = false;
  MemoryPlan plan;
  double wire_bytes = 0;
};

SplitCase split_case(const KnownSettings& known, std::int64_t tp, bool on_cuda) {
  Config config = known.config;
  const std::int64_t replicas = std::max<std::int64_t>(1, config.run.ranks / config.mesh.tp);
  config.run.ranks = replicas * tp;
  config.mesh.tp = tp;
  const MemoryFacts facts = memory_facts(config, on_cuda);
  const TensorParallelForm form{.tp = tp,
                                .samples = micro_batch(config) * config.train.accumulate,
                                .value_bytes = facts.value_bytes,
                                .gradient_bytes = facts.value_bytes,
                                .shares_tokens = config.mesh.sequence_parallel};
  return {tp, tp == known.config.mesh.tp, plan_memory(known.lesson, config, facts),
          tp > 1 ? tensor_parallel_wire_bytes(vit_shape(config), form) : 0};
}

float paint_split_cases(Sketch& sketch, const std::vector<SplitCase>& cases, PlotPoint at, float width) {
  double most = 0;
  for (const SplitCase& one : cases) most = std::max(most, static_cast<double>(one.plan.total()));
  std::vector<StackedBar> bars;
  for (const SplitCase& one : cases) {
    StackedBar& bar = bars.emplace_back(
        memory_bar(sketch.theme(), fmt::format("mesh.tp = {}{}", one.tp, one.is_own ? " (this run)" : ""),
                   one.plan.categories(), most));
    bar.total += one.tp == 1 ? " a rank; nothing goes through f and g"
                             : fmt::format(" a rank; {} a step through f and g",
                                           human_bytes(static_cast<std::uint64_t>(one.wire_bytes)));
  }
  return paint_stacked_bars(sketch, std::move(bars), at, width);
}

OwnPicture own_split_layers(const OwnRun& run) {
  const std::optional<KnownSettings> known = settings_of(run.folder, run.view().lesson);
  if (!known)
    return nothing_to_draw("the settings of the run are not of this version",
                           "make a run with ./isobar run 07_tensor_parallel");
  const bool on_cuda = run.view().device != "cpu";
  std::vector<SplitCase> cases;
  for (std::int64_t tp = 1; tp <= std::min(kMostShown, known->config.model.heads); tp *= 2) {
    if (known->config.model.heads % tp == 0) cases.push_back(split_case(*known, tp, on_cuda));
  }
  std::string alt = "Stacked bars of memory by category, one for each number of ranks that share the model:";
  for (const SplitCase& one : cases) alt += fmt::format(" {} at {},", human_bytes(one.plan.total()), one.tp);
  alt.back() = '.';
  return {{"Memory of a rank, and what goes through f and g, for the model of this run",
           fmt::format("by formula, for {}", printable(run.view().preset, 40)), alt,
           [cases](Sketch& sketch, PlotPoint at, float width) {
             return paint_split_cases(sketch, cases, at, width);
           }}};
}

std::vector<LessonPicture> pictures() {
  return {
      {"idea",
       {"One MLP on two ranks: the first matrix cut by columns, the second by rows",
        "hatched: what the rank holds or computes",
        "Two lanes, one a rank. Both hold x whole. Rank 0 has the left half of the columns of W1 and rank "
        "1 the right half, so each computes half of the hidden values. Rank 0 has the upper half of the "
        "rows of W2 and rank 1 the lower half, so each makes a partial sum of y. g adds the partial sums "
        "up in forward; f adds up the gradients of x in backward.",
        paint_split_layers}}};
}

const AddLessonView kView{{"07_tensor_parallel", pictures, own_split_layers}};

}  // namespace
}  // namespace isobar::lesson_07
