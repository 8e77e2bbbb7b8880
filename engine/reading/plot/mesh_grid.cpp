// The grid of ranks of a mesh: a row a node, a cell a rank.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>

#include "core/text.h"
#include "plot/mesh_picture.h"

namespace isobar {
namespace {

constexpr float kMeshCellWide = 52, kMeshCellHigh = 34, kMeshLeastCell = 30, kMeshNodeGap = 8;
constexpr int kMostMeshColumns = 16, kMostMeshRows = 16;

/// "A", ..., "Z", "AA", ...
std::string group_letters(std::size_t group) {
  std::string out;
  for (std::size_t left = group + 1; left > 0; left = (left - 1) / 26)
    out.insert(out.begin(), static_cast<char>('A' + (left - 1) % 26));
  return out;
}

Colour node_colour(const Theme& theme, int node) {
  constexpr std::array<std::size_t, 6> kSeries = {7, 5, 4, 6, 2, 3};
  return theme.series[kSeries[static_cast<std::size_t>(node) % kSeries.size()]];
}

/// Rows of ranks; a node with many has several.
struct GridRow {
  int node = 0;
  bool is_first = true;  ///< row of its node
  std::vector<int> ranks = {};
};

struct MeshGrid {
  std::vector<GridRow> rows = {};
  std::size_t columns = 1;
  int nodes_left_out = 0;
};

MeshGrid grid_of(const MeshFigures& mesh) {
  MeshGrid out;
  std::map<int, std::vector<int>> by_node;
  for (int rank = 0; rank < mesh.world; ++rank)
    by_node[mesh.nodes.of_rank[static_cast<std::size_t>(rank)]].push_back(rank);
  for (const auto& [node, ranks] : by_node) {
    if (std::ssize(out.rows) >= kMostMeshRows) {
      ++out.nodes_left_out;
      continue;
    }
    for (std::size_t i = 0; i < ranks.size(); i += kMostMeshColumns) {
      if (std::ssize(out.rows) >= kMostMeshRows) break;
      const std::size_t end = std::min(ranks.size(), i + kMostMeshColumns);
      out.rows.push_back({node, i == 0, {&ranks[i], &ranks[i] + (end - i)}});
      out.columns = std::max(out.columns, end - i);
    }
  }
  return out;
}

struct GridPlaces {
  MeshGrid grid;
  float labels = 0;  ///< width of the names of nodes
  float wide = 0, high = 0, gap = 0;
  std::vector<float> tops = {};  ///< tops of rows, behind one another
  float bottom = 0;
};

float labels_width(const Sketch& sketch, const MeshFigures& mesh) {
  float out = 0;
  for (int node = 0; node < std::min(mesh.nodes.count(), kMostMeshRows); ++node)
    out = std::max(out, sketch.text_width(printable(mesh.nodes.name(node), 14)));
  return out + sketch.px(10);
}

std::string cell_words(const AxisFigures* axis, int rank) {
  return axis == nullptr ? std::to_string(rank)
                         : fmt::format("{}{}", rank, group_letters(axis->group_of(rank)));
}

/// The width of a cell that its widest words need.
float cell_width(const Sketch& sketch, const MeshFigures& mesh, const AxisFigures* axis) {
  if (axis == nullptr) return sketch.text_width(std::to_string(mesh.world - 1)) + sketch.px(8);
  const std::string widest = fmt::format("{}{}", mesh.world - 1, group_letters(axis->groups.size() - 1));
  return sketch.text_width(widest) + sketch.px(sketch.is_text() ? 8 : 14);
}

GridPlaces grid_places(Sketch& sketch, const MeshFigures& mesh, const AxisFigures* axis, PlotPoint at,
                       float width) {
  GridPlaces out{.grid = grid_of(mesh)};
  out.labels = labels_width(sketch, mesh);
  const float room = (width - out.labels) / static_cast<float>(out.grid.columns);
  const float needs = cell_width(sketch, mesh, axis);
  out.wide = sketch.is_text() ? needs
                              : std::clamp(room, std::max(needs, sketch.px(kMeshLeastCell)),
                                           std::max(needs, sketch.px(kMeshCellWide)));
  out.high = sketch.is_text() ? sketch.px(16) : std::min(sketch.px(kMeshCellHigh), out.wide * 0.72F);
  out.gap = sketch.is_text() ? 0 : sketch.px(kMeshNodeGap);
  float y = at.y;
  for (const GridRow& row : out.grid.rows) {
    if (row.is_first && !out.tops.empty()) y += out.gap;
    out.tops.push_back(y);
    y += out.high;
  }
  out.bottom = y;
  return out;
}

/// The cells above, below and beside one of a grid that are of its group.
struct Joins {
  bool left = false, right = false, up = false, down = false;
};

class GroupOutline {
 public:
  GroupOutline(Sketch& sketch, const GridPlaces& places, const AxisFigures& axis, float x)
      : sketch_(sketch), places_(places), axis_(axis), x_(x) {}

  Box cell(std::size_t row, std::size_t column) const {
    const float x0 = x_ + places_.wide * static_cast<float>(column), y0 = places_.tops[row];
    return {x0, y0, x0 + places_.wide, y0 + places_.high};
  }

  void paint(Colour colour) const {
    for (std::size_t row = 0; row < places_.grid.rows.size(); ++row)
      for (std::size_t column = 0; column < places_.grid.rows[row].ranks.size(); ++column)
        paint_edges(row, column, colour);
  }

