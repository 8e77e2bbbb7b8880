#include "plot/pipeline_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <utility>

#include "core/text.h"
#include "draw/chart.h"

namespace isobar {
namespace {

constexpr float kPipeRow = 26, kPipeBar = 22, kPipeHead = 18;
constexpr int kMostPipeRows = 32;
constexpr float kPalest = 0.5F;

struct WorkLook {
  const char* stage;
  Hatch hatch;
  char filler;
  const char* words;
};
constexpr std::array<WorkLook, 4> kWorkLooks = {
    {{"forward", Hatch::none, '-', "F forward"},
     {"backward", Hatch::falling, '=', "B backward"},
     {"backward", Hatch::falling, ':', "I backward, for inputs"},
     {"optimize", Hatch::rising, '+', "W backward, for weights"}}};

const WorkLook& look_of(PipelineWork work) { return kWorkLooks[static_cast<std::size_t>(work)]; }

struct PipePlaces {
  Axis x;
  std::vector<int> chunks = {};          ///< by stage: its place among those of its rank
  float labels = 0, idle = 0, kept = 0;  ///< where the columns beside the rows begin, and where they end
  float row = 0, bar = 0;
};

/// A terminal has small letters instead.
Colour box_colour(const Sketch& sketch, const PipePlaces& places, const PipelineAction& action) {
  const Colour full = stage_colour(sketch.theme(), look_of(action.work).stage);
  const int last = *std::ranges::max_element(places.chunks);
  if (last < 1 || sketch.is_text()) return full;
  const int chunk = places.chunks[static_cast<std::size_t>(action.stage)];
  const float part = kPalest * static_cast<float>(chunk) / static_cast<float>(last);
  return mixed(full, sketch.theme().panel, part);
}

/// "F12---", or "F" where there is no room for the number.
std::string box_letters(const PipePlaces& places, const PipelineAction& action, std::size_t columns) {
  std::string out = work_words(action);
  out.resize(out.size() > columns ? 1 : out.size());
  out.resize(columns, look_of(action.work).filler);
  if (places.chunks[static_cast<std::size_t>(action.stage)] % 2 == 1)
    out[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(out[0])));
  return out;
}

PipePlaces pipe_places(const Sketch& sketch, const PipelineStep& step, PlotPoint at, float width,
                       const PipelineStyle& style) {
  PipePlaces out;
  out.chunks = step.places_in_rank();
  const float cell = sketch.text_width("F");
  const auto whole = [&](float x) { return sketch.is_text() ? std::round(x / cell) * cell : x; };
  out.row = sketch.is_text() ? sketch.px(16) : sketch.px(kPipeRow);
  out.bar = sketch.is_text() ? out.row : sketch.px(kPipeBar);
  out.kept = at.x + width;
  out.idle = out.kept - sketch.text_width("keeps") - sketch.px(10);
  out.labels = at.x;
  out.x.least = 0;
  out.x.most = std::max(style.most, step.course.step_us / step.unit_us);
  const std::string widest =
      fmt::format("rank {}", step.ranks() > 0 ? step.name_of_row(step.ranks() - 1) : 0);
  out.x.begin = whole(at.x + sketch.text_width(widest) + sketch.px(10));
  if (!style.has_figures) out.idle = out.kept + sketch.text_width("100 %") + sketch.px(10);
  out.x.end = whole(out.idle - sketch.text_width("100 %") - sketch.px(10));
  return out;
}

/// Words that name the work need no hatch beside its colour.
void paint_box(Sketch& sketch, const PipePlaces& places, const PipelineAction& action, const Box& box) {
  const Colour colour = box_colour(sketch, places, action);
  const Hatch hatch = look_of(action.work).hatch;
  const std::string part = std::to_string(action.part), whole = work_words(action);
  const float digits = sketch.text_width(std::string(part.size(), '0'));
  const bool has_work = digits + sketch.text_width("W") + sketch.px(4) <= box.width();
  sketch.area(box, colour, has_work ? Hatch::none : hatch);
  if (digits + sketch.px(3) > box.width()) return;
  const float middle = (box.x0 + box.x1) / 2, half = digits / 2 + sketch.px(0.5F);
  if (!has_work && hatch != Hatch::none)
    sketch.canvas().fill({middle - half, box.y0 + sketch.px(3), middle + half, box.y1 - sketch.px(3)},
                         colour);
  sketch.canvas().text(middle, (box.y0 + box.y1 - sketch.canvas().line_height(Face::small)) / 2,
                       has_work ? whole : part, Face::small, ink_on(colour), 0.5F);
}

/// A column shows the action that covers most of it.
void paint_row_letters(Sketch& sketch, const PipelineStep& step, int rank, const PipePlaces& places,
                       float y) {
  const float cell = sketch.text_width("F");
  const auto columns = static_cast<int>(std::lround((places.x.end - places.x.begin) / cell));
  const double column_us = places.x.most * step.unit_us / std::max(1, columns);
  std::vector<const PlacedAction*> shown(static_cast<std::size_t>(std::max(0, columns)));
  std::vector<double> covered_us(shown.size(), column_us / 2);
  for (const PlacedAction& placed : step.course.actions) {
    if (placed.rank != rank) continue;
    const auto first = static_cast<std::size_t>(std::max(0.0, placed.begin_us / column_us));
    for (std::size_t i = first; i < shown.size(); ++i) {
      const double from_us = static_cast<double>(i) * column_us;
      const double us = std::min(placed.end_us, from_us + column_us) - std::max(placed.begin_us, from_us);
      if (us <= 0) break;
      if (us < covered_us[i]) continue;
      covered_us[i] = us;
      shown[i] = &placed;
    }
  }
  std::string letters(shown.size(), ' ');
  for (std::size_t i = 0; i < shown.size();) {
    std::size_t end = i + 1;
    while (end < shown.size() && shown[end] == shown[i]) ++end;
    if (shown[i] != nullptr) {
      sketch.area({places.x.begin + cell * static_cast<float>(i), y,
                   places.x.begin + cell * static_cast<float>(end), y + places.bar},
                  box_colour(sketch, places, shown[i]->action));
      letters.replace(i, end - i, box_letters(places, shown[i]->action, end - i));
    }
    i = end;
  }
  sketch.canvas().text(places.x.begin, y, letters, Face::small, sketch.theme().text);
}

float row_text_top(Sketch& sketch, const Box& bar) {
  return sketch.is_text() ? bar.y0 : (bar.y0 + bar.y1 - sketch.canvas().line_height(Face::small)) / 2;
}

void paint_row_figures(Sketch& sketch, const PipelineStep& step, int rank, const PipePlaces& places,
                       float y) {
  const Colour colour = sketch.theme().text;
  sketch.canvas().text(places.idle, y, fmt::format("{:.0f} %", 100 * step.idle_of(rank)), Face::small, colour,
                       1);
  sketch.canvas().text(places.kept, y, step.keeps_of(rank), Face::small, colour, 1);
}

void paint_row(Sketch& sketch, const PipelineStep& step, int rank, const PipePlaces& places, const Box& bar) {
  const Theme& theme = sketch.theme();
  const float y = row_text_top(sketch, bar);
  sketch.canvas().text(places.labels, y, fmt::format("rank {}", step.name_of_row(rank)), Face::small,
                       theme.text);
  if (sketch.is_text()) return paint_row_letters(sketch, step, rank, places, bar.y0);
  sketch.canvas().fill({bar.x0, bar.y0, places.x.pixel(step.course.step_us / step.unit_us), bar.y1},
                       theme.raised);
  for (const PlacedAction& placed : step.course.actions) {
    if (placed.rank != rank) continue;
    const float x0 = places.x.pixel(placed.begin_us / step.unit_us);
    const float x1 = std::max(places.x.pixel(placed.end_us / step.unit_us), x0 + sketch.px(1));
    paint_box(sketch, places, placed.action, {x0, bar.y0, x1, bar.y1});
  }
}

std::string head_words(const PipelineStep& step) {
  const std::string form = step.form ? std::string(name_of(*step.form)) + ", " : "";
  return fmt::format("{}{}, {}, {}", form, counted(step.ranks(), "rank"), counted(step.stages, "stage"),
                     step.parts() == 1 ? "1 micro-batch" : fmt::format("{} micro-batches", step.parts()));
}

std::string result_words(const PipelineStep& step) {
  return std::string(step.is_measured ? "measured: " : "predicted: ") + idle_words(step);
}

std::string pipe_alt(const PipelineStep& step) {
  constexpr int kMostNamed = 8;
  std::vector<std::string> rows;
  for (int rank = 0; rank < std::min(kMostNamed, step.ranks()); ++rank) {
    const std::string keeps = step.keeps_of(rank);
    rows.push_back(fmt::format("rank {} is idle {:.0f} % of it{}", step.name_of_row(rank),
                               100 * step.idle_of(rank), keeps.empty() ? "" : " and keeps " + keeps));
  }
  return fmt::format("A step of a pipeline, {}; {}. {}.", head_words(step), result_words(step),
                     joined(rows, "; "));
}

}  // namespace

