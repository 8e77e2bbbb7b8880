// The clock, the words and the legend of the schedule.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "09_all_reduce/view/schedule_picture.h"
#include "core/text.h"

namespace isobar::lesson_09 {
namespace {

std::string bytes_text(double bytes) {
  return human_bytes(static_cast<std::uint64_t>(std::llround(std::max(0.0, bytes))));
}

std::string chunks_text(const Schedule& schedule, const ScheduleMove& move) {
  if (move.chunks == 1) return fmt::format("chunk {}", move.first_chunk);
  if (move.chunks == schedule.chunks) return "its whole buffer";
  return fmt::format("chunks {} to {}", move.first_chunk, move.first_chunk + move.chunks - 1);
}

/// "rank 0 sends chunk 3 (4) to rank 1, which adds it to its 5: 9"
std::string move_text(const Schedule& schedule, const ScheduleMove& move, std::size_t done) {
  const ScheduleMoment now = schedule.after(done), then = schedule.after(done + 1);
  const auto value = [&](const ScheduleMoment& moment, int rank) {
    return moment.ranks[static_cast<std::size_t>(rank)]
        .cells[static_cast<std::size_t>(move.first_chunk)]
        .value;
  };
  const double sent = value(now, move.from), own = value(now, move.to), result = value(then, move.to);
  const std::string which = move.chunks > 1 ? " (its first number " : " (";
  std::string out = fmt::format("rank {} sends {}", move.from, chunks_text(schedule, move));
  if (std::isfinite(sent)) out += fmt::format("{}{:.6g})", which, sent);
  out += fmt::format(" to rank {}", move.to);
  if (!move.arrives) return out + ", of whose arrival the run recorded nothing";
  out += move.adds ? ", which adds " : ", which puts it in the place of ";
  out += move.adds && std::isfinite(own) ? fmt::format("it to its {:.6g}", own)
         : move.adds                     ? "it to its own"
         : std::isfinite(own)            ? fmt::format("its {:.6g}", own)
                                         : "its own";
  return move.adds && std::isfinite(result) ? out + fmt::format(": {:.6g}", result) : out;
}

/// Of messages that no rank received; "" = all came.
std::string lost_text(const Schedule& schedule) {
  std::size_t count = 0;
  const ScheduleMove* first = nullptr;
  for (const ScheduleStep& step : schedule.steps) {
    for (const ScheduleMove& move : step.moves) {
      if (move.arrives) continue;
      if (count++ == 0) first = &move;
    }
  }
  if (first == nullptr) return "";
  return fmt::format("The end of what was recorded: {} never came{} {} from rank {} to rank {}.",
                     counted(static_cast<std::int64_t>(count), "message"), count > 1 ? ", first" : ",",
                     chunks_text(schedule, *first), first->from, first->to);
}

std::string end_text(const Schedule& schedule, const ScheduleMoment& moment) {
  if (moment.all_hold_the_sum()) return "Done: all ranks hold the sum of all ranks.";
  if (const std::string lost = lost_text(schedule); !lost.empty()) return lost;
  for (std::size_t rank = 0; rank < moment.ranks.size(); ++rank) {
    const std::vector<ScheduleCell>& cells = moment.ranks[rank].cells;
    for (std::size_t chunk = 0; chunk < cells.size(); ++chunk) {
      const ScheduleCell& cell = cells[chunk];
      if (cell.is_wrong())
        return fmt::format(
            "The end, and no sum: of chunk {} rank {} has {:.6g} where its {} values give {:.6g}.", chunk,
            rank, cell.value, cell.count(), cell.expected);
      if (cell.count() < schedule.ranks)
        return fmt::format("The end of what was recorded: of chunk {} rank {} has {} of {} ranks' values.",
                           chunk, rank, cell.count(), schedule.ranks);
    }
  }
  return "";
}

/// Where step `i` begins and ends on a bar of 0 to 1. Steps of no time have equal parts.
std::pair<double, double> part_of(const Schedule& schedule, std::size_t i) {
  const double end_us = schedule.end_us();
  if (!(end_us > 0)) {
    const auto count = static_cast<double>(schedule.steps.size());
    return {static_cast<double>(i) / count, static_cast<double>(i + 1) / count};
  }
  return {i == 0 ? 0 : schedule.steps[i - 1].end_us / end_us, schedule.steps[i].end_us / end_us};
}

/// "reduce: 3 steps" above the part of the bar that is this phase's.
void paint_phase_name(Sketch& sketch, const Schedule& schedule, CollectivePhase phase, const Box& bar,
                      float y) {
  const auto found =
      std::ranges::find_if(schedule.steps, [&](const ScheduleStep& step) { return step.phase == phase; });
  if (found == schedule.steps.end()) return;
  const auto first = static_cast<std::size_t>(found - schedule.steps.begin());
  const int count = schedule.steps_of(phase);
  const double begin = part_of(schedule, first).first;
  const double end = part_of(schedule, first + static_cast<std::size_t>(count) - 1).second;
  const float x = bar.x0 + bar.width() * static_cast<float>(begin);
  const float room = bar.width() * static_cast<float>(end - begin);
  const std::string steps = counted(count, "step");
  std::vector<std::string> choices = {fmt::format("{}: {}", name_of(phase), steps), name_of(phase)};
  if (schedule.kind == AllReduceKind::ring) {
    const char* const alone = phase == CollectivePhase::reduce ? "reduce-scatter" : "all-gather";
    choices.insert(choices.begin(), fmt::format("{} ({}): {}", name_of(phase), alone, steps));
  }
  const auto fitting = std::ranges::find_if(
      choices, [&](const std::string& words) { return sketch.text_width(words, Face::bold) <= room; });
  if (fitting == choices.end()) return;
  const Colour colour = readable(phase_colour(sketch.theme(), phase), sketch.theme().panel, 4.5);
  sketch.canvas().text(x, y, *fitting, Face::bold, colour);
}

}  // namespace

std::string microseconds_text(double us) {
  if (us < 1e3) return fmt::format("{:.4g} us", us);
  return us < 1e6 ? fmt::format("{:.4g} ms", us * 1e-3) : fmt::format("{:.4g} s", us * 1e-6);
}

const char* all_reduce_formula(AllReduceKind kind) {
  switch (kind) {
    case AllReduceKind::naive:
      return "2a + 2(N-1)S/B";
    case AllReduceKind::tree:
      return "2L(a + S/B), L = ceil(log2 N)";
    case AllReduceKind::ring:
      break;
  }
  return "2(N-1)a + 2(N-1)S/(N B)";
}

std::string schedule_sentence(const Schedule& schedule, std::size_t done) {
  if (done >= schedule.steps.size()) return end_text(schedule, schedule.after(done));
  const ScheduleStep& step = schedule.steps[done];
  // One that never came is the one to speak of.
  const auto lost = std::ranges::find_if(step.moves, [](const ScheduleMove& move) { return !move.arrives; });
  const ScheduleMove& named = lost != step.moves.end() ? *lost : step.moves.front();
  const std::string rest = step.moves.size() < 2 || !named.arrives ? "." : ". The others likewise.";
  return fmt::format("Next, {}, step {} of {}: {}{}", name_of(step.phase), step.index + 1,
                     schedule.steps_of(step.phase), move_text(schedule, named, done), rest);
}

std::vector<std::string> schedule_counter_lines(const Schedule& schedule, const ScheduleMoment& moment) {
  const ScheduleTotals totals = totals_of(schedule, moment);
  const bool is_even = schedule.kind != AllReduceKind::ring || schedule.chunks % schedule.ranks == 0;
  const char* const about = is_even ? "" : "about ";
  std::vector<std::string> out = {
      fmt::format("{} {:g} of {}{} = {:g} messages,", totals.who, totals.messages_so_far, about,
                  totals.messages_text, totals.messages),
      fmt::format("and {} of {}{} = {}.", bytes_text(totals.bytes_so_far), about, totals.bytes_text,
                  bytes_text(totals.bytes))};
  if (schedule.kind != AllReduceKind::ring)
    out.push_back(fmt::format("In a ring each rank sends 2(N-1) = {} messages and 2(N-1)S/N = {}.",
                              ring_messages(schedule.ranks),
                              bytes_text(ring_bytes(schedule.ranks, schedule.bytes))));
  return out;
}

float paint_schedule_clock(Sketch& sketch, const Schedule& schedule, std::size_t done, PlotPoint at,
                           float width) {
  const Theme& theme = sketch.theme();
  const float line = sketch.canvas().line_height(Face::bold);
  const Box bar = {at.x, at.y + line + sketch.px(4), at.x + width, at.y + line + sketch.px(24)};
  for (const CollectivePhase phase : {CollectivePhase::reduce, CollectivePhase::spread})
    paint_phase_name(sketch, schedule, phase, bar, at.y);
  for (std::size_t i = 0; i < schedule.steps.size(); ++i) {
    const auto [begin, end] = part_of(schedule, i);
    const Box box = {bar.x0 + bar.width() * static_cast<float>(begin), bar.y0,
                     bar.x0 + bar.width() * static_cast<float>(end), bar.y1};
    const Colour colour = phase_colour(theme, schedule.steps[i].phase);
    if (i < done) {
      sketch.area(box, colour);
    } else {
      sketch.pale(box, colour);
    }
    const std::string number = std::to_string(i + 1);
    if (sketch.text_width(number) + sketch.px(4) > box.width()) continue;
    sketch.canvas().text((box.x0 + box.x1) / 2,
                         (box.y0 + box.y1 - sketch.canvas().line_height(Face::small)) / 2, number,
                         Face::small, i < done ? ink_on(colour) : theme.text, 0.5F);
  }
  std::string words = fmt::format("{} of {}", microseconds_text(schedule.after(done).clock_us),
                                  microseconds_text(schedule.end_us()));
  if (schedule.is_recorded()) words += ", as measured";
  const std::string formula = all_reduce_formula(schedule.kind);
  const double formula_us = all_reduce_us(schedule.kind, schedule.link, schedule.ranks, schedule.bytes);
  if (schedule.link.latency_us > 0 || schedule.link.bytes_per_us > 0) {
    const bool is_it =
        !schedule.is_recorded() && std::abs(formula_us - schedule.end_us()) < 1e-6 * formula_us;
    const char* const which = schedule.is_recorded() ? "The formula says" : "In equal groups";
    words +=
        is_it ? " = " + formula : fmt::format(". {} {} = {}", which, formula, microseconds_text(formula_us));
  } else if (!schedule.is_recorded()) {
    words += ": a link without latency and limit";
  }
  return sketch.words({at.x, bar.y1 + sketch.px(5)}, width, words, {.colour = theme.dim});
}

std::size_t schedule_step_at(const Schedule& schedule, double part) {
  for (std::size_t i = 0; i < schedule.steps.size(); ++i) {
    const auto [begin, end] = part_of(schedule, i);
    if (part < (begin + end) / 2) return i;
  }
  return schedule.steps.size();
}

float paint_schedule_legend(Sketch& sketch, const Schedule& schedule, PlotPoint at, float width) {
  const Theme& theme = sketch.theme();
  const int n = schedule.ranks, part = std::max(2, n - 1);
  std::vector<LegendEntry> entries = {{"its own value", cell_colour(theme, 1, n)}};
  if (n > 2) entries.push_back({"a sum of some ranks", cell_colour(theme, part, n)});
  entries.push_back({"the sum of all", cell_colour(theme, n, n)});
  entries.push_back({"reduce: what arrives is added", phase_colour(theme, CollectivePhase::reduce)});
  entries.push_back({"spread: it is kept as it is", phase_colour(theme, CollectivePhase::spread)});
  const float y = sketch.legend(at, width, entries);
  return sketch.words(
      {at.x, y}, width,
      "The marks at the foot of a cell say whose values are in it, rank 0 at the left. A dot: "
      "changed by the last step.",
      {.colour = theme.dim});
}

}  // namespace isobar::lesson_09