 private:
  std::size_t group_at(std::size_t row, std::size_t column) const {
    if (row >= places_.grid.rows.size() || column >= places_.grid.rows[row].ranks.size())
      return axis_.groups.size();
    return axis_.group_of(places_.grid.rows[row].ranks[column]);
  }

  /// Edges where the neighbour is of another group, as far as into the gaps where it is of this one.
  void paint_edges(std::size_t row, std::size_t column, Colour colour) const {
    const std::size_t mine = group_at(row, column);
    const Joins joins{.left = column > 0 && group_at(row, column - 1) == mine,
                      .right = group_at(row, column + 1) == mine,
                      .up = row > 0 && group_at(row - 1, column) == mine,
                      .down = group_at(row + 1, column) == mine};
    const Box box = cell(row, column);
    const float in = sketch_.px(2.5F);
    const float x0 = box.x0 + (joins.left ? 0 : in), x1 = box.x1 - (joins.right ? 0 : in);
    const float y0 = box.y0 + (joins.up ? 0 : in), y1 = joins.down ? places_.tops[row + 1] : box.y1 - in;
    const auto edge = [&](PlotPoint from, PlotPoint to) { sketch_.line(from, to, colour, 2); };
    if (!joins.up) edge({x0, y0}, {x1, y0});
    if (!joins.down) edge({x0, y1}, {x1, y1});
    if (!joins.left) edge({x0, y0}, {x0, y1});
    if (!joins.right) edge({x1, y0}, {x1, y1});
  }

  Sketch& sketch_;
  const GridPlaces& places_;
  const AxisFigures& axis_;
  float x_;
};

void paint_cells(Sketch& sketch, const MeshFigures& mesh, const AxisFigures* axis, const GridPlaces& places,
                 float x, int marked, MeshArea* area) {
  const Theme& theme = sketch.theme();
  const std::size_t group =
      axis == nullptr || marked < 0 || marked >= mesh.world ? SIZE_MAX : axis->group_of(marked);
  for (std::size_t row = 0; row < places.grid.rows.size(); ++row) {
    const GridRow& line = places.grid.rows[row];
    for (std::size_t column = 0; column < line.ranks.size(); ++column) {
      const int rank = line.ranks[column];
      const float x0 = x + places.wide * static_cast<float>(column), y0 = places.tops[row];
      const Box box = {x0, y0, x0 + places.wide, y0 + places.high};
      const bool is_marked = axis != nullptr && group != SIZE_MAX && axis->group_of(rank) == group;
      if (!sketch.is_text()) {
        const Colour colour = node_colour(theme, line.node);
        sketch.canvas().fill(box, mixed(theme.panel, colour, is_marked ? 0.62F : 0.24F));
        sketch.canvas().frame(box, mixed(theme.panel, colour, 0.45F));
      }
      const float y =
          sketch.is_text() ? y0 : (box.y0 + box.y1 - sketch.canvas().line_height(Face::small)) / 2;
      sketch.canvas().text((box.x0 + box.x1) / 2, y, cell_words(axis, rank), Face::small, theme.text, 0.5F);
      if (area != nullptr) area->cells.push_back({box, rank});
    }
  }
}

}  // namespace

std::string mesh_grid_title(const AxisFigures& axis) {
  return fmt::format("{}: {} of {}{}", axis.name, counted(std::ssize(axis.groups), "group"), axis.size,
                     axis.problem.empty() ? "" : " (!)");
}

float mesh_grid_width(const Sketch& sketch, const MeshFigures& mesh, const AxisFigures& axis) {
  const float least = sketch.is_text() ? 0 : sketch.px(kMeshLeastCell);
  const float cell = std::max(cell_width(sketch, mesh, &axis), least);
  return std::max(labels_width(sketch, mesh) + cell * static_cast<float>(grid_of(mesh).columns),
                  sketch.text_width(mesh_grid_title(axis), Face::bold));
}

std::optional<int> MeshArea::rank_at(PlotPoint at) const {
  for (const Cell& cell : cells)
    if (cell.box.contains(at)) return cell.rank;
  return std::nullopt;
}

float paint_mesh_grid(Sketch& sketch, const MeshFigures& mesh, std::string_view axis, PlotPoint at,
                      float width, int marked, MeshArea* area) {
  const AxisFigures* const shown = mesh.find(axis);
  if (sketch.is_text()) at.y = std::round(at.y / sketch.px(16)) * sketch.px(16);
  const GridPlaces places = grid_places(sketch, mesh, shown, at, width);
  const float x = at.x + places.labels;
  for (std::size_t row = 0; row < places.grid.rows.size(); ++row) {
    const GridRow& line = places.grid.rows[row];
    if (!line.is_first) continue;
    const float y = sketch.is_text()
                        ? places.tops[row]
                        : places.tops[row] + (places.high - sketch.canvas().line_height(Face::small)) / 2;
    paint_fitted(sketch.canvas(), at.x, y, places.labels - sketch.px(6),
                 printable(mesh.nodes.name(line.node), 14), Face::small, sketch.theme().dim);
  }
  paint_cells(sketch, mesh, shown, places, x, marked, area);
  if (shown != nullptr && !sketch.is_text())
    GroupOutline(sketch, places, *shown, x)
        .paint(shown->problem.empty() ? sketch.theme().text : sketch.theme().bad);
  float y = places.bottom + sketch.px(4);
  if (places.grid.nodes_left_out > 0)
    y = sketch.words({at.x, y}, width, fmt::format("{} more nodes are left out", places.grid.nodes_left_out),
                     {.colour = sketch.theme().dim});
  return y;
}

}  // namespace isobar
