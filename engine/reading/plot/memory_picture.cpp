#include "plot/memory_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/find.h"
#include "core/text.h"
#include "draw/chart.h"
#include "plot/bars.h"

namespace isobar {
namespace {

constexpr float kPredictedPale = 0.45F;
constexpr float kStageStrip = 18, kMemoryHeight = 250, kMemoryPairFrom = 900;

/// From below to above: what stays through a step lies below what comes and goes.
constexpr std::array<MemoryCategory, kHeldCategories> kFromBelow = {
    MemoryCategory::weights,  MemoryCategory::gradients,     MemoryCategory::moments,
    MemoryCategory::batches,  MemoryCategory::communication, MemoryCategory::activations,
    MemoryCategory::workspace};

double ms_of(std::int64_t us) { return static_cast<double>(us) * 1e-3; }

/// What was predicted for the tensors of a rank; 0 = not known.
std::uint64_t planned_bytes(const MemoryRun& run) {
  std::uint64_t out = 0;
  if (const auto plan = planned_categories(run.planned))
    for (std::size_t i = 0; i < kHeldCategories; ++i) out += (*plan)[i];
  return out;
}

/// What the limit leaves to tensors, where the picture is not much too low for it; 0 = no line.
std::uint64_t shown_limit(const MemoryRun& run) {
  const std::uint64_t program = run.timeline.program_bytes;
  const std::uint64_t left = run.limit_bytes - std::min(run.limit_bytes, program);
  return left < 2 * run.timeline.peak_bytes() ? left : 0;
}

std::int64_t end_us_of(const MemoryTimeline& timeline) {
  const std::int64_t last_us = timeline.moments.empty() ? 0 : timeline.moments.back().at_us;
  const std::int64_t end_us = timeline.stages.empty() ? 0 : timeline.stages.back().end_us;
  return std::max({timeline.step_us, last_us, end_us, std::int64_t{1}});
}

/// One area of the stack, over the places of MemoryPlaces.
struct MemoryLayer {
  std::string words;
  Colour colour = 0;
  std::vector<std::uint64_t> low, high;  ///< bytes
};

/// Moments that differ in the picture: where several fall on one place, the highest.
struct MemoryPlaces {
  std::vector<const MemoryMoment*> moments;
  std::vector<float> x;  ///< where each begins; one more, where the last ends
};

MemoryPlaces memory_places(const MemoryTimeline& timeline, const Axis& x, float pixel) {
  MemoryPlaces out;
  for (const MemoryMoment& moment : timeline.moments) {
    const float at = x.pixel(ms_of(moment.at_us));
    if (!out.x.empty() && at - out.x.back() < pixel) {
      if (moment.total() > out.moments.back()->total()) out.moments.back() = &moment;
      continue;
    }
    out.moments.push_back(&moment);
    out.x.push_back(at);
  }
  out.x.push_back(x.pixel(ms_of(end_us_of(timeline))));
  return out;
}

/// Blocks take turns in two shades of one colour.
void add_block_layers(const MemoryTimeline& timeline, const MemoryPlaces& places, const Theme& theme,
                      const MemoryLayer& whole, std::vector<MemoryLayer>& out) {
  std::vector<std::uint64_t> from = whole.low;
  for (std::size_t owner = 0; owner < timeline.owners.size(); ++owner) {
    MemoryLayer layer{.words = "", .colour = whole.colour, .low = from, .high = from};
    if (owner % 2 == 1) layer.colour = mixed(whole.colour, theme.panel, 0.28F);
    for (std::size_t i = 0; i < places.moments.size(); ++i)
      from[i] = layer.high[i] = std::min(whole.high[i], from[i] + places.moments[i]->activations[owner]);
    out.push_back(std::move(layer));
  }
}

std::vector<MemoryLayer> memory_layers(Sketch& sketch, const MemoryTimeline& timeline,
                                       const MemoryPlaces& places) {
  std::vector<MemoryLayer> out;
  std::vector<std::uint64_t> from(places.moments.size());
  for (const MemoryCategory category : kFromBelow) {
    MemoryLayer layer{.words = name_of(category),
                      .colour = memory_part(sketch.theme(), name_of(category), 0).colour,
                      .low = from,
                      .high = from};
    for (std::size_t i = 0; i < places.moments.size(); ++i) layer.high[i] += places.moments[i]->of(category);
    from = layer.high;
    if (layer.high == layer.low) continue;
    const bool has_blocks =
        category == MemoryCategory::activations && timeline.owners.size() > 1 && !sketch.is_text();
    out.push_back(layer);
    if (has_blocks) add_block_layers(timeline, places, sketch.theme(), layer, out);
  }
  return out;
}

void paint_layer(Sketch& sketch, const MemoryLayer& layer, const MemoryPlaces& places,
                 const MemoryArea& area) {
  std::vector<BandPoint> points;
  const auto y = [&](std::uint64_t bytes) { return area.y.pixel(static_cast<double>(bytes) / area.unit); };
  for (std::size_t i = 0; i < places.moments.size(); ++i) {
    const float low = y(layer.low[i]), high = y(layer.high[i]);
    if (points.empty() || points.back().low != low || points.back().high != high)
      points.push_back({places.x[i], low, high});
    else
      points.pop_back();  // a level continues
    points.push_back({places.x[i + 1], low, high});
  }
  if (!sketch.is_text()) return sketch.canvas().band(points, layer.colour);
  std::vector<PlotPoint> around;  // a terminal fills it by dots, in patterns where it has no colour
  for (const BandPoint& at : points) around.push_back({at.x, at.high});
  for (auto at = points.rbegin(); at != points.rend(); ++at) around.push_back({at->x, at->low});
  sketch.canvas().polygon(around, layer.colour);
}

/// Its name, where the layer has most room for it.
void paint_layer_words(Sketch& sketch, const MemoryLayer& layer, const MemoryPlaces& places,
                       const MemoryArea& area) {
  const float wide = sketch.text_width(layer.words) + sketch.px(12),
              high = sketch.canvas().line_height(Face::small);
  float most = high + sketch.px(2);
  std::optional<PlotPoint> best;
  for (int k = 0; k <= 24; ++k) {
    const float x0 = area.box.x0 + (area.box.width() - wide) * static_cast<float>(k) / 24, x1 = x0 + wide;
    float top = area.box.y0, bottom = area.box.y1;
    for (std::size_t i = 0; i < places.moments.size(); ++i) {
      if (places.x[i + 1] < x0 || places.x[i] > x1) continue;
      top = std::max(top, area.y.pixel(static_cast<double>(layer.high[i]) / area.unit));
      bottom = std::min(bottom, area.y.pixel(static_cast<double>(layer.low[i]) / area.unit));
    }
    if (x0 < places.x.front() || x1 > places.x.back() || bottom - top <= most * (best ? 1.3F : 1)) continue;
    most = bottom - top;
    best = PlotPoint{(x0 + x1) / 2, (top + bottom - high) / 2};
  }
  if (best) sketch.canvas().text(best->x, best->y, layer.words, Face::small, ink_on(layer.colour), 0.5F);
}

/// In a terminal, where an area shows as much as it covers of a row.
float on_whole_rows(Sketch& sketch, float y) {
  const float row = sketch.canvas().height_of(1);
  constexpr float kDotRow = 4;  // so that the line of the axis has a row for itself
  return sketch.is_text() ? std::round(y / row) * row + kDotRow : y;
}

/// In a terminal, where patterns are those of categories: names between upright lines.
std::vector<std::string> paint_stage_words(Sketch& sketch, const MemoryTimeline& timeline,
                                           const MemoryArea& area, float top) {
  const float bottom = top + sketch.canvas().height_of(1);
  for (const MemoryStage& stage : timeline.stages) {
    const float x0 = area.x.pixel(ms_of(stage.begin_us)), x1 = area.x.pixel(ms_of(stage.end_us));
    const float wide = sketch.text_width(stage.name);
    sketch.line({x0, top}, {x0, bottom}, sketch.theme().text);
    if (wide + sketch.px(16) <= x1 - x0)
      sketch.canvas().text((x0 + x1) / 2, top + sketch.px(2), stage.name, Face::small, sketch.theme().text,
                           0.5F);
  }
  return {};
}

/// The stages as a strip above the area; gives those that have their name nowhere in it.
std::vector<std::string> paint_stage_strip(Sketch& sketch, const MemoryTimeline& timeline,
                                           const MemoryArea& area, float top) {
  if (sketch.is_text()) return paint_stage_words(sketch, timeline, area, top);
  const float bottom = area.box.y0 - sketch.px(3), high = sketch.canvas().line_height(Face::small);
  sketch.canvas().fill({area.box.x0, top, area.box.x1, bottom}, sketch.theme().raised);
  std::vector<std::string> unnamed, named;
  for (const MemoryStage& stage : timeline.stages) {
    const Box box = {area.x.pixel(ms_of(stage.begin_us)), top, area.x.pixel(ms_of(stage.end_us)), bottom};
    const Colour colour = stage_colour(sketch.theme(), stage.name);
    sketch.area(box, colour, stage_hatch(stage.name));
    const float half = sketch.text_width(stage.name) / 2 + sketch.px(3), middle = (box.x0 + box.x1) / 2;
    if (2 * half + sketch.px(2) > box.width()) {
      if (box.width() >= sketch.px(2) && !holds(unnamed, stage.name)) unnamed.push_back(stage.name);
      continue;
    }
    named.push_back(stage.name);
    sketch.canvas().fill({middle - half, top + sketch.px(2), middle + half, bottom - sketch.px(2)}, colour);
    sketch.canvas().text(middle, (top + bottom - high) / 2, stage.name, Face::small, ink_on(colour), 0.5F);
  }
  std::erase_if(unnamed, [&](const std::string& name) { return holds(named, name); });
  return unnamed;
}

/// A level across the area with words above its right end.
void paint_planned(Sketch& sketch, const MemoryRun& run, const MemoryArea& area) {
  const std::uint64_t planned = planned_bytes(run);
  if (planned == 0) return;
  const float y = area.y.pixel(static_cast<double>(planned) / area.unit);
  sketch.line({area.box.x0, y}, {area.box.x1, y}, sketch.theme().text, 1.5F, Dash::dotted);
  sketch.canvas().text(area.box.x1 - sketch.px(4), y - sketch.px(17), "predicted " + human_bytes(planned),
                       Face::small, sketch.theme().text, 1);
}

/// Where a run must end, and the dotted edge of what was predicted.
void paint_limit_of(Sketch& sketch, const MemoryRun& run, const MemoryArea& area) {
  const std::uint64_t limit = shown_limit(run);
  if (limit == 0) return;
  const float y = area.y.pixel(static_cast<double>(limit) / area.unit);
  sketch.line({area.box.x0, y}, {area.box.x1, y}, sketch.theme().bad, 1.6F);
  const std::string words = "cap less program";
  const float right = area.box.x1 - sketch.px(4), left = right - sketch.text_width(words);
  if (!sketch.is_text())  // it may lie over the name of a layer
    sketch.canvas().fill({left - sketch.px(3), y - sketch.px(19), right + sketch.px(3), y - sketch.px(3)},
                         sketch.theme().panel, sketch.px(2));
  sketch.canvas().text(right, y - sketch.px(17), words, Face::small, sketch.theme().text, 1);
}

void paint_predicted_edge(Sketch& sketch, const MemoryPlaces& places, const MemoryArea& area) {
  std::vector<PlotPoint> edge;
  for (std::size_t i = 0; i < places.moments.size(); ++i) {
    const float y = area.y.pixel(static_cast<double>(places.moments[i]->total()) / area.unit);
    edge.push_back({places.x[i], y});
    edge.push_back({places.x[i + 1], y});
  }
  sketch.canvas().line(edge, sketch.theme().text, sketch.px(1.5F), Dash::dotted);
}

void paint_peak(Sketch& sketch, const MemoryTimeline& timeline, const MemoryArea& area) {
  const MemoryMoment& peak = timeline.peak();
  const float x = area.x.pixel(ms_of(peak.at_us)),
              y = area.y.pixel(static_cast<double>(peak.total()) / area.unit);
  sketch.line({x, area.box.y0}, {x, area.box.y1}, sketch.theme().text, 1, Dash::dashed);
  sketch.mark({x, y}, Mark::down, sketch.theme().text);
}

std::vector<LegendEntry> memory_legend(Sketch& sketch, const MemoryTimeline& timeline) {
  std::vector<LegendEntry> out;
  const MemoryMoment& peak = timeline.peak();
  for (const MemoryCategory category : kFromBelow) {
    const bool is_there = std::ranges::any_of(
        timeline.moments, [&](const MemoryMoment& moment) { return moment.of(category) > 0; });
    if (is_there)
      out.push_back({fmt::format("{} {}", name_of(category), human_bytes(peak.of(category))),
                     memory_part(sketch.theme(), name_of(category), 0).colour});
  }
  return out;
}

/// Stages whose names have no room in the strip, on a line of their own: their colours are those of
/// categories too.
float paint_unnamed_stages(Sketch& sketch, const std::vector<std::string>& unnamed, PlotPoint at,
                           float width) {
  std::vector<LegendEntry> entries;
  for (const std::string& stage : unnamed)
    entries.push_back(stage_entry(sketch.theme(), stage, "stage " + stage));
  return entries.empty() ? at.y : sketch.legend(at, width, entries);
}

std::string memory_alt(const MemoryRun& run) {
  std::vector<std::string> parts;
  for (const MemoryRow& row : memory_rows(run.timeline, {}))
    if (row.category != MemoryCategory::program && row.measured > 0)
      parts.push_back(fmt::format("{} {}", name_of(row.category), human_bytes(row.measured)));
  return fmt::format("{}{} at the most: {}.", run.label.empty() ? "" : run.label + ": ",
                     peak_text(run.timeline), joined(parts));
}

}  // namespace

MemoryRun memory_run(const std::filesystem::path& run, const std::string& label, int rank) {
  return {label, read_memory(run, rank), read_ends(run, rank).view().memory};
}

std::vector<MemoryRun> memory_runs(const std::vector<ShownRun>& runs) {
  std::vector<MemoryRun> out;
  for (const ShownRun& run : runs)
    if (has_memory(run.run->folder))
      out.push_back({run.label, read_memory(run.run->folder), run.run->view().memory});
  return out;
}

MemoryAxes memory_axes(const std::vector<MemoryRun>& runs) {
  constexpr std::int64_t kComparable = 3;
  MemoryAxes out;
  std::int64_t least_us = std::numeric_limits<std::int64_t>::max();
  for (const MemoryRun& run : runs) {
    out.most_bytes =
        std::max({out.most_bytes, run.timeline.peak_bytes(), planned_bytes(run), shown_limit(run)});
    out.most_us = std::max(out.most_us, end_us_of(run.timeline));
    least_us = std::min(least_us, end_us_of(run.timeline));
  }
  if (out.most_us / kComparable > least_us) out.most_us = 0;
  return out;
}

float paint_memory(Sketch& sketch, const MemoryRun& run, const MemoryAxes& axes, PlotPoint at, float width,
                   MemoryArea* drawn) {
  const Theme& theme = sketch.theme();
  const MemoryTimeline& timeline = run.timeline;
  const MemoryAxes own = memory_axes({run});
  const std::uint64_t most = std::max(axes.most_bytes, own.most_bytes);
  MemoryArea area;
  area.unit = most > 1'000'000'000 ? 1e9 : 1e6;
  if (!run.label.empty()) at.y = sketch.words(at, width, run.label, {.face = Face::bold});
  const std::string owner = peak_owner_text(timeline);
  at.y = sketch.words(at, width, fmt::format("peak {}; most of it: {}", peak_text(timeline), owner));
  at.y = on_whole_rows(sketch, at.y + sketch.px(6));
  const float strip = sketch.canvas().height_of(sketch.px(kStageStrip)), top = at.y;
  ChartSpec spec;
  spec.x.most = ms_of(std::max(axes.most_us, own.most_us));
  spec.y.most = std::max(1e-6, 1.12 * static_cast<double>(most) / area.unit);
  spec.x_title = timeline.step_us > 0 ? "time in the step, ms" : "part of the step by operations, %";
  spec.height = kMemoryHeight;
  const ChartArea chart =
      paint_chart(sketch, spec, {at.x, top + strip + (sketch.is_text() ? 0 : sketch.px(3))}, width);
  area.x = chart.x;
  area.y = chart.y;
  area.box = chart.box;
  const MemoryPlaces places = memory_places(timeline, area.x, sketch.is_text() ? 4.0F : 1.0F);
  std::vector<MemoryLayer> layers = memory_layers(sketch, timeline, places);
  for (MemoryLayer& layer : layers)
    if (run.predicted && !sketch.is_text()) layer.colour = mixed(layer.colour, theme.panel, kPredictedPale);
  for (const MemoryLayer& layer : layers) paint_layer(sketch, layer, places, area);
  if (!sketch.is_text())
    for (const MemoryLayer& layer : layers) paint_layer_words(sketch, layer, places, area);
  const std::vector<std::string> unnamed = paint_stage_strip(sketch, timeline, area, top);
  paint_planned(sketch, run, area);
  if (run.predicted) paint_predicted_edge(sketch, places, area);
  paint_limit_of(sketch, run, area);
  paint_peak(sketch, timeline, area);
  sketch.canvas().text(at.x, top + sketch.px(2), area.unit > 1e6 ? "GB" : "MB", Face::small, theme.dim);
  if (drawn != nullptr) *drawn = area;
  at.y = sketch.legend({at.x, chart.end + sketch.px(6)}, width, memory_legend(sketch, timeline));
  return paint_unnamed_stages(sketch, unnamed, at, width);
}

Drawing memory_drawing(const std::vector<MemoryRun>& runs) {
  Drawing out{.title = "The memory of one step, by what it holds", .note = "", .alt = "", .body = {}};
  if (runs.empty()) return out;
  std::vector<std::string> alts;
  for (const MemoryRun& run : runs) alts.push_back(memory_alt(run));
  out.alt = joined(alts, " ");
  const MemoryTimeline& first = runs.front().timeline;
  const std::string whose = runs.front().predicted ? "predicted bytes of a rank"
                                                   : fmt::format("bytes of tensors of rank {} in step {}",
                                                                 first.rank, first.step + 1);
  out.note = runs.size() > 1 ? "bytes of tensors of a rank in one step, by time"
                             : fmt::format("{}; the program holds {} beside them", whose,
                                           human_bytes(first.program_bytes));
  out.body = [runs, axes = memory_axes(runs)](Sketch& sketch, PlotPoint at, float width) {
    const auto paint = [&](std::size_t i) {
      return [&, i](PlotPoint place, float room) { return paint_memory(sketch, runs[i], axes, place, room); };
    };
    if (runs.size() == 2) return paint_pair(sketch, at, width, kMemoryPairFrom, paint(0), paint(1));
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (i > 0) at.y += sketch.px(16);
      at.y = paint(i)(at, width);
    }
    return at.y;
  };
  return out;
}