std::optional<std::size_t> PipelineArea::action_at(const PipelineStep& step, PlotPoint at) const {
  const double us = x.value(at.x) * step.unit_us;
  for (std::size_t i = 0; i < step.course.actions.size(); ++i) {
    const PlacedAction& placed = step.course.actions[i];
    const auto row = static_cast<std::size_t>(placed.rank);
    if (row < rows.size() && rows[row].contains(at) && us >= placed.begin_us && us < placed.end_us) return i;
  }
  return std::nullopt;
}

float paint_pipeline(Sketch& sketch, const PipelineStep& step, PlotPoint at, float width,
                     const PipelineStyle& style, PipelineArea* area) {
  const Theme& theme = sketch.theme();
  if (sketch.is_text()) at.y = std::round(at.y / sketch.px(16)) * sketch.px(16);
  const PipePlaces places = pipe_places(sketch, step, at, width, style);
  if (style.has_figures) {
    sketch.canvas().text(places.idle, at.y, "idle", Face::small, theme.dim, 1);
    sketch.canvas().text(places.kept, at.y, "keeps", Face::small, theme.dim, 1);
    at.y += sketch.is_text() ? places.row : sketch.px(kPipeHead);
  }
  const int rows = std::min(step.ranks(), kMostPipeRows);
  std::vector<Box> bars;
  const float bottom = at.y + places.row * static_cast<float>(rows);
  paint_axis_below(sketch, places.x, step.axis, at.y, bottom);
  for (int rank = 0; rank < rows; ++rank) {
    const float y = at.y + places.row * static_cast<float>(rank);
    bars.push_back({places.x.begin, y, places.x.end, y + places.bar});
    paint_row(sketch, step, rank, places, bars.back());
    if (style.has_figures) paint_row_figures(sketch, step, rank, places, row_text_top(sketch, bars.back()));
  }
  if (area != nullptr) *area = {places.x, std::move(bars)};
  float y = bottom + sketch.px(30);
  if (rows < step.ranks())
    y = sketch.words({at.x, y}, width, fmt::format("{} more ranks are left out", step.ranks() - rows),
                     {.colour = theme.dim});
  return y;
}

