#include "draw/scoreboard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "draw/colour.h"

namespace isobar {
namespace {

constexpr float kHead = 34, kRow = 52, kPad = 12;

/// Where the parts of a row stand, from left to right.
struct Columns {
  float label, bars, words, end;  ///< left edges, and the right edge of `versus`
  double most_rate = 0, most_us = 0;
  bool has_range = false;
};

double step_us(const ScoreRow& row) {
  double out = 0;
  for (const auto& [stage, us] : row.stages_us) out += std::max(0.0, us);
  return out;
}

/// What is left of a step says nothing where none of its stages was measured.
bool has_stages(const ScoreRow& row) {
  return std::any_of(row.stages_us.begin(), row.stages_us.end(),
                     [](const auto& one) { return one.first != "rest" && one.second > 0; });
}

Columns columns_of(const Canvas& canvas, const ScoreSpec& spec, const Box& box) {
  const float s = canvas.scale();
  Columns out{};
  float label = 0, words = 0, range = 0, versus = 96 * s;
  for (const ScoreRow& row : spec.rows) {
    label = std::max(
        {label, canvas.text_width(row.label, Face::bold), canvas.text_width(row.facts, Face::small)});
    words = std::max({words, canvas.text_width(row.rate_words, Face::small),
                      canvas.text_width(row.step_words, Face::small)});
    range = std::max(range, canvas.text_width(row.range_words, Face::small));
    versus = std::max(versus, canvas.text_width(row.versus, Face::bold));
    if (row.has_bar && std::isfinite(row.rate)) out.most_rate = std::max({out.most_rate, row.rate, row.most});
    if (has_stages(row)) out.most_us = std::max(out.most_us, step_us(row));
  }
  out.label = box.x0 + (kPad + 20) * s;
  out.end = box.x1 - kPad * s;
  out.bars = out.label + std::min(label, box.width() * 0.42F) + 16 * s;
  const float room = out.end - versus - 20 * s - words - out.bars;
  out.has_range = room - range > 150 * s;
  out.words = out.bars + std::max(24 * s, out.has_range ? room - range - 8 * s : room);
  return out;
}

void paint_whisker(Canvas& canvas, const Theme& theme, float x0, float x1, float y) {
  const float s = canvas.scale();
  const PlotPoint across[] = {{x0, y}, {x1, y}};
  canvas.line(across, theme.text, 1.2F * s, Dash::solid);
  for (const float x : {x0, x1}) {
    const PlotPoint cap[] = {{x, y - 4 * s}, {x, y + 4 * s}};
    canvas.line(cap, theme.text, 1.2F * s, Dash::solid);
  }
}

void paint_rate(Canvas& canvas, const Theme& theme, const ScoreRow& row, const Columns& at, float y) {
  const float s = canvas.scale();
  const bool known = row.rate > 0 && std::isfinite(row.rate);
  if (!known) {
    canvas.text(at.bars, y, "no rate yet", Face::small, theme.dim);
    return;
  }
  const float room = at.words - 10 * s - at.bars;
  const auto x_of = [&](double rate) { return at.bars + static_cast<float>(rate / at.most_rate) * room; };
  if (row.has_bar && at.most_rate > 0) {
    canvas.fill({at.bars, y + 3 * s, std::max(at.bars + 2 * s, x_of(row.rate)), y + 15 * s}, row.colour,
                2 * s);
    if (row.most > row.least) paint_whisker(canvas, theme, x_of(row.least), x_of(row.most), y + 9 * s);
  }
  canvas.text(at.words, y, row.rate_words, Face::small, row.has_bar ? theme.text : theme.dim);
  if (!at.has_range) return;
  const float beside = at.words + canvas.text_width(row.rate_words, Face::small) + 8 * s;
  canvas.text(beside, y, row.range_words, Face::small, theme.dim);
}

void paint_stages(Canvas& canvas, const Theme& theme, const ScoreRow& row, const Columns& at, float y) {
  const float s = canvas.scale();
  float x = at.bars;
  for (const auto& [stage, us] : row.stages_us) {
    if (!(us > 0) || !has_stages(row)) continue;
    const float width = static_cast<float>(us / at.most_us) * (at.words - 10 * s - at.bars);
    canvas.fill({x, y + 3 * s, x + width, y + 13 * s}, stage_colour(theme, stage));
    x += width;
  }
  canvas.text(at.words, y, row.step_words, Face::small, theme.dim);
}

/// What the colours of the stages mean, at the right of the title.
void paint_key(Canvas& canvas, const Theme& theme, const ScoreSpec& spec, const Box& box, float title_end) {
  const float s = canvas.scale();
  std::vector<std::string> stages;
  for (const ScoreRow& row : spec.rows) {
    if (!has_stages(row)) continue;
    for (const auto& [stage, us] : row.stages_us) {
      if (us > 0.01 * step_us(row) && std::find(stages.begin(), stages.end(), stage) == stages.end())
        stages.push_back(stage);
    }
  }
  float x = box.x1 - kPad * s;
  for (auto stage = stages.rbegin(); stage != stages.rend(); ++stage) {
    x -= canvas.text_width(*stage, Face::small) + 22 * s;
    if (x < title_end + 12 * s) return;
    canvas.fill({x, box.y0 + 13 * s, x + 10 * s, box.y0 + 23 * s}, stage_colour(theme, *stage), 2 * s);
    canvas.text(x + 14 * s, box.y0 + 10 * s, *stage, Face::small, theme.dim);
  }
}

}  // namespace

float scoreboard_height(const ScoreSpec& spec, const Canvas& canvas) {
  return canvas.scale() * (kHead + kRow * static_cast<float>(std::max<std::size_t>(1, spec.rows.size())) + 4);
}

std::vector<Box> paint_scoreboard(Canvas& canvas, const Theme& theme, const ScoreSpec& spec, const Box& box) {
  std::vector<Box> rows;
  const float s = canvas.scale();
  const std::string title = canvas.fitted(spec.title, Face::bold, box.width() - 24 * s);
  canvas.text(box.x0 + kPad * s, box.y0 + 9 * s, title, Face::bold, theme.text);
  paint_key(canvas, theme, spec, box, box.x0 + kPad * s + canvas.text_width(title, Face::bold));
  if (spec.rows.empty()) {
    canvas.text(box.x0 + kPad * s, box.y0 + (kHead + 6) * s,
                canvas.fitted(spec.empty, Face::small, box.width() - 24 * s), Face::small, theme.dim);
    return rows;
  }
  const Columns at = columns_of(canvas, spec, box);
  float y = box.y0 + kHead * s;
  for (const ScoreRow& row : spec.rows) {
    rows.push_back({box.x0 + 4 * s, y, box.x1 - 4 * s, y + (kRow - 2) * s});
    const PlotPoint rule[] = {{box.x0 + kPad * s, y}, {box.x1 - kPad * s, y}};
    canvas.line(rule, theme.line, 1, Dash::solid);
    const float room = at.bars - at.label - 12 * s;
    canvas.mark({box.x0 + (kPad + 6) * s, y + 16 * s}, row.mark, 4.5F * s, row.colour);
    canvas.text(at.label, y + 7 * s, canvas.fitted(row.label, Face::bold, room), Face::bold, theme.text);
    canvas.text(at.label, y + 27 * s, canvas.fitted(row.facts, Face::small, room), Face::small, theme.dim);
    paint_rate(canvas, theme, row, at, y + 7 * s);
    paint_stages(canvas, theme, row, at, y + 27 * s);
    canvas.text(at.end, y + 7 * s, row.versus, Face::bold, row.strong ? theme.text : theme.dim, 1);
    y += kRow * s;
  }
  return rows;
}

std::string scoreboard_csv(const ScoreSpec& spec) {
  std::string out = "run,samples_per_s,least,most,versus,step_us,stages,facts\n";
  const auto quoted = [](std::string words) {
    std::replace(words.begin(), words.end(), '"', '\'');
    return "\"" + words + "\"";
  };
  for (const ScoreRow& row : spec.rows) {
    std::string stages;
    for (const auto& [stage, us] : row.stages_us)
      stages += fmt::format("{}{} {:.0f}", stages.empty() ? "" : "; ", stage, us);
    out += fmt::format("{},{},{},{},{},{},{},{}\n", quoted(row.label), row.rate, row.least, row.most,
                       quoted(row.versus), step_us(row), quoted(stages), quoted(row.facts));
  }
  return out;
}

}  // namespace isobar
