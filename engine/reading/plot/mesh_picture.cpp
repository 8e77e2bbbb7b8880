#include "plot/mesh_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "core/text.h"
#include "plot/bars.h"

namespace isobar {
namespace {

constexpr float kMeshGridGap = 28, kMeshTableRow = 22, kMeshPairFrom = 820;

std::string bytes_words(double bytes) { return human_bytes(static_cast<std::uint64_t>(std::llround(bytes))); }

struct AxisLook {
  const char* axis;
  std::size_t series;
  Hatch hatch;
};
constexpr std::array<AxisLook, 8> kAxisLooks = {{{"tp", 1, Hatch::none},
                                                 {"cp", 2, Hatch::rising},
                                                 {"pp", 3, Hatch::dots},
                                                 {"dp", 0, Hatch::falling},
                                                 {"shard", 4, Hatch::crossed},
                                                 {"copies", 0, Hatch::falling},
                                                 {"ens", 5, Hatch::level},
                                                 {"read", 6, Hatch::dots}}};

const AxisLook& look_of_axis(std::string_view axis) {
  const auto* const found =
      std::ranges::find_if(kAxisLooks, [&](const AxisLook& look) { return look.axis == axis; });
  return found == kAxisLooks.end() ? kAxisLooks.front() : *found;
}

}  // namespace

// ---- The table -------------------------------------------------------------------------------------------

namespace {

std::string where_words(const MeshFigures& mesh, const AxisFigures& axis) {
  if (mesh.nodes.count() == 1) return "one node";
  if (axis.across == 0) return "inside";
  if (axis.across == std::ssize(axis.groups)) return "across";
  return fmt::format("across, {} of {}", axis.across, axis.groups.size());
}

std::string number_words(std::optional<double> value) { return value ? fmt::format("{:.6g}", *value) : "-"; }

/// Cells of a row; the first and the last are words, the others numbers.
using MeshRow = std::vector<std::string>;

std::vector<MeshRow> table_rows(const MeshFigures& mesh) {
  std::vector<MeshRow> out = {{"axis", "groups", "calls", "sends"}};
  if (mesh.is_measured) out.front().emplace_back("counted");
  out.front().emplace_back("nodes");
  for (const AxisFigures& axis : mesh.axes) {
    MeshRow row = {axis.name, fmt::format("{} x {}", axis.groups.size(), axis.size), number_words(axis.calls),
                   bytes_words(axis.bytes)};
    if (mesh.is_measured)
      row.push_back(axis.measured_bytes ? bytes_words(*axis.measured_bytes) : std::string("-"));
    row.push_back(where_words(mesh, axis) + (axis.problem.empty() ? "" : " (!)"));
    out.push_back(std::move(row));
  }
  return out;
}

float paint_mesh_table(Sketch& sketch, const MeshFigures& mesh, PlotPoint at, float width) {
  const Theme& theme = sketch.theme();
  const std::vector<MeshRow> rows = table_rows(mesh);
  const std::size_t columns = rows.front().size();
  std::vector<float> widths(columns, 0);
  for (const MeshRow& row : rows)
    for (std::size_t i = 0; i < columns; ++i) widths[i] = std::max(widths[i], sketch.text_width(row[i]));
  const float swatch = sketch.px(26);
  float all = swatch;
  for (const float one : widths) all += one;
  const float gap = std::clamp((width - all) / static_cast<float>(columns - 1), sketch.px(10), sketch.px(28));
  const float high = sketch.is_text() ? sketch.px(16) : sketch.px(kMeshTableRow);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool is_bad = i > 0 && !mesh.axes[i - 1].problem.empty();
    if (i > 0) {
      const AxisLook& look = look_of_axis(mesh.axes[i - 1].name);
      sketch.area({at.x, at.y + sketch.px(2), at.x + sketch.px(18), at.y + sketch.px(14)},
                  theme.series[look.series], look.hatch);
    }
    float x = at.x + swatch;
    for (std::size_t k = 0; k < columns; ++k) {
      const bool is_words = k == 0 || k + 1 == columns;
      const Colour colour = i == 0 ? theme.dim : is_bad && k + 1 == columns ? theme.bad : theme.text;
      sketch.canvas().text(is_words ? x : x + widths[k], at.y, rows[i][k], Face::small, colour,
                           is_words ? 0.0F : 1.0F);
      x += widths[k] + gap;
    }
    at.y += high;
  }
  return at.y;
}

// ---- Links -----------------------------------------------------------------------------------------------

StackedBar load_bar(const Theme& theme, const MeshFigures& mesh, const LinkLoad& load,
                    const std::string& name) {
  StackedBar out{.title = name};
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < load.by_axis.size(); ++i) {
    const AxisLook& look = look_of_axis(mesh.axes[i].name);
    out.parts.push_back({mesh.axes[i].name, load.by_axis[i], bytes_words(load.by_axis[i]),
                         theme.series[look.series], look.hatch});
    if (load.by_axis[i] > 0)
      parts.push_back(fmt::format("{} {}", mesh.axes[i].name, bytes_words(load.by_axis[i])));
  }
  out.total = load.total() > 0 ? bytes_words(load.total()) : "nothing";
  if (parts.size() > 1) out.total += " (" + joined(parts) + ")";
  out.has_rows = false;
  return out;
}

}  // namespace

