// Lessons 06 and 07: replicas and what travels between them; a matrix cut by columns, one cut by rows.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "draw/pictures/pictures.h"

namespace isobar {
namespace {

constexpr int kReplicas = 4;

float paint_replica_row(Sketch& sketch, PlotPoint at, float width, float height,
                        const std::array<std::string, kReplicas>& words, std::size_t series, bool alike) {
  static constexpr std::array<Hatch, kReplicas> kHatches = {Hatch::none, Hatch::rising, Hatch::falling,
                                                            Hatch::level};
  const float gap = sketch.px(12), wide = (width - gap * (kReplicas - 1)) / kReplicas;
  for (std::size_t r = 0; r < kReplicas; ++r) {
    const float x = at.x + static_cast<float>(r) * (wide + gap);
    const Box box = {x, at.y, x + wide, at.y + height};
    if (alike) {
      sketch.pale(box, sketch.theme().series[series]);
      sketch.words_in(box, std::array{words[r]}, sketch.theme().text);
      continue;
    }
    sketch.pale({box.x0, box.y0, box.x0 + sketch.px(16), box.y1}, sketch.theme().series[series], kHatches[r]);
    sketch.canvas().frame(box, sketch.theme().series[series]);
    sketch.words_in({box.x0 + sketch.px(16), box.y0, box.x1, box.y1}, std::array{words[r]},
                    sketch.theme().text);
  }
  return at.y + height;
}

void paint_replica_arrows(Sketch& sketch, PlotPoint at, float width, float length) {
  const float gap = sketch.px(12), wide = (width - gap * (kReplicas - 1)) / kReplicas;
  for (int r = 0; r < kReplicas; ++r) {
    const float x = at.x + static_cast<float>(r) * (wide + gap) + wide / 2;
    sketch.arrow({x, at.y + sketch.px(2)}, {x, at.y + length - sketch.px(2)}, sketch.theme().text);
  }
}

std::array<std::string, kReplicas> per_rank(const char* text) {
  std::array<std::string, kReplicas> out;
  for (std::size_t r = 0; r < kReplicas; ++r) out[r] = fmt::format(fmt::runtime(text), r);
  return out;
}

float paint_replicas(Sketch& sketch, PlotPoint at, float width) {
  const Theme& theme = sketch.theme();
  const float down = sketch.px(24), box = sketch.px(38);
  at.y =
      sketch.words(at, width, "Once, at the start: rank 0 sends its weights to all.", {.colour = theme.dim}) +
      sketch.px(4);
  at.y = paint_replica_row(sketch, at, width, box, per_rank("rank {}: all weights w"), 6, true);
  paint_replica_arrows(sketch, at, width, down);
  at.y = paint_replica_row(sketch, {at.x, at.y + down}, width, box, per_rank("its own samples"), 1, false);
  paint_replica_arrows(sketch, at, width, down);
  at.y = paint_replica_row(sketch, {at.x, at.y + down}, width, box, per_rank("its gradient g{}"), 4, false);
  paint_replica_arrows(sketch, at, width, down);
  const Box reduce = {at.x, at.y + down, at.x + width, at.y + down + sketch.px(40)};
  sketch.pale(reduce, stage_colour(theme, "comm"), Hatch::none);
  sketch.words_in(
      reduce,
      std::array<std::string, 2>{"all-reduce: each rank gets the mean g = (g0 + g1 + g2 + g3) / 4",
                                 "all-reduce: the mean g"},
      theme.text);
  at.y = reduce.y1;
  paint_replica_arrows(sketch, at, width, down);
  at.y = paint_replica_row(sketch, {at.x, at.y + down}, width, box, per_rank("update with g: the same w"), 6,
                           true);
  return sketch.words(
      {at.x, at.y + sketch.px(8)}, width,
      "Only gradients travel in a step, as many bytes as the model has weights: no samples, no activations.");
}

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

}  // namespace

std::vector<LessonPicture> replicas_pictures() {
  return {
      {"06_ddp",
       "idea",
       {"Four replicas of one model", "",
        "Four ranks side by side. Each holds all weights, takes samples of its own and works out a "
        "gradient. An all-reduce gives the mean of the four gradients to each of them, so that all make "
        "the same update and their weights stay equal.",
        paint_replicas}},
      {"07_tensor_parallel",
       "idea",
       {"One MLP on two ranks: the first matrix cut by columns, the second by rows",
        "hatched: what the rank holds or computes",
        "Two lanes, one a rank. Both hold x whole. Rank 0 has the left half of the columns of W1 and rank "
        "1 the right half, so each computes half of the hidden values. Rank 0 has the upper half of the "
        "rows of W2 and rank 1 the lower half, so each makes a partial sum of y. g adds the partial sums "
        "up in forward; f adds up the gradients of x in backward.",
        paint_split_layers}}};
}

}  // namespace isobar
