// Lesson 06: replicas, and what travels between them.
#include <fmt/format.h>

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
    const std::array<std::string, 1> choices = {words[r]};
    if (alike) {
      sketch.pale(box, sketch.theme().series[series]);
      sketch.words_in(box, choices, sketch.theme().text);
      continue;
    }
    sketch.pale({box.x0, box.y0, box.x0 + sketch.px(16), box.y1}, sketch.theme().series[series], kHatches[r]);
    sketch.canvas().frame(box, sketch.theme().series[series]);
    sketch.words_in({box.x0 + sketch.px(16), box.y0, box.x1, box.y1}, choices, sketch.theme().text);
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
  const std::array<std::string, 2> words = {"all-reduce: each rank gets the mean g = (g0 + g1 + g2 + g3) / 4",
                                            "all-reduce: the mean g"};
  sketch.words_in(reduce, words, theme.text);
  at.y = reduce.y1;
  paint_replica_arrows(sketch, at, width, down);
  at.y = paint_replica_row(sketch, {at.x, at.y + down}, width, box, per_rank("update with g: the same w"), 6,
                           true);
  return sketch.words(
      {at.x, at.y + sketch.px(8)}, width,
      "Only gradients travel in a step, as many bytes as the model has weights: no samples, no activations.");
}

}  // namespace

Drawing replicas_picture() {
  return {"Four replicas of one model", "",
          "Four ranks side by side. Each holds all weights, takes samples of its own and works out a "
          "gradient. An all-reduce "
          "gives the mean of the four gradients to each of them, so that all make the same update and their "
          "weights stay equal.",
          paint_replicas};
}

}  // namespace isobar
