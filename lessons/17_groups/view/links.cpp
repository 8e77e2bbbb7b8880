#include "links.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/text.h"

namespace isobar::lesson_17 {
namespace {

constexpr float kCellMost = 34, kRowGap = 16;
constexpr std::array<std::size_t, 4> kModelSeries = {1, 6, 2, 4};

struct RankPlaces {
  PlotPoint corner;
  float wide = 0, high = 0, gap = 0, row_gap = 0;
  int per_node = 1;

  Box of(int rank) const {
    const auto column = static_cast<float>(rank % per_node), row = static_cast<float>(rank / per_node);
    const float x = corner.x + column * (wide + gap), y = corner.y + row * (high + row_gap);
    return {x, y, x + wide, y + high};
  }
};

/// From one rank to another of its group: within a row beside or below the cells, across rows right of them.
void paint_join(Sketch& sketch, const RankPlaces& places, int from, int to, bool is_tp) {
  const Colour colour = sketch.theme().text;
  const Dash dash = is_tp ? Dash::solid : Dash::dashed;
  const Box one = places.of(from), other = places.of(to);
  const float middle = (one.y0 + one.y1) / 2;
  const bool is_odd = from / places.per_node % 2 == 1;  // beside the line of the row above
  const float aside = sketch.px(!is_tp ? 11 : is_odd ? 7 : 3);
  const auto path = [&](std::initializer_list<PlotPoint> points) {
    for (const PlotPoint* at = points.begin(); at + 1 < points.end(); ++at)
      sketch.line(at[0], at[1], colour, is_tp ? 2.5F : 1.5F, dash);
  };
  if (from / places.per_node != to / places.per_node) {
    const float end = (other.y0 + other.y1) / 2, x = one.x1 + aside;
    return path({{one.x1, middle + aside / 3},
                 {x, middle + aside / 3},
                 {x, end - aside / 3},
                 {other.x1, end - aside / 3}});
  }
  if (to == from + 1) return path({{one.x1, middle}, {other.x0, middle}});
  const auto odd = static_cast<float>(from % 2);
  const float below = one.y1 + sketch.px(4 + 4 * odd), shift = odd * sketch.px(6);
  path({{(one.x0 + one.x1) / 2 + shift, one.y1},
        {(one.x0 + one.x1) / 2 + shift, below},
        {(other.x0 + other.x1) / 2 + shift, below},
        {(other.x0 + other.x1) / 2 + shift, other.y1}});
}

/// Grids of letters, one an axis.
float paint_letters(Sketch& sketch, const Mesh& mesh, int per_node, PlotPoint at) {
  for (const char* const axis : {"tp", "cp"}) {
    const std::vector<std::vector<int>> groups = mesh.groups(axis);
    for (int first = 0; first < mesh.world(); first += per_node) {
      std::string line = fmt::format("{} ", first == 0 ? axis : "  ");
      for (int rank = first; rank < std::min(first + per_node, mesh.world()); ++rank) {
        const auto found = std::ranges::find_if(
            groups, [&](const auto& group) { return std::ranges::count(group, rank) > 0; });
        line += fmt::format(" {}{}", rank, static_cast<char>('A' + (found - groups.begin()) % 26));
      }
      sketch.canvas().text(at.x, at.y, line, Face::small, sketch.theme().text);
      at.y += sketch.px(16);
    }
  }
  return at.y;
}

}  // namespace

// With pp this counts the way forward alone; analyse/mesh_figures.cpp, behind show --mesh, counts both ways
// and halves what a rank sends between them.
double leaves_node(const Mesh& mesh, const std::string& axis, double bytes, int per_node) {
  double out = 0;
  for (const std::vector<int>& group : mesh.groups(axis)) {
    const std::size_t last = axis == "pp" ? group.size() - 1 : group.size();
    for (std::size_t i = 0; i < last; ++i)
      if (group[i] / per_node != group[(i + 1) % group.size()] / per_node) out += bytes;
  }
  return out / std::ceil(static_cast<double>(mesh.world()) / per_node);
}

double leave_node(const Mesh& mesh, const AxisBytesSent& bytes, int per_node) {
  double out = 0;
  for (const auto& [axis, sent] : bytes) out += leaves_node(mesh, axis, sent, per_node);
  return out;
}

float paint_joined_ranks(Sketch& sketch, const Mesh& mesh, int per_node, PlotPoint at, float width) {
  if (sketch.is_text()) return paint_letters(sketch, mesh, per_node, at);
  const Theme& theme = sketch.theme();
  const float gap = sketch.px(14), frame = sketch.px(6);
  const auto columns = static_cast<float>(per_node);
  const float wide = std::min(sketch.px(kCellMost), (width - 2 * frame - gap * columns) / columns);
  const RankPlaces places{{at.x + frame, at.y + frame}, wide,    wide * 0.7F, gap,
                          sketch.px(kRowGap) + frame,   per_node};
  const std::vector<std::vector<int>> models = mesh.groups("tp-cp-pp");
  for (int rank = 0; rank < mesh.world(); rank += per_node) {
    const Box first = places.of(rank), last = places.of(std::min(rank + per_node, mesh.world()) - 1);
    const Box node = {first.x0 - frame, first.y0 - frame, last.x1 + gap, last.y1 + sketch.px(11)};
    sketch.canvas().fill(node, theme.raised, sketch.px(4));
  }
  for (const char* const axis : {"cp", "tp"})
    for (const std::vector<int>& group : mesh.groups(axis))
      for (std::size_t i = 0; i + 1 < group.size(); ++i)
        paint_join(sketch, places, group[i], group[i + 1], std::string_view(axis) == "tp");
  for (std::size_t model = 0; model < models.size(); ++model)
    for (const int rank : models[model]) {
      const Box box = places.of(rank);
      sketch.pale(box, theme.series[kModelSeries.at(model % kModelSeries.size())]);
      sketch.words_in(box, std::array{std::to_string(rank)}, theme.text);
    }
  return places.of(mesh.world() - 1).y1 + sketch.px(20);
}

float paint_joined_legend(Sketch& sketch, PlotPoint at, float width) {
  const Colour text = sketch.theme().text;
  if (!sketch.is_text())
    at.y = sketch.legend(at, width,
                         std::array{LegendEntry{.words = "tp", .colour = text, .line = Dash::solid},
                                    LegendEntry{.words = "cp", .colour = text, .line = Dash::dashed}});
  return sketch.words(at, width,
                      sketch.is_text() ? "a row: a node; a letter: ranks of one group"
                                       : "a row: a node; a colour: ranks of one model",
                      {.colour = sketch.theme().dim});
}

}  // namespace isobar::lesson_17