float paint_mesh_loads(Sketch& sketch, const MeshFigures& mesh, PlotPoint at, float width) {
  const LinkLoad inside = mesh.inside(), between = mesh.between();
  const double most = std::max(inside.total(), between.total());
  const bool is_large = most > 1e9;
  std::vector<StackedBar> bars = {load_bar(sketch.theme(), mesh, inside, "Inside a node, all its ranks")};
  if (mesh.nodes.count() > 1)
    bars.push_back(load_bar(sketch.theme(), mesh, between, "From a node to others, all its ranks"));
  for (StackedBar& bar : bars) {
    bar.most = most;
    bar.unit = is_large ? 1e9 : 1e6;
    bar.axis = is_large ? "GB a step" : "MB a step";
    at.y = paint_stacked_bar(sketch, bar, at, width) + sketch.px(6);
  }
  return at.y;
}

// ---- Together --------------------------------------------------------------------------------------------

namespace {

std::string head_of_mesh(const MeshFigures& mesh) {
  std::vector<std::string> sizes;
  for (const AxisFigures& axis : mesh.axes)
    if (axis.name != "ens" && axis.name != "read")
      sizes.push_back(fmt::format("{} {}", axis.name, axis.size));
  return fmt::format("{} on {}: {}; mesh.order = {}", counted(mesh.world, "rank"),
                     counted(mesh.nodes.count(), "node"), joined(sizes, " x "), printable(mesh.order, 40));
}

/// Beside each other as far as they fit, in rows.
float paint_grids(Sketch& sketch, const MeshFigures& mesh, const MeshStyle& style, PlotPoint at, float width,
                  MeshArea* area) {
  std::vector<const AxisFigures*> shown;
  for (const AxisFigures& one : mesh.axes)
    if (style.axis.empty() || one.name == style.axis) shown.push_back(&one);
  const float gap = sketch.px(sketch.is_text() ? 24 : kMeshGridGap);
  float needs = 0;
  for (const AxisFigures* axis : shown) needs = std::max(needs, mesh_grid_width(sketch, mesh, *axis));
  const auto fit = static_cast<std::size_t>(std::max(1.0F, std::floor((width + gap) / (needs + gap))));
  const std::size_t columns = std::min(fit, shown.size());
  float each = (width - gap * static_cast<float>(columns - 1)) / static_cast<float>(columns);
  if (sketch.is_text()) each = std::floor(each / sketch.px(8)) * sketch.px(8);
  for (std::size_t i = 0; i < shown.size(); i += columns) {
    float bottom = at.y;
    for (std::size_t k = i; k < std::min(shown.size(), i + columns); ++k) {
      const PlotPoint corner{at.x + static_cast<float>(k - i) * (each + gap), at.y};
      const bool is_bad = !shown[k]->problem.empty();
      const float y =
          sketch.words(corner, each, mesh_grid_title(*shown[k]),
                       {.face = Face::bold, .colour = is_bad ? sketch.theme().bad : sketch.theme().text});
      bottom = std::max(bottom, paint_mesh_grid(sketch, mesh, shown[k]->name, {corner.x, y + sketch.px(4)},
                                                each, style.marked, area));
    }
    at.y = bottom + sketch.px(10);
  }
  return at.y;
}

std::string legend_words(const Sketch& sketch) {
  return std::string(sketch.is_text() ? "A row is a node" : "Colour: node") +
         "; number: rank; letter: its group along the axis. sends: bytes that a rank sends in a step, by "
         "formula; counted: what the ranks of the run sent";
}

std::string alt_of_mesh(const MeshFigures& mesh) {
  std::string out = head_of_mesh(mesh) + ".";
  for (const AxisFigures& axis : mesh.axes) out += " " + axis_sentence(mesh, axis) + ".";
  for (const std::string& sentence : mesh_sentences(mesh)) out += " " + sentence_case(sentence + ".");
  const LinkLoad inside = mesh.inside(), between = mesh.between();
  return out + fmt::format(" The busiest node sends {} inside and {} to others in a step.",
                           bytes_words(inside.total()), bytes_words(between.total()));
}

}  // namespace