float paint_pipeline_legend(Sketch& sketch, const std::vector<const PipelineStep*>& steps, PlotPoint at,
                            float width, bool has_figures) {
  std::vector<LegendEntry> entries;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kWorkLooks.size(); ++i) {
    const auto is_there = [&](const PlacedAction& placed) {
      return static_cast<std::size_t>(placed.action.work) == i;
    };
    if (std::ranges::none_of(steps, [&](const PipelineStep* step) {
          return std::ranges::any_of(step->course.actions, is_there);
        }))
      continue;
    names.emplace_back(kWorkLooks[i].words);
    entries.push_back(
        {kWorkLooks[i].words, stage_colour(sketch.theme(), kWorkLooks[i].stage), kWorkLooks[i].hatch});
  }
  const bool has_chunks =
      std::ranges::any_of(steps, [](const PipelineStep* step) { return step->stages_a_rank() > 1; });
  std::string words = "the number is that of the micro-batch; empty: idle";
  if (sketch.is_text())  // letters are there already
    words = joined(names) + "; " + words;
  else
    at.y = sketch.legend(at, width, entries);
  if (has_chunks)
    words += sketch.is_text() ? "; small letters: every second stage of a rank"
                              : "; paler: later stages of a rank";
  if (has_figures)
    words += has_chunks
                 ? "; keeps: micro-batches whose activations, of all of its blocks, a rank holds at most"
                 : "; keeps: micro-batches whose activations a rank holds, at most";
  return sketch.words(at, width, words, {.colour = sketch.theme().dim});
}

