// Pictures: groups on two nodes, one mesh in two orders, bands over chunks, and the two terms of CRPS. Of a
// run its mesh; of choices, meshes as grids of ranks.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "analyse/mesh_figures.h"
#include "analyse/ranks.h"
#include "config/load.h"
#include "core/error.h"
#include "core/text.h"
#include "links.h"
#include "plot/bars.h"
#include "plot/lesson_view.h"
#include "plot/memory_picture.h"
#include "plot/mesh_picture.h"

namespace isobar::lesson_17 {
namespace {

// ---- Groups ----------------------------------------------------------------------------------------------

constexpr int kIdeaRanks = 8, kIdeaNode = 4, kIdeaModel = 2;

/// A rank, with the band of latitudes that it reads.
void paint_reader(Sketch& sketch, const Box& box, int rank) {
  const Theme& theme = sketch.theme();
  const int band = rank % kIdeaModel;
  const float high = box.height() / kIdeaModel;
  const Box own = {box.x0, box.y0 + high * static_cast<float>(band), box.x1,
                   box.y0 + high * static_cast<float>(band + 1)};
  sketch.canvas().fill(box, theme.panel);
  if (!sketch.is_text()) sketch.canvas().fill(own, mixed(theme.panel, theme.series[1], 0.55F));
  sketch.canvas().frame(box, theme.dim);
  sketch.words_in(box, std::array{std::to_string(rank)}, theme.text);
}

void paint_idea_node(Sketch& sketch, int node, PlotPoint at, float width) {
  const Theme& theme = sketch.theme();
  const float pad = sketch.px(10), head = sketch.px(20), cell = (width - 8 * pad) / kIdeaNode;
  const float high = sketch.px(46);
  const Box frame = {at.x, at.y, at.x + width, at.y + head + high + 4 * pad};
  sketch.canvas().fill(frame, theme.raised, sketch.px(4));
  sketch.words({at.x + pad, at.y + sketch.px(4)}, width, fmt::format("node {}: ensemble {}", node, node));
  const Box ensemble = {at.x + pad / 2, at.y + head + pad / 2, at.x + width - pad / 2, frame.y1 - pad / 2};
  paint_outline(sketch.canvas(), ensemble, theme.accent, sketch.px(2), Dash::dashed);
  for (int i = 0; i < kIdeaNode; ++i) {
    const float x =
        at.x + 2 * pad + static_cast<float>(i) * (cell + pad) + static_cast<float>(i / kIdeaModel) * pad;
    const Box box = {x, at.y + head + 2 * pad, x + cell, at.y + head + 2 * pad + high};
    paint_reader(sketch, box, node * kIdeaNode + i);
    if (i % kIdeaModel == 0)
      paint_outline(sketch.canvas(),
                    {box.x0 - pad / 3, box.y0 - pad / 3, box.x1 + cell + pad + pad / 3, box.y1 + pad / 3},
                    theme.text, sketch.px(2));
  }
}

float paint_idea_words(Sketch& sketch, PlotPoint at, float width) {
  for (const char* const line :
       {"node 0 = ensemble 0:  models (0 1) (2 3)", "node 1 = ensemble 1:  models (4 5) (6 7)"})
    at.y = sketch.words(at, width, line);
  return sketch.words(at, width,
                      "Of each model one rank reads the northern half of every field, the other the southern "
                      "half.");
}

float paint_idea(Sketch& sketch, PlotPoint at, float width) {
  if (sketch.is_text()) return paint_idea_words(sketch, at, width);
  const Theme& theme = sketch.theme();
  const float gap = sketch.px(20), each = std::min((width - gap) / 2, sketch.px(380));
  for (int node = 0; node < kIdeaRanks / kIdeaNode; ++node)
    paint_idea_node(sketch, node, {at.x + static_cast<float>(node) * (each + gap), at.y}, each);
  at.y += sketch.px(20 + 46 + 40 + 12);
  return sketch.legend(
      at, width,
      std::array{LegendEntry{.words = "a model", .colour = theme.text, .line = Dash::solid},
                 LegendEntry{.words = "an ensemble", .colour = theme.accent, .line = Dash::dashed},
                 LegendEntry{"the band of latitudes that a rank reads",
                             mixed(theme.panel, theme.series[1], 0.55F)}});
}

// ---- Links -----------------------------------------------------------------------------------------------

constexpr int kLinkRanks = 16, kLinkNode = 4;
const AxisBytesSent kLinkBytes = {{"tp", 9.6}, {"cp", 4.8}, {"dp", 0.63}};

Mesh linked(const std::string& order) { return Mesh(order, {.tp = 2, .cp = 2, .dp = 4}, kLinkRanks); }

float paint_order(Sketch& sketch, const std::string& order, double most, PlotPoint at, float width) {
  const Mesh mesh = linked(order);
  at.y = sketch.words(at, width, "mesh.order = " + order, {.face = Face::bold}) + sketch.px(6);
  at.y = paint_joined_ranks(sketch, mesh, kLinkNode, at, width) + sketch.px(6);
  const std::array<std::size_t, 3> series = {1, 2, 0};
  const std::array<Hatch, 3> hatches = {Hatch::none, Hatch::rising, Hatch::falling};
  StackedBar bar{.title = "a node sends out", .axis = "GB a step", .most = most, .has_rows = false};
  for (std::size_t i = 0; i < kLinkBytes.size(); ++i) {
    const auto& [axis, bytes] = kLinkBytes[i];
    bar.parts.push_back(
        {axis, leaves_node(mesh, axis, bytes, kLinkNode), "", sketch.theme().series[series[i]], hatches[i]});
  }
  bar.total = fmt::format("{:.3g} GB", leave_node(mesh, kLinkBytes, kLinkNode));
  return paint_stacked_bar(sketch, bar, at, width);
}

float paint_links(Sketch& sketch, PlotPoint at, float width) {
  const double most = std::max(leave_node(linked("tp-cp-dp"), kLinkBytes, kLinkNode),
                               leave_node(linked("dp-cp-tp"), kLinkBytes, kLinkNode));
  const auto in_order = [&](const char* order) {
    return [&, order](PlotPoint from, float wide) { return paint_order(sketch, order, most, from, wide); };
  };
  at.y = paint_pair(sketch, at, width, 460, in_order("tp-cp-dp"), in_order("dp-cp-tp")) + sketch.px(4);
  const Theme& theme = sketch.theme();
  at.y = sketch.legend(at, width,
                       std::array{LegendEntry{"bytes of tp", theme.series[1]},
                                  LegendEntry{"bytes of cp", theme.series[2], Hatch::rising},
                                  LegendEntry{"bytes of dp", theme.series[0], Hatch::falling}});
  return paint_joined_legend(sketch, at, width);
}

// ---- Bands -----------------------------------------------------------------------------------------------

constexpr int kBandRows = 12, kBands = 4, kBandRank = 1;

float paint_chunks(Sketch& sketch, const std::string& title, int chunk, PlotPoint at, float width) {
  const Theme& theme = sketch.theme();
  at.y = sketch.words(at, width, title, {.face = Face::bold}) + sketch.px(4);
  const float row = sketch.is_text() ? sketch.px(16) : sketch.px(13);
  const float side = std::min(width, sketch.px(150));
  const int band = kBandRows / kBands, first = kBandRank * band, last = first + band;
  for (int i = 0; i < kBandRows; ++i) {
    const float y = at.y + row * static_cast<float>(i);
    const bool is_read = i / chunk >= first / chunk && i / chunk <= (last - 1) / chunk;
    const bool is_own = i >= first && i < last;
    const Box box = {at.x, y, at.x + side, y + row};
    if (is_read)
      sketch.area(box, is_own ? theme.series[1] : theme.bad, is_own ? Hatch::none : Hatch::rising);
    else
      sketch.canvas().fill(box, theme.raised);
  }
  const float end = at.y + row * kBandRows;
  for (int i = chunk; i < kBandRows; i += chunk) {
    const float y = at.y + row * static_cast<float>(i);
    sketch.line({at.x, y}, {at.x + side, y}, theme.text, 1.5F);
  }
  paint_outline(sketch.canvas(), {at.x, at.y, at.x + side, end}, theme.text, sketch.px(1.5F));
  return end + sketch.px(10);
}

float paint_bands(Sketch& sketch, PlotPoint at, float width) {
  const Theme& theme = sketch.theme();
  const float gap = sketch.px(24), each = (width - 2 * gap) / 3;
  float bottom = at.y;
  int column = 0;
  for (const auto& [title, chunk] : {std::pair{"chunks of whole fields", kBandRows},
                                     std::pair{"of 3 rows", 3}, std::pair{"of 4 rows", 4}}) {
    const float x = at.x + static_cast<float>(column++) * (each + gap);
    bottom = std::max(bottom, paint_chunks(sketch, title, chunk, {x, at.y}, each));
  }
  at.y = sketch.legend({at.x, bottom}, width,
                       std::array{LegendEntry{"the band of rank 1", theme.series[1]},
                                  LegendEntry{"read as well", theme.bad, Hatch::rising}});
  return sketch.words(at, width, "A field of 12 rows for four ranks, by its chunks: lines are their edges.",
                      {.colour = theme.dim});
}

// ---- CRPS ------------------------------------------------------------------------------------------------

using Members = std::array<double, 4>;
constexpr Members kNarrow = {5.6, 6.0, 6.3, 6.7}, kWide = {1.6, 3.2, 4.9, 6.6};
constexpr double kObserved = 4;

/// Both terms of the fair CRPS.
std::pair<double, double> crps_terms(const Members& members) {
  double off = 0, apart = 0;
  for (const double one : members) {
    off += std::fabs(one - kObserved);
    for (const double other : members) apart += std::fabs(one - other);
  }
  const auto count = static_cast<double>(members.size());
  return {off / count, apart / (2 * count * (count - 1))};
}

float paint_members(Sketch& sketch, const char* title, const Members& members, PlotPoint at, float width) {
  const Theme& theme = sketch.theme();
  at.y = sketch.words(at, width, title, {.face = Face::bold}) + sketch.px(14);
  const Axis x{.least = 0, .most = 8, .begin = at.x, .end = at.x + width - sketch.px(8)};
  const float y = at.y + sketch.px(6);
  sketch.line({x.begin, y}, {x.end, y}, theme.dim, 1);
  for (const double member : members) sketch.mark({x.pixel(member), y}, Mark::circle, theme.series[1]);
  sketch.mark({x.pixel(kObserved), y}, Mark::cross, theme.bad, 6);
  at.y = y + sketch.px(20);
  const auto [off, apart] = crps_terms(members);
  const float label = sketch.text_width("off the analysis") + sketch.px(12);
  const float number = sketch.text_width("- 0.00") + sketch.px(10),
              row = sketch.canvas().height_of(sketch.px(22));
  const Axis bars{.least = 0, .most = 2.2, .begin = at.x + label, .end = at.x + width - number};
  for (const auto& [name, value, sign] :
       {std::tuple{"off the analysis", off, ""}, std::tuple{"apart, halved", apart, "- "},
        std::tuple{"fair CRPS", off - apart, "= "}}) {
    sketch.area({bars.begin, at.y + sketch.px(3), bars.pixel(value), at.y + row - sketch.px(4)},
                theme.series[0]);
    const float line = at.y + sketch.px(sketch.is_text() ? 0 : 3);
    sketch.canvas().text(at.x, line, name, Face::small, theme.text);
    sketch.canvas().text(at.x + width, line, fmt::format("{}{:.2f}", sign, value), Face::small, theme.text,
                         1);
    at.y += row;
  }
  return at.y + sketch.px(10);
}

float paint_crps(Sketch& sketch, PlotPoint at, float width) {
  const Theme& theme = sketch.theme();
  const auto members = [&](const char* title, const Members& shown) {
    return [&, title](PlotPoint from, float wide) { return paint_members(sketch, title, shown, from, wide); };
  };
  at.y = paint_pair(sketch, at, width, 520, members("Narrow, and beside it", kNarrow),
                    members("Wide, and around it", kWide));
  return sketch.legend(
      at, width,
      std::array{LegendEntry{.words = "members", .colour = theme.series[1], .mark = Mark::circle},
                 LegendEntry{.words = "analysis", .colour = theme.bad, .mark = Mark::cross}});
}

// ---- Of runs and choices ---------------------------------------------------------------------------------

OwnPicture own_mesh(const OwnRun& run) {
  try {
    const MeshFigures mesh =
        mesh_of_run(run.folder, run.view().lesson, run.view().device != "cpu", read_ranks(run.folder));
    if (!mesh.axes.empty()) return {mesh_drawing(mesh, "The groups of this run", run.note)};
  } catch (const Error& error) {
    return nothing_to_draw(error.what(), error.hint());
  }
  return nothing_to_draw("the run has one rank", "--ranks 4 --set mesh.gpus_per_model=2");
}

Drawing runs_together(std::string_view rule, const std::vector<ShownRun>& runs) {
  return rule == "ratio" ? memory_together(runs) : Drawing{};
}

std::vector<Drawing> mesh_panels(const std::vector<PanelSettings>& choices) {
  const LessonInfo lesson = read_lesson(project_home(), "17_groups");
  std::vector<Drawing> out;
  for (const PanelSettings& sets : choices) {
    const Mesh mesh = mesh_of(load_config(project_home(), lesson, {.sets = sets}, "cpu").config);
    std::vector<std::string> alts;
    for (const char* const axis : {"tp", "cp", "dp"})
      alts.push_back(fmt::format("the first group of {} is {}", axis, joined(mesh.groups(axis).front())));
    out.push_back({"", "", fmt::format("a grid of {} ranks, four a node: {}", mesh.world(), joined(alts)),
                   [mesh](Sketch& sketch, PlotPoint at, float width) {
                     return paint_joined_ranks(sketch, mesh, kLinkNode, at, width);
                   }});
  }
  return out;
}

std::vector<LessonPicture> pictures() {
  return {
      {"idea",
       {"Who works together on two nodes", "schematic",
        "Two nodes of four ranks. Two neighbours hold a model, and a line is drawn around them; the two "
        "models of a node are an ensemble, with a dashed line around it. In the box of each rank a band is "
        "shaded, the upper half or the lower half of a field, which it reads.",
        paint_idea}},
      {"links",
       {"One mesh in two orders", "four nodes of four ranks; bytes of preset mp",
        "Two grids of sixteen ranks, a row for each of four nodes. Left, order tp-cp-dp: ranks that share a "
        "model lie in one row, and a node sends 2.52 GB out, all of dp. Right, order dp-cp-tp: lines of tp "
        "and cp go from row to row, and a node sends 57.6 GB out.",
        paint_links}},
      {"bands",
       {"What rank 1 of four must read", "",
        "A field of 12 rows three times, with the band of rank 1, rows 3 to 5. In chunks of whole fields it "
        "must read all rows; in chunks of 3 rows its band alone; in chunks of 4 rows the first two chunks, "
        "8 rows.",
        paint_bands}},
      {"crps",
       {"The two terms of CRPS", "four members, one analysis",
        "Four members as dots on a line and the analysis as a cross. Left, the members lie close "
        "together and beside the cross: their mean distance from it is large, their distance from each "
        "other small. Right, they lie wide around it: both are of about one size, and the fair CRPS is "
        "smaller.",
        paint_crps}}};
}

const AddLessonView kView{{"17_groups", pictures, own_mesh, {}, runs_together, mesh_panels}};

}  // namespace
}  // namespace isobar::lesson_17
