#include "cli/timeline_command.h"

#include <fmt/format.h>

#include <cstdlib>

#include "analyse/chrome_trace.h"
#include "analyse/ranks.h"
#include "analyse/run_reader.h"
#include "analyse/timeline_text.h"
#include "cli/report.h"
#include "core/error.h"
#include "core/named_file.h"
#include "core/text.h"
#include "record/run_folder.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMostRangeBytes = 4 << 20;  // of all ranks: which steps they have in common
constexpr std::size_t kMostTracedRanks = 64;

/// All ranks side by side. Those of one machine have one clock; another machine's is set so that collectives
/// end at the same time as on rank 0.
void write_trace(const fs::path& run, const NamedFile& file, RunReader& reader, Report& out) {
  const RanksView view = read_ranks(run);
  const SpanTable first = read_spans(run);
  const std::string lesson = reader.view().lesson.empty() ? "" : ": " + reader.view().lesson;
  ChromeTrace trace(place_of(file));
  trace.add(first, &reader.series(), {.rank = 0, .name = "rank 0" + lesson, .shift_us = 0});
  std::size_t guessed = 0;
  std::size_t left_out = 0;
  for (const RankFigures& rank : view.ranks) {
    std::error_code code;
    if (rank.rank == 0 || !fs::exists(RunFolder{run}.spans_file(rank.rank), code)) continue;
    if (static_cast<std::size_t>(rank.rank) >= kMostTracedRanks) {
      ++left_out;
      continue;
    }
    const SpanTable table = read_spans(run, rank.rank);
    const bool one_clock =
        rank.host == view.ranks.front().host && table.origin_us >= 0 && first.origin_us >= 0;
    if (!one_clock) ++guessed;
    const std::string clock = one_clock ? "" : " (clock set by the ends of collectives)";
    trace.add(table, nullptr,
              {.rank = rank.rank,
               .name = fmt::format("rank {}{}{}", rank.rank, lesson, clock),
               .shift_us = one_clock ? table.origin_us - first.origin_us : ends_apart_us(first, table)});
  }
  trace.finish();
  if (guessed > 0)
    out.line(
        fmt::format("{} ranks have another clock than rank 0: theirs is set so that collectives end at the "
                    "same time",
                    guessed));
  if (left_out > 0) out.line(fmt::format("{} more ranks are left out", left_out));
  out.line("written: " + file.path.string() + " (open it at https://ui.perfetto.dev or chrome://tracing)");
}

}  // namespace

void show_timeline(const std::filesystem::path& run, const TimelineRequest& request) {
  RunReader reader(run, /*keep_series=*/true);
  reader.read_all();
  const std::int64_t world = reader.view().summary.world;
  if (request.rank >= world) {
    throw Error(fmt::format("the run has no rank {}", request.rank), "--rank",
                world == 1 ? "it is of one process: leave it out" : fmt::format("from 0 to {}", world - 1));
  }
  const SpanTable table = read_spans(run, request.rank);
  const std::string name = printable(run.filename().string()) +
                           (world > 1 ? fmt::format(", rank {} of {}", request.rank, world) : "");
  Console console;
  if (request.trace_file) {
    const std::string& file = *request.trace_file;
    if (std::filesystem::path(file).extension() != ".json") {
      throw Error("a trace is a .json file", printable(file), "./isobar show RUN --trace trace.json");
    }
    Report written;
    write_trace(
        run,
        {.path = file, .option = "--trace", .kind = "trace", .mark = kTraceMark, .replace = request.replace},
        reader, written);
    if (!request.json) written.print(console);
  }
  if (!request.draw && !request.json) return;
  TimelineWish wish = request.wish;
  try {
    if (world > 1) wish.steady = read_ranks(run, kMostRangeBytes).compared();
  } catch (const Error&) {  // another rank's stream cannot be read: this one's steps are all there is
  }
  const Timeline timeline = make_timeline(table, reader.series(), wish);
  Report out;
  out.json = timeline_json(table, timeline, name);
  out.line(name);
  const bool colour = console.is_terminal() && std::getenv("NO_COLOR") == nullptr;
  out.lines(draw_timeline(table, timeline, {terminal_columns(), colour}));
  out.line("");
  out.lines(timeline_lines(table, timeline));
  out.print(request.json);
}

}  // namespace isobar
