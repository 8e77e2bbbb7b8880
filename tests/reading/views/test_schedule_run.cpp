// Runs that go on, and spans that are more than a schedule holds.
#include <fmt/format.h>

#include "09_all_reduce/view/schedule_run.h"
#include "record/json_line.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/made_spans.h"
#include "support/says.h"

namespace isobar::test_schedule_run {

namespace {

struct Said {
  const char* phase = "reduce";
  int chunk_step = 0, sent = -1, received = -1, to = -1, from = -1;
};

void add(MadeSpans& spans, std::int64_t step, const Said& said, const std::string& of = "all_reduce") {
  JsonLine line("span");
  line.add("step", step).add("track", "all_reduce").add("name", said.phase).add("of", of);
  line.add("begin_us", 1).add("duration_us", 1).add("bytes", 4).add("chunk_step", said.chunk_step);
  if (said.sent >= 0) line.add("sent_chunk", said.sent);
  if (said.received >= 0) line.add("received_chunk", said.received);
  if (said.to >= 0) line.add("to", said.to);
  if (said.from >= 0) line.add("from", said.from);
  spans.line(line);
}

/// One of two ranks that exchange two chunks, up to its first `phases` phases.
void add_exchange(MadeSpans& spans, int rank, std::int64_t step, int phases = 2) {
  const int other = 1 - rank;
  add(spans, step, {"reduce", 0, rank, other, other, other});
  if (phases > 1) add(spans, step, {"spread", 0, other, rank, other, other});
}

/// `ranks`: what each of them recorded.
void write(const TempFolder& folder, const std::vector<MadeSpans>& ranks) {
  write_file_whole(folder / "run.toml", "");
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    write_file_whole(folder / fmt::format("rank-{:04}.jsonl", rank), "");
    write_file_whole(folder / fmt::format("rank-{:04}.spans.jsonl", rank), ranks[rank].text());
  }
}

std::vector<MadeSpans> begun(std::size_t ranks) {
  std::vector<MadeSpans> out(ranks);
  for (MadeSpans& one : out) one.attempt(0);
  return out;
}

std::vector<std::int64_t> steps_of(const ScheduleRun& run) {
  std::vector<std::int64_t> out;
  for (const ScheduleChoice& choice : run.choices()) out.push_back(choice.step);
  return out;
}

using Steps = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("of a run that goes on only all-reduces that are whole on all ranks are listed") {
  const TempFolder folder;
  std::vector<MadeSpans> ranks = begun(2);
  for (int step = 0; step < 3; ++step) add_exchange(ranks[0], 0, step);
  write(folder, ranks);
  CHECK_THAT(error_of([&] { ScheduleRun run(folder.path(), RunGoesOn::yes); }), says("whole on all ranks"));
  CHECK(steps_of(ScheduleRun(folder.path())) == Steps{0, 1, 2});
  add_exchange(ranks[1], 1, 0);  // made the sum: it need not have gone on
  write(folder, ranks);
  CHECK(steps_of(ScheduleRun(folder.path(), RunGoesOn::yes)) == Steps{0});
  add_exchange(ranks[1], 1, 1);
  add_exchange(ranks[1], 1, 2, /*phases=*/1);
  write(folder, ranks);
  const ScheduleRun going(folder.path(), RunGoesOn::yes);
  CHECK(steps_of(going) == Steps{0, 1});
  const Schedule whole = going.schedule(going.choices().back());
  CHECK(whole.after(whole.steps.size()).all_hold_the_sum());
  CHECK(steps_of(ScheduleRun(folder.path())) == Steps{0, 1, 2});
}

TEST_CASE("a run of too many ranks is refused before its spans are read") {
  const TempFolder folder;
  std::vector<MadeSpans> ranks = begun(kMostScheduleRanks + 1);
  ranks[0] = MadeSpans().line(JsonLine("attempt").add("schema", 99));  // no spans of this version
  write(folder, ranks);
  CHECK_THAT(error_of([&] { ScheduleRun run(folder.path()); }), says("17 ranks") && says("room for 16"));
}

TEST_CASE("spans that are no steps of a collective take no room of those that are") {
  const TempFolder folder;
  std::vector<MadeSpans> ranks = begun(2);
  for (int rank = 0; rank < 2; ++rank) {
    MadeSpans& spans = ranks[static_cast<std::size_t>(rank)];
    for (std::size_t i = 0; i < kMostTracks; ++i) spans.span(0, fmt::format("load.{}", i), "read", 1, 1);
    add_exchange(spans, rank, 0);
  }
  write(folder, ranks);
  CHECK(read_schedule(folder.path(), 0).steps.size() == 2);
}

TEST_CASE("more steps and messages than a schedule holds are refused") {
  const TempFolder folder;
  const auto written = [&](int receivers, int chunks, bool in_turn) {
    std::vector<MadeSpans> ranks = begun(1);
    for (const char* const phase : {"reduce", "spread"}) {
      for (int chunk = 0; chunk < chunks; ++chunk) {
        for (int to = 1; to <= receivers; ++to)
          add(ranks[0], 0, {.phase = phase, .chunk_step = in_turn ? chunk : 0, .sent = chunk, .to = to});
      }
    }
    write(folder, ranks);
    return folder.path();
  };
  const auto steps_of = [&](const auto&... said) { return read_schedule(written(said...), 0).steps.size(); };
  const auto refused = [&](const auto&... said) { return error_of([&] { steps_of(said...); }); };
  CHECK_THAT(refused(1, 129, true), says("258 steps") && says("at most 256"));
  CHECK(steps_of(1, 128, true) == 256);
  CHECK_THAT(refused(15, 137, false), says("4110 messages") && says("at most 4096"));
  CHECK(steps_of(15, 136, false) == 2);
}

TEST_CASE("of very many all-reduces the first are listed") {
  const TempFolder folder;
  std::vector<MadeSpans> ranks = begun(2);
  const int steps = kMostScheduleChoices + 5;
  for (int step = 0; step < steps; ++step) {
    for (int rank = 0; rank < 2; ++rank) add_exchange(ranks[static_cast<std::size_t>(rank)], rank, step);
  }
  write(folder, ranks);
  const ScheduleRun run(folder.path());
  CHECK(run.choices().size() == kMostScheduleChoices);
  CHECK(run.choices().back().step == kMostScheduleChoices - 1);
  CHECK(run.left_out() == 5);
  CHECK(run.schedule(run.choices().back()).steps.size() == 2);
  CHECK_THAT(error_of([&] { read_schedule(folder.path(), steps - 1); }), says("tells of no all-reduce"));
}

TEST_CASE("without messages between ranks there is no all-reduce") {
  const TempFolder folder;
  std::vector<MadeSpans> ranks = begun(1);
  for (const char* const phase : {"reduce", "spread"})
    add(ranks[0], 0, {.phase = phase, .sent = 0, .received = 1});
  write(folder, ranks);
  CHECK_THAT(error_of([&] { ScheduleRun run(folder.path()); }),
             says("no all-reduce") && says("09_all_reduce"));
  ranks.push_back(ranks[0]);
  write(folder, ranks);
  CHECK_THAT(error_of([&] { read_schedule(folder.path(), 0); }), says("no message between ranks"));
}

}  // namespace isobar::test_schedule_run
