#include "draw/stage_bars.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/find.h"
#include "draw/axis.h"

namespace isobar {
namespace {

constexpr float kPad = 12, kStepRow = 56, kStepBar = 24, kHead = 34, kTerm = 22, kScoreRow = 52;

float paint_head(Canvas& canvas, const Theme& theme, const Box& box, const std::string& title) {
  const float s = canvas.scale(), x = box.x0 + kPad * s;
  const std::string words = canvas.fitted(title, Face::bold, box.width() - 2 * kPad * s);
  canvas.text(x, box.y0 + 9 * s, words, Face::bold, theme.text);
  return x + canvas.text_width(words, Face::bold);
}

/// The longest of these words that the box has room for.
void paint_words(Canvas& canvas, const Theme& theme, const Box& box, const std::string& stage, double us,
                 bool predicted) {
  const float s = canvas.scale();
  const Colour ink = predicted ? theme.text : ink_on(stage_colour(theme, stage));
  for (const std::string& words : {fmt::format("{} {:.1f} ms", stage, us * 1e-3), stage}) {
    if (canvas.text_width(words, Face::small) + 12 * s > box.width()) continue;
    canvas.text(box.x0 + 6 * s, box.y0 + (box.height() - canvas.line_height(Face::small)) / 2, words,
                Face::small, ink);
    return;
  }
}

void paint_bar(Canvas& canvas, const Theme& theme, const StageBar& bar, const Box& box, double most_us) {
  float x = box.x0;
  for (const auto& [stage, us] : bar.stages_us) {
    if (!(us > 0) || !(most_us > 0)) continue;
    const Box part = {x, box.y0, x + static_cast<float>(us / most_us) * box.width(), box.y1};
    const Colour colour = stage_colour(theme, stage);
    canvas.fill(part, bar.predicted ? with_alpha(colour, 0.30F) : colour);
    if (bar.predicted) paint_outline(canvas, part, colour, 1.2F * canvas.scale(), Dash::dotted);
    paint_words(canvas, theme, part, stage, us, bar.predicted);
    x = part.x1;
  }
}

std::string ms_text(double us, bool with_sign) {
  const double ms = us * 1e-3;
  const int digits = std::fabs(ms) >= 100 ? 0 : std::fabs(ms) >= 10 ? 1 : 2;
  return with_sign ? fmt::format("{:+.{}f} ms", ms, digits) : fmt::format("{:.{}f} ms", ms, digits);
}

struct Columns {
  float label, bars, words, end;  ///< left edges, and the right edge of `versus`
  double most_rate = 0, most_us = 0;
  bool has_range = false;
};

/// The rest of a step has no meaning where none of its stages was measured.
bool has_stages(const ScoreRow& row) {
  return std::ranges::any_of(row.stages_us,
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
    if (has_stages(row)) out.most_us = std::max(out.most_us, total_us(row.stages_us));
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
  paint_stroke(canvas, {x0, y}, {x1, y}, theme.text, 1.2F * s);
  for (const float x : {x0, x1}) paint_stroke(canvas, {x, y - 4 * s}, {x, y + 4 * s}, theme.text, 1.2F * s);
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

void paint_key(Canvas& canvas, const Theme& theme, const ScoreSpec& spec, const Box& box, float title_end) {
  const float s = canvas.scale();
  std::vector<std::string> stages;
  for (const ScoreRow& row : spec.rows) {
    if (!has_stages(row)) continue;
    for (const auto& [stage, us] : row.stages_us) {
      if (us > 0.01 * total_us(row.stages_us) && !holds(stages, stage)) stages.push_back(stage);
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

double total_us(const StageTimes& stages) {
  double out = 0;
  for (const auto& [stage, us] : stages) out += std::max(0.0, us);
  return out;
}

float stage_bars_height(const std::vector<StageBar>& bars, const Canvas& canvas) {
  return canvas.scale() * (kStepRow * static_cast<float>(bars.size()) + kPad);
}

void paint_stage_bars(Canvas& canvas, const Theme& theme, const std::vector<StageBar>& bars, const Box& box) {
  const float s = canvas.scale();
  double most_us = 0;
  float words = 0;
  for (const StageBar& bar : bars) {
    most_us = std::max(most_us, total_us(bar.stages_us));
    words = std::max(words, canvas.text_width(bar.words, Face::small));
  }
  const float x0 = box.x0 + kPad * s, x1 = box.x1 - kPad * s;
  float y = box.y0 + 6 * s;
  for (const StageBar& bar : bars) {
    paint_fitted(canvas, x0, y, x1 - x0, bar.label, Face::small, theme.dim);
    const Box room = {x0, y + 20 * s, x1 - words - 8 * s, y + (20 + kStepBar) * s};
    paint_bar(canvas, theme, bar, room, most_us);
    const float end = most_us > 0
                          ? room.x0 + static_cast<float>(total_us(bar.stages_us) / most_us) * room.width()
                          : room.x0;
    canvas.text(end + 8 * s, y + 23 * s, bar.words, Face::small, theme.text);
    y += kStepRow * s;
  }
}

std::string stage_bars_csv(const std::vector<StageBar>& bars) {
  std::string out = "step,provenance,stage,us\n";
  for (const StageBar& bar : bars) {
    for (const auto& [stage, us] : bar.stages_us)
      out += fmt::format("{},{},{},{:.1f}\n", csv_quoted(bar.label), bar.predicted ? "predicted" : "measured",
                         stage, us);
  }
  return out;
}

float waterfall_height(const WaterfallSpec& spec, const Canvas& canvas) {
  return canvas.scale() * (kHead + kTerm * static_cast<float>(spec.terms.size() + 2) + 8);
}

void paint_waterfall(Canvas& canvas, const Theme& theme, const WaterfallSpec& spec, const Box& box) {
  const float s = canvas.scale();
  paint_head(canvas, theme, box, spec.title);
  double most_us = std::max(spec.base_us, spec.other_us), at_us = spec.base_us;
  float names =
      std::max(canvas.text_width(spec.base, Face::small), canvas.text_width(spec.other, Face::small));
  for (const auto& [stage, more_us] : spec.terms) {
    most_us = std::max(most_us, at_us += more_us);
    names = std::max(names, canvas.text_width(stage, Face::small));
  }
  if (!(most_us > 0)) return;
  names = std::min(names, box.width() * 0.3F);
  const float left = box.x0 + kPad * s + names + 14 * s;
  const float right = box.x1 - kPad * s - canvas.text_width("+1234.5 ms", Face::small) - 10 * s;
  const auto x_of = [&](double us) {
    return left + static_cast<float>(us / most_us) * std::max(8 * s, right - left);
  };
  float y = box.y0 + kHead * s;
  const auto row = [&](const std::string& name, double from_us, double to_us, const std::string& words,
                       Colour colour) {
    paint_fitted(canvas, left - 14 * s, y + 3 * s, names + 1, name, Face::small, theme.text, 1);
    const float x0 = x_of(std::min(from_us, to_us));
    canvas.fill({x0, y + 4 * s, std::max(x0 + 1.5F * s, x_of(std::max(from_us, to_us))), y + 18 * s}, colour,
                2 * s);
    canvas.text(box.x1 - kPad * s, y + 3 * s, words, Face::small, theme.text, 1);
    y += kTerm * s;
    if (to_us <= 0) return;
    paint_stroke(canvas, {x_of(to_us), y - 4 * s}, {x_of(to_us), y + 4 * s}, theme.dim, 1);
  };
  row(spec.base, 0, spec.base_us, ms_text(spec.base_us, false), spec.base_colour);
  at_us = spec.base_us;
  for (const auto& [stage, more_us] : spec.terms) {
    row(stage, at_us, at_us + more_us, ms_text(more_us, true), stage_colour(theme, stage));
    at_us += more_us;
  }
  row(spec.other, 0, spec.other_us, ms_text(spec.other_us, false), spec.other_colour);
}

std::string waterfall_csv(const WaterfallSpec& spec) {
  std::string out = fmt::format("term,us\n\"base\",{}\n", spec.base_us);
  for (const auto& [stage, more_us] : spec.terms) out += fmt::format("\"{}\",{}\n", stage, more_us);
  return out + fmt::format("\"other\",{}\n", spec.other_us);
}

float scoreboard_height(const ScoreSpec& spec, const Canvas& canvas) {
  return canvas.scale() *
         (kHead + kScoreRow * static_cast<float>(std::max<std::size_t>(1, spec.rows.size())) + 4);
}

std::vector<Box> paint_scoreboard(Canvas& canvas, const Theme& theme, const ScoreSpec& spec, const Box& box) {
  std::vector<Box> rows;
  const float s = canvas.scale();
  paint_key(canvas, theme, spec, box, paint_head(canvas, theme, box, spec.title));
  if (spec.rows.empty()) {
    paint_fitted(canvas, box.x0 + kPad * s, box.y0 + (kHead + 6) * s, box.width() - 24 * s, spec.empty,
                 Face::small, theme.dim);
    return rows;
  }
  const Columns at = columns_of(canvas, spec, box);
  float y = box.y0 + kHead * s;
  for (const ScoreRow& row : spec.rows) {
    rows.push_back({box.x0 + 4 * s, y, box.x1 - 4 * s, y + (kScoreRow - 2) * s});
    paint_stroke(canvas, {box.x0 + kPad * s, y}, {box.x1 - kPad * s, y}, theme.line, 1);
    const float room = at.bars - at.label - 12 * s;
    canvas.mark({box.x0 + (kPad + 6) * s, y + 16 * s}, row.mark, 4.5F * s, row.colour);
    paint_fitted(canvas, at.label, y + 7 * s, room, row.label, Face::bold, theme.text);
    paint_fitted(canvas, at.label, y + 27 * s, room, row.facts, Face::small, theme.dim);
    paint_rate(canvas, theme, row, at, y + 7 * s);
    paint_stages(canvas, theme, row, at, y + 27 * s);
    canvas.text(at.end, y + 7 * s, row.versus, Face::bold, row.strong ? theme.text : theme.dim, 1);
    y += kScoreRow * s;
  }
  return rows;
}

std::string scoreboard_csv(const ScoreSpec& spec) {
  std::string out = "run,samples_per_s,least,most,versus,step_us,stages,facts\n";
  for (const ScoreRow& row : spec.rows) {
    std::string stages;
    for (const auto& [stage, us] : row.stages_us)
      stages += fmt::format("{}{} {:.0f}", stages.empty() ? "" : "; ", stage, us);
    out += fmt::format("{},{},{},{},{},{},{},{}\n", csv_quoted(row.label), row.rate, row.least, row.most,
                       csv_quoted(row.versus), total_us(row.stages_us), csv_quoted(stages),
                       csv_quoted(row.facts));
  }
  return out;
}

}  // namespace isobar