std::string memory_csv(const MemoryTimeline& timeline) {
  std::string out = "at_us";
  for (std::size_t i = 0; i < kHeldCategories; ++i) out += fmt::format(",{}_bytes", kMemoryCategories[i]);
  for (const std::string& owner : timeline.owners) out += "," + csv_quoted(owner + ".activations_bytes");
  out += "\n";
  for (const MemoryMoment& moment : timeline.moments) {
    out += std::to_string(moment.at_us);
    for (const std::uint64_t bytes : moment.bytes) out += fmt::format(",{}", bytes);
    for (const std::uint64_t bytes : moment.activations) out += fmt::format(",{}", bytes);
    out += "\n";
  }
  return out;
}

OwnPicture own_memory(const OwnRun& run) {
  if (!has_memory(run.folder))
    return nothing_to_draw("the run recorded no step of its memory",
                           "runs that train here record one; this one is of an earlier version, or was "
                           "predicted");
  try {
    Drawing drawing = memory_drawing({{"", read_memory(run.folder), run.view().memory}});
    drawing.title = "The memory of one step of this run";
    drawing.note = run.note + "; " + drawing.note;
    return {std::move(drawing)};
  } catch (const Error& error) {
    return nothing_to_draw(error.what(), error.where());
  }
}

Drawing memory_together(const std::vector<ShownRun>& runs) { return memory_drawing(memory_runs(runs)); }

}  // namespace isobar
