// The clock, the words and the legend of the theatre.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "09_all_reduce/view/theatre_picture.h"
#include "core/text.h"

namespace isobar::lesson_09 {
namespace {

std::string bytes_text(double bytes) {
  return human_bytes(static_cast<std::uint64_t>(std::llround(std::max(0.0, bytes))));
}

std::string chunks_text(const Theatre& theatre, const TheatreMove& move) {
  if (move.chunks == 1) return fmt::format("chunk {}", move.first_chunk);
  if (move.chunks == theatre.chunks) return "its whole buffer";
  return fmt::format("chunks {} to {}", move.first_chunk, move.first_chunk + move.chunks - 1);
}

/// "rank 0 sends chunk 3 (4) to rank 1, which adds it to its 5: 9"
std::string move_text(const Theatre& theatre, const TheatreMove& move, std::size_t done) {
  const TheatreMoment now = theatre.after(done), then = theatre.after(done + 1);
  const auto value = [&](const TheatreMoment& moment, int rank) {
    return moment.ranks[static_cast<std::size_t>(rank)]
        .cells[static_cast<std::size_t>(move.first_chunk)]
        .value;
  };
  const double sent = value(now, move.from), own = value(now, move.to), result = value(then, move.to);
  const std::string which = move.chunks > 1 ? " (its first number " : " (";
  std::string out = fmt::format("rank {} sends {}", move.from, chunks_text(theatre, move));
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
std::string lost_text(const Theatre& theatre) {
  std::size_t count = 0;
  const TheatreMove* first = nullptr;
  for (const TheatreStep& step : theatre.steps) {
    for (const TheatreMove& move : step.moves) {
      if (move.arrives) continue;
      if (count++ == 0) first = &move;
    }
  }
  if (first == nullptr) return "";
  return fmt::format("The end of what was recorded: {} never came{} {} from rank {} to rank {}.",
                     counted(static_cast<std::int64_t>(count), "message"), count > 1 ? ", first" : ",",
                     chunks_text(theatre, *first), first->from, first->to);
}

std::string end_text(const Theatre& theatre, const TheatreMoment& moment) {
  if (moment.all_hold_the_sum()) return "Done: all ranks hold the sum of all ranks.";
  if (const std::string lost = lost_text(theatre); !lost.empty()) return lost;
  for (std::size_t rank = 0; rank < moment.ranks.size(); ++rank) {
    const std::vector<TheatreCell>& cells = moment.ranks[rank].cells;
    for (std::size_t chunk = 0; chunk < cells.size(); ++chunk) {
      const TheatreCell& cell = cells[chunk];
      if (cell.is_wrong())
        return fmt::format(
            "The end, and no sum: of chunk {} rank {} has {:.6g} where its {} values give {:.6g}.", chunk,
            rank, cell.value, cell.count(), cell.expected);
      if (cell.count() < theatre.ranks)
        return fmt::format("The end of what was recorded: of chunk {} rank {} has {} of {} ranks' values.",
                           chunk, rank, cell.count(), theatre.ranks);
    }
  }
  return "";
}

/// Where step `i` begins and ends on a bar of 0 to 1. Steps of no time have equal parts.
std::pair<double, double> part_of(const Theatre& theatre, std::size_t i) {
  const double end_us = theatre.end_us();
  if (!(end_us > 0)) {
    const auto count = static_cast<double>(theatre.steps.size());
    return {static_cast<double>(i) / count, static_cast<double>(i + 1) / count};
  }
  return {i == 0 ? 0 : theatre.steps[i - 1].end_us / end_us, theatre.steps[i].end_us / end_us};
}

/// "reduce: 3 steps" above the part of the bar that is this phase's.
void paint_phase_name(Sketch& sketch, const Theatre& theatre, CollectivePhase phase, const Box& bar,
                      float y) {
  const auto found = std::find_if(theatre.steps.begin(), theatre.steps.end(),
                                  [&](const TheatreStep& step) { return step.phase == phase; });
  if (found == theatre.steps.end()) return;
  const auto first = static_cast<std::size_t>(found - theatre.steps.begin());
  const int count = theatre.steps_of(phase);
  const double begin = part_of(theatre, first).first;
  const double end = part_of(theatre, first + static_cast<std::size_t>(count) - 1).second;
  const float x = bar.x0 + bar.width() * static_cast<float>(begin);
  const float room = bar.width() * static_cast<float>(end - begin);
  const std::string steps = counted(count, "step");
  std::vector<std::string> choices = {fmt::format("{}: {}", name_of(phase), steps), name_of(phase)};
  if (theatre.kind == AllReduceKind::ring) {
    const char* const alone = phase == CollectivePhase::reduce ? "reduce-scatter" : "all-gather";
    choices.insert(choices.begin(), fmt::format("{} ({}): {}", name_of(phase), alone, steps));
  }
  const auto fitting = std::find_if(choices.begin(), choices.end(), [&](const std::string& words) {
    return sketch.text_width(words, Face::bold) <= room;
  });
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

std::string theatre_sentence(const Theatre& theatre, std::size_t done) {
  if (done >= theatre.steps.size()) return end_text(theatre, theatre.after(done));
  const TheatreStep& step = theatre.steps[done];
  // One that never came is the one to speak of.
  const auto lost = std::find_if(step.moves.begin(), step.moves.end(),
                                 [](const TheatreMove& move) { return !move.arrives; });
  const TheatreMove& named = lost != step.moves.end() ? *lost : step.moves.front();
  const std::string rest = step.moves.size() < 2 || !named.arrives ? "." : ". The others likewise.";
  return fmt::format("Next, {}, step {} of {}: {}{}", name_of(step.phase), step.index + 1,
                     theatre.steps_of(step.phase), move_text(theatre, named, done), rest);
}

std::vector<std::string> theatre_counter_lines(const Theatre& theatre, const TheatreMoment& moment) {
  const TheatreTotals totals = totals_of(theatre, moment);
  const bool is_even = theatre.kind != AllReduceKind::ring || theatre.chunks % theatre.ranks == 0;
  const char* const about = is_even ? "" : "about ";
  std::vector<std::string> out = {
      fmt::format("{} {:g} of {}{} = {:g} messages,", totals.who, totals.messages_so_far, about,
                  totals.messages_text, totals.messages),
      fmt::format("and {} of {}{} = {}.", bytes_text(totals.bytes_so_far), about, totals.bytes_text,
                  bytes_text(totals.bytes))};
  if (theatre.kind != AllReduceKind::ring)
    out.push_back(fmt::format("In a ring each rank sends 2(N-1) = {} messages and 2(N-1)S/N = {}.",
                              ring_messages(theatre.ranks),
                              bytes_text(ring_bytes(theatre.ranks, theatre.bytes))));
  return out;
}

float paint_theatre_clock(Sketch& sketch, const Theatre& theatre, std::size_t done, PlotPoint at,
                          float width) {
  const Theme& theme = sketch.theme();
  const float line = sketch.canvas().line_height(Face::bold);
  const Box bar = {at.x, at.y + line + sketch.px(4), at.x + width, at.y + line + sketch.px(24)};
  for (const CollectivePhase phase : {CollectivePhase::reduce, CollectivePhase::spread})
    paint_phase_name(sketch, theatre, phase, bar, at.y);
  for (std::size_t i = 0; i < theatre.steps.size(); ++i) {
    const auto [begin, end] = part_of(theatre, i);
    const Box box = {bar.x0 + bar.width() * static_cast<float>(begin), bar.y0,
                     bar.x0 + bar.width() * static_cast<float>(end), bar.y1};
    const Colour colour = phase_colour(theme, theatre.steps[i].phase);
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
  std::string words = fmt::format("{} of {}", microseconds_text(theatre.after(done).clock_us),
                                  microseconds_text(theatre.end_us()));
  if (theatre.is_recorded()) words += ", as measured";
  const std::string formula = all_reduce_formula(theatre.kind);
  const double formula_us = all_reduce_us(theatre.kind, theatre.link, theatre.ranks, theatre.bytes);
  if (theatre.link.latency_us > 0 || theatre.link.bytes_per_us > 0) {
    const bool is_it = !theatre.is_recorded() && std::abs(formula_us - theatre.end_us()) < 1e-6 * formula_us;
    const char* const which = theatre.is_recorded() ? "The formula says" : "In equal groups";
    words +=
        is_it ? " = " + formula : fmt::format(". {} {} = {}", which, formula, microseconds_text(formula_us));
  } else if (!theatre.is_recorded()) {
    words += ": a link without latency and limit";
  }
  return sketch.words({at.x, bar.y1 + sketch.px(5)}, width, words, {.colour = theme.dim});
}

std::size_t theatre_step_at(const Theatre& theatre, double part) {
  for (std::size_t i = 0; i < theatre.steps.size(); ++i) {
    const auto [begin, end] = part_of(theatre, i);
    if (part < (begin + end) / 2) return i;
  }
  return theatre.steps.size();
}

float paint_theatre_legend(Sketch& sketch, const Theatre& theatre, PlotPoint at, float width) {
  const Theme& theme = sketch.theme();
  const int n = theatre.ranks, part = std::max(2, n - 1);
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