float paint_mesh(Sketch& sketch, const MeshFigures& mesh, PlotPoint at, float width, const MeshStyle& style,
                 MeshArea* area) {
  if (area != nullptr) area->cells.clear();
  at.y = sketch.words(at, width, head_of_mesh(mesh)) + sketch.px(8);
  at.y = paint_grids(sketch, mesh, style, at, width, area) + sketch.px(4);
  if (!style.has_bytes) return at.y;
  const auto table = [&](PlotPoint from, float wide) {
    return paint_mesh_table(sketch, mesh, from, wide) + sketch.px(10);
  };
  const auto loads = [&](PlotPoint from, float wide) { return paint_mesh_loads(sketch, mesh, from, wide); };
  at.y = paint_pair(sketch, at, width, kMeshPairFrom, table, loads);
  return sketch.words(at, width, legend_words(sketch), {.colour = sketch.theme().dim});
}

Drawing mesh_drawing(const MeshFigures& mesh, const std::string& title, const std::string& note,
                     std::string_view axis) {
  Drawing out{.title = title, .note = note, .alt = alt_of_mesh(mesh), .body = {}};
  if (mesh.axes.empty()) return out;
  out.body = [mesh, name = std::string(axis)](Sketch& sketch, PlotPoint at, float width) {
    return paint_mesh(sketch, mesh, at, width, {.axis = name});
  };
  return out;
}

std::string rank_words(const MeshFigures& mesh, int rank) {
  constexpr std::size_t kMostNamed = 12;
  std::vector<std::string> parts;
  for (const AxisFigures& axis : mesh.axes) {
    std::vector<int> others = axis.groups.at(axis.group_of(rank));
    std::erase(others, rank);
    const std::size_t more = others.size() - std::min(kMostNamed, others.size());
    others.resize(others.size() - more);
    parts.push_back(fmt::format("{} with {}{}", axis.name, joined(others),
                                more > 0 ? fmt::format(" and {} more", more) : ""));
  }
  return fmt::format("rank {} on {}: {}", rank,
                     printable(mesh.nodes.name(mesh.nodes.of_rank.at(static_cast<std::size_t>(rank))), 40),
                     joined(parts, "; "));
}

std::string mesh_csv(const MeshFigures& mesh) {
  std::string out = "axis,groups,size,across,calls,bytes,counted_calls,counted_bytes\n";
  const auto cell = [](std::optional<double> value) { return value ? fmt::format("{:.0f}", *value) : ""; };
  for (const AxisFigures& axis : mesh.axes)
    out += fmt::format("{},{},{},{},{},{:.0f},{},{}\n", axis.name, axis.groups.size(), axis.size, axis.across,
                       cell(axis.calls), axis.bytes, cell(axis.measured_calls), cell(axis.measured_bytes));
  return out;
}

}  // namespace isobar
