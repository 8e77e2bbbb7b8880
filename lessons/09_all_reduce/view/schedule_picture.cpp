#include "09_all_reduce/view/schedule_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/text.h"

namespace isobar::lesson_09 {
namespace {

constexpr float kChunkRow = 30, kLeastRow = 7,
                kMostRow = 84;  // heights of a chunk
constexpr float kMostCell = 120, kMostGap = 90;
constexpr float kGroupGap = 5;  // between the groups of a ring's chunks
constexpr float kPip = 4;
constexpr float kFirstLane = 12, kLane = 9;  // above the cells

/// Where things are.
struct ScheduleLayout {
  const Schedule& schedule;
  bool is_narrow = false;           ///< no room for more than numbers
  float label = 0;                  ///< width of the words left of the cells
  float margin = 0;                 ///< on both sides, where messages go round
  float left = 0;                   ///< of the first column
  float cell = 0, pitch = 0;        ///< of a column: width, and distance to the next
  float row = 0;                    ///< height of a chunk
  float lanes = 0;                  ///< room above the cells for messages that go over columns
  float top = 0;                    ///< of the cells
  std::vector<float> tops = {};     ///< of each chunk
  std::vector<bool> is_first = {};  ///< the chunk begins a group

  float x(int rank) const { return left + pitch * static_cast<float>(rank); }
  /// Of words at a column, centred.
  float words_room() const { return cell + std::min(pitch - cell, 2 * margin); }
  float below(const Sketch& sketch) const { return sketch.px(margin > 0 ? 14 : 6); }
  bool has_bytes(const Sketch& sketch) const { return sketch.text_width("000.0 MB") < words_room(); }
  float bottom() const { return tops.back() + row; }
  Box cells(int rank, int first, int count) const {
    const auto last = static_cast<std::size_t>(first + count - 1);
    return {x(rank), tops[static_cast<std::size_t>(first)], x(rank) + cell, tops[last] + row};
  }
};

bool goes_round(const Schedule& schedule, const ScheduleMove& move) {
  return schedule.ranks > 2 && std::abs(move.from - move.to) == schedule.ranks - 1;
}

/// From column to column beside each other, or round from the last to the
/// first.
bool goes_level(const Schedule& schedule, const ScheduleMove& move) {
  return schedule.kind == AllReduceKind::ring &&
         (std::abs(move.from - move.to) == 1 || goes_round(schedule, move));
}

/// Chunks at which a group begins: those with which the moves of a ring begin.
std::vector<bool> group_begins(const Schedule& schedule) {
  std::vector<bool> out(static_cast<std::size_t>(schedule.chunks), false);
  if (schedule.kind != AllReduceKind::ring || schedule.chunks <= schedule.ranks) return out;
  for (const ScheduleStep& step : schedule.steps) {
    for (const ScheduleMove& move : step.moves) out[static_cast<std::size_t>(move.first_chunk)] = true;
  }
  out[0] = false;
  return out;
}

/// Lanes that the messages of a step need which go over columns; of each move
/// its lane, -1 = it is level.
std::vector<int> lanes_of(const Schedule& schedule, const ScheduleStep& step) {
  std::vector<int> out;
  std::vector<std::vector<std::pair<int, int>>> taken;
  for (const ScheduleMove& move : step.moves) {
    out.push_back(-1);
    if (goes_level(schedule, move)) continue;
    const auto [low, high] = std::minmax(move.from, move.to);
    std::size_t lane = 0;
    const auto is_free = [&](const auto& all) {
      return std::ranges::all_of(
          all, [&, a = low, b = high](const auto& one) { return one.second < a || one.first > b; });
    };
    while (lane < taken.size() && !is_free(taken[lane])) ++lane;
    if (lane == taken.size()) taken.emplace_back();
    taken[lane].emplace_back(low, high);
    out.back() = static_cast<int>(lane);
  }
  return out;
}

int most_lanes(const Schedule& schedule) {
  int out = 0;
  for (const ScheduleStep& step : schedule.steps) {
    for (const int lane : lanes_of(schedule, step)) out = std::max(out, lane + 1);
  }
  return out;
}

std::string chunk_label(int chunk, bool is_narrow) {
  return fmt::format("{}{}", is_narrow ? "" : "chunk ", chunk);
}

ScheduleLayout stage_of(Sketch& sketch, const Schedule& schedule, PlotPoint at, float width, float height) {
  ScheduleLayout out{.schedule = schedule};
  const auto ranks = static_cast<float>(schedule.ranks);
  const bool narrow = width / ranks < sketch.px(60);
  out.label = sketch.text_width("sent");
  for (int chunk = 0; chunk < schedule.chunks; ++chunk)
    out.label = std::max(out.label, sketch.text_width(chunk_label(chunk, narrow)));
  out.label += sketch.px(8);
  out.is_narrow = narrow;
  out.margin = schedule.kind == AllReduceKind::ring && schedule.ranks > 2 ? sketch.px(narrow ? 14 : 24) : 0;
  const float room = width - out.label - 2 * out.margin;
  const float gap = std::clamp((narrow ? 0.3F : 0.4F) * room / ranks, sketch.px(6), sketch.px(kMostGap));
  out.cell = std::min((room + gap) / ranks - gap, sketch.px(kMostCell));
  out.pitch = out.cell + gap;
  const float used = out.pitch * ranks - gap;
  out.left = at.x + out.label + out.margin + std::max(0.0F, (room - used) / 2);
  const int lanes = most_lanes(schedule);
  out.lanes = lanes == 0 ? 0 : sketch.px(kFirstLane + 5 + kLane * static_cast<float>(lanes));
  out.top = at.y + sketch.canvas().line_height(Face::small) + sketch.px(6) + out.lanes;
  out.is_first = group_begins(schedule);
  const auto gaps = static_cast<float>(std::ranges::count(out.is_first, true));
  const float free = (height > 0 ? sketch.px(height) : 1e9F) - gaps * sketch.px(kGroupGap);
  const float natural = sketch.px(height > 0 ? kMostRow : kChunkRow);
  const float most =
      std::max(sketch.px(kChunkRow), std::min(natural, 1.2F * out.cell));  // no high, thin ones
  out.row = sketch.canvas().height_of(
      std::clamp(free / static_cast<float>(schedule.chunks), sketch.px(kLeastRow), most));
  float y = out.top;
  for (std::size_t chunk = 0; chunk < out.is_first.size(); ++chunk) {
    if (out.is_first[chunk]) y += sketch.px(kGroupGap);
    out.tops.push_back(y);
    y += out.row;
  }
  return out;
}

std::string cell_number(double value) { return std::isfinite(value) ? fmt::format("{:.6g}", value) : ""; }

/// One mark for each rank at the foot of a cell, filled where its values are in
/// it: all of it where the cell is too low for a number.
void paint_pips(Sketch& sketch, const ScheduleCell& cell, int ranks, const Box& box) {
  const Theme& theme = sketch.theme();
  const float step = box.width() / static_cast<float>(ranks);
  const float gap = step < sketch.px(3) ? 0 : std::min(sketch.px(2), 0.3F * step);
  for (int rank = 0; rank < ranks; ++rank) {
    const float x = box.x0 + step * static_cast<float>(rank);
    const bool is_in = (cell.ranks >> rank & 1U) != 0;
    sketch.canvas().fill({x + gap / 2, box.y0, x + step - gap / 2, box.y1},
                         is_in ? theme.text : with_alpha(theme.dim, 0.28F));
  }
}

void paint_cell(Sketch& sketch, const ScheduleCell& cell, int ranks, const Box& box) {
  const Theme& theme = sketch.theme();
  const bool is_full = cell.count() == ranks;
  sketch.canvas().fill(box, cell_colour(theme, cell.count(), ranks));
  sketch.canvas().frame(box, with_alpha(theme.dim, 0.5F));
  const float inset = sketch.px(box.width() < sketch.px(40) ? 2 : 3), pip = sketch.px(kPip);
  const float line = sketch.canvas().line_height(Face::small);
  const bool has_rows = sketch.is_text();  // a number needs all of one
  if (box.height() < line + pip + sketch.px(4) && !has_rows) {
    const float thin = std::min(sketch.px(2), 0.2F * box.height());
    return paint_pips(sketch, cell, ranks, {box.x0 + inset, box.y0 + thin, box.x1 - inset, box.y1 - thin});
  }
  if (!has_rows || box.height() > 2 * line)
    paint_pips(sketch, cell, ranks, {box.x0 + inset, box.y1 - inset - pip, box.x1 - inset, box.y1 - inset});
  if (cell.changed && box.width() >= sketch.px(48))
    sketch.canvas().circle({box.x1 - sketch.px(5), box.y0 + sketch.px(5)}, sketch.px(2), theme.text, true);
  const bool is_high = box.height() >= sketch.px(44);
  const Face face = is_full ? Face::bold : is_high ? Face::text : Face::small;
  const std::string words = cell_number(cell.value) + (cell.is_wrong() ? "!" : "");
  if (words.empty() || sketch.text_width(words, face) > box.width() - sketch.px(1)) return;
  const float room = has_rows ? box.height() - sketch.px(2) : box.height() - inset - pip;
  sketch.canvas().text((box.x0 + box.x1) / 2,
                       box.y0 + (room - sketch.canvas().line_height(face)) / 2 + sketch.px(1), words, face,
                       cell.is_wrong() ? theme.bad : theme.text, 0.5F);
}

void paint_row_labels(Sketch& sketch, const ScheduleLayout& stage) {
  const float line = sketch.canvas().line_height(Face::small);
  const float x = stage.left - stage.margin - sketch.px(8);
  float free_from = -1e9F;
  for (std::size_t chunk = 0; chunk < stage.tops.size(); ++chunk) {
    const float y = stage.tops[chunk] + (stage.row - line) / 2;
    if (y < free_from) continue;
    sketch.canvas().text(x, y, chunk_label(static_cast<int>(chunk), stage.is_narrow), Face::small,
                         sketch.theme().dim, 1);
    free_from = y + line;
  }
}

void paint_heads(Sketch& sketch, const ScheduleLayout& stage, float y) {
  const bool is_short = sketch.text_width("rank 00") > stage.words_room();
  for (int rank = 0; rank < stage.schedule.ranks; ++rank)
    sketch.canvas().text(stage.x(rank) + stage.cell / 2, y,
                         fmt::format("{}{}", is_short ? "" : "rank ", rank), Face::small, sketch.theme().text,
                         0.5F);
}

/// The way from the last column back to the first.
void paint_way_round(Sketch& sketch, const ScheduleLayout& stage) {
  if (stage.margin == 0) return;
  const float right = stage.x(stage.schedule.ranks - 1) + stage.cell + stage.margin;
  const float left = stage.left - stage.margin, bottom = stage.bottom() + sketch.px(8);
  const std::array<PlotPoint, 4> way = {PlotPoint{right, stage.top + stage.row / 2}, PlotPoint{right, bottom},
                                        PlotPoint{left, bottom}, PlotPoint{left, stage.top + stage.row / 2}};
  sketch.canvas().line(way, with_alpha(sketch.theme().dim, 0.6F), sketch.px(1), Dash::solid);
}

struct MoveStroke {
  Colour colour = 0;
  float width = 1;
};

void paint_level(Sketch& sketch, const ScheduleLayout& stage, const ScheduleMove& move,
                 const MoveStroke& stroke) {
  const Box from = stage.cells(move.from, move.first_chunk, move.chunks);
  const Box to = stage.cells(move.to, move.first_chunk, move.chunks);
  const float y = (from.y0 + from.y1) / 2, off = sketch.px(1);
  const bool round = goes_round(stage.schedule, move);
  const bool rightwards = (move.from < move.to) != round;
  const float begin = rightwards ? from.x1 + off : from.x0 - off;
  const float end = rightwards ? to.x0 - off : to.x1 + off;
  if (!round) {
    sketch.arrow({begin, y}, {end, y}, stroke.colour, stroke.width);
  } else {
    const float out = rightwards ? stage.margin : -stage.margin;
    sketch.line({begin, y}, {begin + out - off, y}, stroke.colour, stroke.width);
    sketch.arrow({end - out + off, y}, {end, y}, stroke.colour, stroke.width);
  }
}

void paint_over(Sketch& sketch, const ScheduleLayout& stage, const ScheduleMove& move, int lane,
                const MoveStroke& stroke) {
  const float off = std::min(sketch.px(5), stage.cell / 5);
  const float from = stage.x(move.from) + stage.cell / 2 + off;
  const float to = stage.x(move.to) + stage.cell / 2 - off;
  const float foot = stage.top - sketch.px(2),
              y = foot - sketch.px(kFirstLane + kLane * static_cast<float>(lane));
  const std::array<PlotPoint, 3> way = {PlotPoint{from, foot}, PlotPoint{from, y}, PlotPoint{to, y}};
  sketch.canvas().line(way, stroke.colour, sketch.px(stroke.width), Dash::solid);
  sketch.arrow({to, y}, {to, foot}, stroke.colour, stroke.width);
}

void paint_moves(Sketch& sketch, const ScheduleLayout& stage, const ScheduleStep& step, bool is_done) {
  const Theme& theme = sketch.theme();
  const Colour colour = phase_colour(theme, step.phase);
  const MoveStroke stroke{is_done ? with_alpha(colour, 0.45F) : colour, is_done ? 1.0F : 2.5F};
  const std::vector<int> lanes = lanes_of(stage.schedule, step);
  for (std::size_t i = 0; i < step.moves.size(); ++i) {
    const ScheduleMove& move = step.moves[i];
    const Box source = stage.cells(move.from, move.first_chunk, move.chunks);
    const Box target = stage.cells(move.to, move.first_chunk, move.chunks);
    if (!is_done) paint_outline(sketch.canvas(), source, colour, sketch.px(2));
    if (lanes[i] < 0) {
      paint_level(sketch, stage, move, stroke);
    } else {
      paint_over(sketch, stage, move, lanes[i], stroke);
    }
    if (!move.arrives)
      sketch.mark({target.x0 + sketch.px(4), (target.y0 + target.y1) / 2}, Mark::cross, theme.bad,
                  is_done ? 3 : 5);
    const float gap = stage.pitch - stage.cell, line = sketch.canvas().line_height(Face::small);
    const bool has_room = lanes[i] < 0 && !goes_round(stage.schedule, move) && gap >= sketch.px(22) &&
                          source.height() >= 2 * line;
    if (!is_done && move.adds && move.arrives && has_room)
      sketch.canvas().text((std::min(source.x1, target.x1) + std::max(source.x0, target.x0)) / 2,
                           (source.y0 + source.y1) / 2 - line - sketch.px(1), "+", Face::small, colour, 0.5F);
  }
}

float sent_line(Sketch& sketch) { return sketch.canvas().line_height(Face::small) * 1.15F; }

/// What each rank sent so far; bytes where they fit.
float paint_sent(Sketch& sketch, const ScheduleLayout& stage, const ScheduleMoment& moment, float y) {
  const Theme& theme = sketch.theme();
  const float line = sent_line(sketch);
  const bool fits = sketch.text_width("00 sent") < stage.words_room();
  const bool has_bytes = stage.has_bytes(sketch);
  for (std::size_t rank = 0; rank < moment.ranks.size(); ++rank) {
    const std::string bytes =
        human_bytes(static_cast<std::uint64_t>(std::llround(moment.ranks[rank].sent_bytes)));
    const float x = stage.x(static_cast<int>(rank)) + stage.cell / 2;
    sketch.canvas().text(x, y, fmt::format("{}{}", moment.ranks[rank].sent, fits ? " sent" : ""), Face::small,
                         theme.dim, 0.5F);
    if (has_bytes) sketch.canvas().text(x, y + line, bytes, Face::small, theme.dim, 0.5F);
  }
  if (!fits)
    sketch.canvas().text(stage.left - stage.margin - sketch.px(8), y, "sent", Face::small, theme.dim, 1);
  return y + line * (has_bytes ? 2.0F : 1.0F);
}

}  // namespace

Colour phase_colour(const Theme& theme, CollectivePhase phase) {
  return theme.series[phase == CollectivePhase::reduce ? 1 : 2];
}

Colour cell_colour(const Theme& theme, int count, int ranks) {
  if (count == ranks) return mixed(theme.panel, phase_colour(theme, CollectivePhase::spread), 0.34F);
  const float part = static_cast<float>(count - 1) / static_cast<float>(std::max(1, ranks - 1));
  return count <= 1 ? mixed(theme.panel, theme.dim, 0.18F)
                    : mixed(theme.panel, phase_colour(theme, CollectivePhase::reduce), 0.10F + 0.28F * part);
}

float schedule_rest_height(Sketch& sketch, const Schedule& schedule, float width) {
  const ScheduleLayout stage = stage_of(sketch, schedule, {0, 0}, width, 1);
  return stage.top + stage.below(sketch) + sent_line(sketch) * (stage.has_bytes(sketch) ? 2.0F : 1.0F);
}

float paint_schedule(Sketch& sketch, const Schedule& schedule, std::size_t done, PlotPoint at, float width,
                     float height) {
  const ScheduleLayout stage = stage_of(sketch, schedule, at, width, height);
  const ScheduleMoment moment = schedule.after(done);
  paint_heads(sketch, stage, at.y);
  paint_row_labels(sketch, stage);
  paint_way_round(sketch, stage);
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    const std::vector<ScheduleCell>& cells = moment.ranks[static_cast<std::size_t>(rank)].cells;
    for (std::size_t chunk = 0; chunk < cells.size(); ++chunk)
      paint_cell(sketch, cells[chunk], schedule.ranks, stage.cells(rank, static_cast<int>(chunk), 1));
  }
  for (std::size_t i = 0; i < std::min(done, schedule.steps.size()); ++i)
    paint_moves(sketch, stage, schedule.steps[i], /*is_done=*/true);
  if (done < schedule.steps.size()) paint_moves(sketch, stage, schedule.steps[done], /*is_done=*/false);
  return paint_sent(sketch, stage, moment, stage.bottom() + stage.below(sketch));
}

}  // namespace isobar::lesson_09
