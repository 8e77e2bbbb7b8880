#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analyse/timeline.h"
#include "core/find.h"
#include "core/text.h"
#include "draw/nice_step.h"
#include "log/table.h"

namespace isobar {
namespace {

constexpr std::size_t kFewestColumns = 60;
constexpr std::size_t kMostColumns = 1000;
constexpr std::size_t kMostLabel = 16;
constexpr std::size_t kMostTrackRows = 48;
constexpr double kColumnsPerTick = 8;
constexpr char kIdle = '.';

/// How a name is drawn: the same in every picture.
struct Look {
  std::string_view name;
  char letter;
  int colour;  ///< colour of the escape code
};
constexpr std::array<Look, 16> kLooks = {{{"load", 'L', 33},
                                          {"copy", 'C', 36},
                                          {"forward", 'F', 32},
                                          {"backward", 'B', 34},
                                          {"comm", 'M', 31},
                                          {"optimize", 'O', 35},
                                          {"validate", 'V', 37},
                                          {"checkpoint", 'S', 37},
                                          {"read", 'r', 33},
                                          {"normalise", 'n', 32},
                                          {"wait", 'w', 90},
                                          {"upload", 'u', 36},
                                          {"replay", 'R', 35},
                                          {"all-reduce", 'A', 31},
                                          {"all_reduce", 'A', 31},
                                          {"broadcast", 'T', 31}}};
constexpr std::string_view kOtherLetters = "abcdefghijklmopqstvxyzADEGHIJKNPQTUWXYZ0123456789";

const Look* look_of(std::string_view name) { return find_by(kLooks, &Look::name, name); }

/// A letter for each name that is drawn, 0 for the others. Names that are not known get what is left of their
/// own letters, then of all.
std::vector<char> letters_of(const SpanTable& table, const Timeline& timeline) {
  std::vector<char> out(table.names.size(), 0);
  std::string taken;
  for (const std::size_t i : timeline.spans) {
    const std::size_t name = table.spans[i].name;
    if (out[name] != 0) continue;
    const std::string& text = table.names[name];
    if (const Look* const look = look_of(text); look != nullptr) {
      out[name] = look->letter;
      continue;
    }
    const std::string wishes = text + std::string(kOtherLetters);
    const auto free = std::ranges::find_if(wishes, [&](char c) {
      return kOtherLetters.find(c) != std::string_view::npos && taken.find(c) == std::string::npos;
    });
    out[name] = free == wishes.end() ? '#' : *free;
    taken += out[name];
  }
  return out;
}

/// The columns of the picture as stretches of time.
struct Scale {
  double begin_us;
  double cell_us;
  std::size_t cells;