Drawing pipeline_drawing(const PipelineStep& step, const std::string& title, const std::string& note) {
  Drawing out{.title = title, .note = note, .alt = "A step of a pipeline without any action.", .body = {}};
  if (!step.is_there()) return out;
  out.alt = pipe_alt(step);
  out.body = [step](Sketch& sketch, PlotPoint at, float width) {
    at.y = sketch.words(at, width, head_words(step)) + sketch.px(2);
    at.y = paint_pipeline(sketch, step, at, width);
    at.y = paint_pipeline_legend(sketch, {&step}, at, width, true) + sketch.px(4);
    return sketch.words(at, width, result_words(step));
  };
  return out;
}

Drawing pipelines_drawing(const std::vector<NamedPipeline>& steps, const std::string& title,
                          const std::string& note, bool has_figures) {
  std::vector<NamedPipeline> shown;
  std::vector<std::string> alts;
  for (const NamedPipeline& one : steps) {
    if (!one.step.is_there()) continue;
    shown.push_back(one);
    alts.push_back(one.label + ": " + result_words(one.step) + ".");
  }
  Drawing out{.title = title, .note = note, .alt = joined(alts, " "), .body = {}};
  if (shown.empty()) return out;
  out.body = [shown, has_figures](Sketch& sketch, PlotPoint at, float width) {
    PipelineStyle style{.has_figures = has_figures};
    std::vector<const PipelineStep*> all;
    for (const NamedPipeline& one : shown) {
      style.most = std::max(style.most, one.step.course.step_us / one.step.unit_us);
      all.push_back(&one.step);
    }
    for (const NamedPipeline& one : shown) {
      at.y = sketch.words(at, width, one.label, {.face = Face::bold});
      if (has_figures) at.y = sketch.words(at, width, result_words(one.step));
      at.y = paint_pipeline(sketch, one.step, at, width, style) + sketch.px(10);
    }
    return paint_pipeline_legend(sketch, all, at, width, has_figures);
  };
  return out;
}

std::string pipeline_csv(const PipelineStep& step) {
  static constexpr std::array<const char*, 4> kWorks = {"F", "B", "I", "W"};
  std::string out = "rank,stage,work,micro_batch,begin_us,end_us\n";
  for (const PlacedAction& placed : step.course.actions)
    out += fmt::format("{},{},{},{},{:.1f},{:.1f}\n", step.name_of_row(placed.rank), placed.action.stage,
                       kWorks[static_cast<std::size_t>(placed.action.work)], placed.action.part,
                       placed.begin_us, placed.end_us);
  return out;
}

}  // namespace isobar