  double column_of(double time_us) const { return (time_us - begin_us) / cell_us; }
};

/// One row: what covers most of each cell.
std::string row_of(const SpanTable& table, const Timeline& timeline, std::size_t track,
                   const std::vector<char>& letters, const Scale& scale) {
  const std::size_t names = table.names.size();
  std::vector<double> covered(scale.cells * names, 0);
  for (const std::size_t i : timeline.spans) {
    const SpanRow& span = table.spans[i];
    if (span.track != track) continue;
    const double begin = std::max(0.0, scale.column_of(static_cast<double>(span.begin_us)));
    const double end =
        std::min(static_cast<double>(scale.cells), scale.column_of(static_cast<double>(span.end_us)));
    for (auto cell = static_cast<std::size_t>(begin); static_cast<double>(cell) < end; ++cell) {
      const auto left = static_cast<double>(cell);
      covered[cell * names + span.name] += std::min(end, left + 1) - std::max(begin, left);
    }
  }
  std::string out(scale.cells, kIdle);
  for (std::size_t cell = 0; cell < scale.cells; ++cell) {
    const auto begin = covered.begin() + static_cast<std::ptrdiff_t>(cell * names);
    const auto end = begin + static_cast<std::ptrdiff_t>(names);
    double all = 0;
    for (auto it = begin; it != end; ++it) all += *it;
    const auto most = std::max_element(begin, end);
    if (most != end && *most > 0 && *most >= 1 - all)
      out[cell] = letters[static_cast<std::size_t>(most - begin)];
  }
  return out;
}

/// Puts "|text" at a column when it is free there.
void put_mark(std::string& line, std::size_t column, const std::string& text) {
  const std::string mark = "|" + text;
  if (column >= line.size()) return;
  const std::size_t end = std::min(line.size(), column + mark.size());
  const bool free = line.find_first_not_of(' ', column == 0 ? 0 : column - 1) >= end;
  if (free && column + mark.size() <= line.size()) {
    line.replace(column, mark.size(), mark);
  } else if (line[column] == ' ') {
    line[column] = '|';
  }
}

std::string step_row(const Timeline& timeline, const Scale& scale) {
  std::string out(scale.cells, ' ');
  for (const StepWindow& window : timeline.drawn) {
    put_mark(out, static_cast<std::size_t>(scale.column_of(static_cast<double>(window.begin_us))),
             std::to_string(window.step));
  }
  return out;
}

std::string time_row(const Scale& scale) {
  std::string out(scale.cells, ' ');
  const double range_ms = scale.cell_us * static_cast<double>(scale.cells) * 1e-3;
  const double step_ms = nice_step(range_ms, static_cast<double>(scale.cells) / kColumnsPerTick);
  const int decimals = std::max(0, static_cast<int>(-std::floor(std::log10(step_ms) + 1e-9)));
  for (int tick = 0; tick * step_ms < range_ms; ++tick) {
    const auto column = static_cast<std::size_t>(tick * step_ms * 1e3 / scale.cell_us);
    put_mark(out, column, fmt::format("{:.{}f}", tick * step_ms, decimals));
  }
  return out;
}

/// A row with runs of one letter in the colour of its name.
std::string coloured(const std::string& row, const std::vector<char>& letters, const SpanTable& table) {
  std::string out;
  for (std::size_t at = 0; at < row.size();) {
    const std::size_t end = std::min(row.size(), row.find_first_not_of(row[at], at));
    const auto name = static_cast<std::size_t>(std::ranges::find(letters, row[at]) - letters.begin());
    const Look* const look = name < letters.size() ? look_of(table.names[name]) : nullptr;
    const std::string run = row.substr(at, end - at);
    out += look == nullptr ? run : fmt::format("\x1b[7;{}m{}\x1b[0m", look->colour, run);
    at = end;
  }
  return out;
}

std::string without_end_blanks(const std::string& line) {
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

std::string label_of(const std::string& text, std::size_t width) {
  return fmt::format("  {:<{}} ", text.substr(0, width), width);
}

/// A slow disk gives some thousandths.
std::string gb_per_s(double rate) {
  return rate < 0.1 ? fmt::format("{:.4f}", rate) : fmt::format("{:.2f}", rate);
}

/// "L load  F forward  . idle", in lines that fit.
std::vector<std::string> legend(const SpanTable& table, const std::vector<char>& letters,
                                std::size_t columns) {
  std::vector<std::string> entries;
  for (const Look& look : kLooks) {
    const auto found = std::ranges::find(table.names, look.name);
    const auto name = static_cast<std::size_t>(found - table.names.begin());
    if (name < letters.size() && letters[name] != 0)
      entries.push_back(fmt::format("{} {}", look.letter, look.name));
  }
  for (std::size_t name = 0; name < letters.size(); ++name) {
    if (letters[name] != 0 && look_of(table.names[name]) == nullptr)
      entries.push_back(fmt::format("{} {}", letters[name], table.names[name]));
  }
  entries.push_back(fmt::format("{} idle", kIdle));
  std::vector<std::string> lines = {" "};
  for (const std::string& entry : entries) {
    if (lines.back().size() > 1 && lines.back().size() + entry.size() + 2 > columns) lines.emplace_back(" ");
    lines.back() += (lines.back().size() > 1 ? "  " : " ") + entry;
  }
  return lines;
}

}  // namespace

std::vector<std::string> draw_timeline(const SpanTable& table, const Timeline& timeline,
                                       const TextWidth& width) {
  const std::size_t columns = std::clamp(width.columns, kFewestColumns, kMostColumns);
  std::size_t label = 4;
  for (const std::size_t track : timeline.tracks)
    label = std::max(label, std::min(kMostLabel, table.tracks[track].size()));
  Scale scale{static_cast<double>(timeline.begin_us), 1, columns - label - 3};
  scale.cell_us = static_cast<double>(timeline.end_us - timeline.begin_us) / static_cast<double>(scale.cells);
  const std::vector<char> letters = letters_of(table, timeline);
  const std::int64_t first = timeline.drawn.front().step;
  const std::int64_t last = timeline.drawn.back().step;
  std::vector<std::string> out;
  out.push_back(
      fmt::format("  {}{}: {:.1f} ms, from {:.3f} s after the start",
                  first == last ? fmt::format("step {}", first) : fmt::format("steps {} to {}", first, last),
                  table.attempt > 0 ? fmt::format(" of attempt {}", table.attempt) : "",
                  static_cast<double>(timeline.end_us - timeline.begin_us) * 1e-3,
                  static_cast<double>(timeline.begin_us) * 1e-6));
  out.push_back(without_end_blanks(label_of("ms", label) + time_row(scale)));
  out.push_back(without_end_blanks(label_of("step", label) + step_row(timeline, scale)));
  for (std::size_t i = 0; i < std::min(kMostTrackRows, timeline.tracks.size()); ++i) {
    const std::size_t track = timeline.tracks[i];
    const std::string row = row_of(table, timeline, track, letters, scale);
    out.push_back(label_of(table.tracks[track], label) +
                  (width.colour ? coloured(row, letters, table) : row));
  }
  if (timeline.tracks.size() > kMostTrackRows)
    out.push_back(fmt::format("  and {} more tracks", timeline.tracks.size() - kMostTrackRows));
  for (const std::string& line : legend(table, letters, columns)) out.push_back(line);
  return out;
}

std::string comm_text(const CommTimes& comm) {
  const int digits = comm.calls == std::round(comm.calls) ? 0 : 1;  // a mean over steps need not be whole
  std::string out = fmt::format("{:.3f} ms a step under way in {:.{}f} {}", comm.total_us * 1e-3, comm.calls,
                                digits, comm.calls == 1 ? "call" : "calls");
  if (comm.overlap && comm.backward_overlap)
    out += fmt::format(", {:.1f} % of it beside compute ({:.1f} % beside backward)", 100 * *comm.overlap,
                       100 * *comm.backward_overlap);
  out += fmt::format("; {:.3f} ms exposed", comm.exposed_us * 1e-3);
  if (comm.last_bucket) out += fmt::format(" ({:.1f} % of it the last bucket)", 100 * *comm.last_bucket);
  return out + fmt::format(", buckets ready but not under way {:.3f} ms", comm.queued_us * 1e-3);
}

std::vector<FigureRow> figure_rows(const SpanTable& table, const Timeline& timeline) {
  std::vector<FigureRow> out;
  for (std::size_t i = 0; i < std::min(kMostTrackRows, timeline.figures.size()); ++i) {
    const TrackFigures& track = timeline.figures[i];
    for (const NameFigures& name : track.names) {
      const bool first = &name == &track.names.front();
      out.push_back(
          {track.track,
           name.name,
           {first ? table.tracks[track.track] : "", first ? fmt::format("{:.0f} %", 100 * track.busy) : "",
            table.names[name.name], fmt::format("{:.3f}", name.step_us * 1e-3),
            fmt::format("{:.1f} %", 100 * name.share), std::to_string(name.steps),
            name.bytes_per_us > 0 ? gb_per_s(name.bytes_per_us * 1e-3) : ""}});
    }
  }
  return out;
}

std::vector<std::string> timeline_lines(const SpanTable& table, const Timeline& timeline) {
  std::vector<std::string> out;
  out.push_back(fmt::format("  Over steps {} to {}; a step takes {:.2f} ms (mean; median {:.2f})",
                            timeline.steady.front().step, timeline.steady.back().step,
                            timeline.step_us * 1e-3, timeline.median_step_us * 1e-3));
  Table figures = {.columns = {kFigureHeads.begin(), kFigureHeads.end()}, .left = 3};
  for (const FigureRow& row : figure_rows(table, timeline)) figures.add({row.cells.begin(), row.cells.end()});
  for (const std::string& line : table_lines(figures)) out.push_back(line);
  if (timeline.upload_beside_compute) {
    out.push_back(
        fmt::format("  upload       {:.1f} % of its time runs beside compute (forward, backward, optimize)",
                    100 * *timeline.upload_beside_compute));
  }
  if (timeline.comm) out.push_back("  comm         " + comm_text(*timeline.comm));
  if (timeline.stall) {
    out.push_back(fmt::format("  stall        {:.3f} ms a step (mean), {:.1f} % of the step",
                              timeline.stall->step_us * 1e-3, 100 * timeline.stall->of_step));
  }
  if (timeline.ready)
    out.push_back(
        fmt::format("  ready        {:.2f} batches when one was asked for (mean)", *timeline.ready));
  if (table.left_out + table.unread_lines > 0) {
    out.push_back(fmt::format("  {} spans were left out, {} lines could not be read",
                              human_count(table.left_out), human_count(table.unread_lines)));
  }
  return out;
}

Json timeline_json(const SpanTable& table, const Timeline& timeline, const std::string& run) {
  const Json spans = json_list(timeline.spans, [&](std::size_t i) {
    const SpanRow& span = table.spans[i];
    const std::string &track = table.tracks[span.track], &name = table.names[span.name];
    return ISOBAR_NAMED(track, name, span.step, span.begin_us, span.duration_us(), span.bytes);
  });
  const Json tracks = json_list(timeline.figures, [&](const TrackFigures& figures) {
    const Json names = json_list(figures.names, [&](const NameFigures& one) {
      const std::string& name = table.names[one.name];
      const double gb_per_s = one.bytes_per_us * 1e-3;
      return ISOBAR_NAMED(name, one.step_us, one.share, one.steps, one.bytes, gb_per_s);
    });
    const std::string& track = table.tracks[figures.track];
    return ISOBAR_NAMED(track, figures.busy, names);
  });
  Json comm, stall;
  if (const auto& of = timeline.comm)
    comm = ISOBAR_NAMED(of->total_us, of->exposed_us, of->queued_us, of->calls, of->bytes, of->overlap,
                        of->backward_overlap, of->last_bucket);
  if (const auto& of = timeline.stall) stall = ISOBAR_NAMED(of->step_us, of->of_step);
  const auto range = [](const std::vector<StepWindow>& steps) {
    const std::int64_t first_step = steps.front().step, last_step = steps.back().step;
    return ISOBAR_NAMED(first_step, last_step);
  };
  Json drawn = range(timeline.drawn), steady = range(timeline.steady);
  add_members(drawn, ISOBAR_NAMED(timeline.begin_us, timeline.end_us, spans));
  const std::optional<double> queue_slots = timeline.ready;
  add_members(steady, ISOBAR_NAMED(timeline.step_us, timeline.median_step_us, tracks,
                                   timeline.upload_beside_compute, comm, stall, queue_slots));
  return ISOBAR_NAMED(run, table.attempt, drawn, steady, table.left_out, table.unread_lines);
}

}  // namespace isobar
