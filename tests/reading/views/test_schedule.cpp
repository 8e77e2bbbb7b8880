// The schedule of an all-reduce by the rules, and from what a run recorded.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "09_all_reduce/view/schedule_run.h"
#include "record/json_line.h"
#include "ring/ring_plan.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/made_spans.h"
#include "support/says.h"

using namespace isobar;
using namespace isobar::lesson_09;
namespace fs = std::filesystem;

namespace {

const Link kLink = {.latency_us = 50, .bytes_per_us = 1000};

std::vector<std::vector<double>> values_of(const ScheduleMoment& moment) {
  std::vector<std::vector<double>> out;
  for (const ScheduleRank& rank : moment.ranks) {
    std::vector<double>& values = out.emplace_back();
    for (const ScheduleCell& cell : rank.cells) values.push_back(cell.value);
  }
  return out;
}

/// What ranks of lesson 09 leave of one all-reduce, without its last `lost` messages.
void write_ring(const TempFolder& folder, int ranks, std::int64_t step, std::size_t lost = 0,
                double wrong = 0) {
  const Schedule plan = plan_schedule(AllReduceKind::ring, ranks, ranks, 4096.0 * ranks, kLink);
  std::size_t messages = 0;
  for (const ScheduleStep& one : plan.steps) messages += one.moves.size();
  std::vector<MadeSpans> spans(static_cast<std::size_t>(ranks));
  for (MadeSpans& one : spans) one.attempt(0);
  std::size_t number = 0;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const ScheduleMoment then = plan.after(i + 1);
    for (const ScheduleMove& move : plan.steps[i].moves) {
      const ScheduleMove& arriving =
          plan.steps[i].moves[static_cast<std::size_t>((move.from + ranks - 1) % ranks)];
      const bool arrives = number++ + lost < messages;
      JsonLine line("span");
      line.add("step", step).add("track", "all_reduce").add("name", name_of(plan.steps[i].phase));
      line.add("begin_us", static_cast<std::int64_t>(100 * i)).add("duration_us", 90).add("of", "all_reduce");
      line.add("chunk_step", plan.steps[i].index).add("sent_chunk", move.first_chunk).add("to", move.to);
      line.add("bytes", static_cast<std::int64_t>(move.bytes));
      if (arrives) {
        const auto chunk = static_cast<std::size_t>(arriving.first_chunk);
        line.add("received_chunk", arriving.first_chunk).add("from", arriving.from);
        line.add("value", then.ranks[static_cast<std::size_t>(move.from)].cells[chunk].value + wrong);
      }
      spans[static_cast<std::size_t>(move.from)].line(line);
    }
  }
  write_file_whole(folder / "run.toml", "[comm]\nalgorithm = \"ring\"\nlink = {latency_us = 50.0}\n");
  for (int rank = 0; rank < ranks; ++rank) {
    write_file_whole(folder / fmt::format("rank-{:04}.jsonl", rank), "");
    write_file_whole(folder / fmt::format("rank-{:04}.spans.jsonl", rank),
                     spans[static_cast<std::size_t>(rank)].text());
  }
}

}  // namespace

TEST_CASE("after the last step all ranks hold the sum, whoever sends to whom") {
  for (const AllReduceKind kind : {AllReduceKind::naive, AllReduceKind::tree, AllReduceKind::ring}) {
    for (int ranks = 2; ranks <= kMostScheduleRanks; ++ranks) {
      for (const int chunks : {1, 2, 3, 4, 7, 16, 17, 40}) {
        INFO(name_of(kind) << " " << ranks << " " << chunks);
        const Schedule schedule = plan_schedule(kind, ranks, chunks, 1 << 20, kLink);
        const ScheduleMoment end = schedule.after(schedule.steps.size());
        CHECK(end.all_hold_the_sum());
        CHECK_FALSE(schedule.after(schedule.steps.size() - 1).all_hold_the_sum());
        for (int chunk = 0; chunk < chunks; ++chunk) {
          double sum = 0;
          for (const auto& values : schedule.start) sum += values[static_cast<std::size_t>(chunk)];
          for (const ScheduleRank& rank : end.ranks)
            REQUIRE(rank.cells[static_cast<std::size_t>(chunk)].value == sum);
        }
      }
    }
  }
}

TEST_CASE("messages, bytes and the clock are those of the formulas") {
  constexpr double kBytes = 1 << 20;
  for (int ranks = 2; ranks <= kMostScheduleRanks; ++ranks) {
    INFO(ranks);
    const Schedule ring = plan_schedule(AllReduceKind::ring, ranks, 2 * ranks, kBytes, kLink);
    const ScheduleMoment end = ring.after(ring.steps.size());
    REQUIRE(ring.steps.size() == static_cast<std::size_t>(ring_messages(ranks)));
    for (const ScheduleRank& rank : end.ranks) {
      CHECK(rank.sent == ring_messages(ranks));
      CHECK(rank.sent_bytes == Approx(ring_bytes(ranks, kBytes)).epsilon(1e-12));
    }
    CHECK(end.clock_us == Approx(ring_all_reduce_us(kLink, ranks, kBytes)).epsilon(1e-12));
    const ScheduleTotals totals = totals_of(ring, end);
    CHECK(totals.messages == totals.messages_so_far);
    const Schedule naive = plan_schedule(AllReduceKind::naive, ranks, 3, kBytes, kLink);
    CHECK(naive.end_us() == Approx(naive_all_reduce_us(kLink, ranks, kBytes)).epsilon(1e-12));
    const ScheduleTotals root = totals_of(naive, naive.after(naive.steps.size()));
    CHECK(root.messages == root.messages_so_far);
    CHECK(root.bytes == root.bytes_so_far);
    const Schedule tree = plan_schedule(AllReduceKind::tree, ranks, 3, kBytes, kLink);
    CHECK(tree.steps.size() == 2 * static_cast<std::size_t>(std::ceil(std::log2(ranks))));
    CHECK(tree.end_us() == Approx(tree_all_reduce_us(kLink, ranks, kBytes)).epsilon(1e-12));
    const ScheduleTotals trunk = totals_of(tree, tree.after(tree.steps.size()));
    CHECK(trunk.messages == trunk.messages_so_far);
  }
}

TEST_CASE("a step changes what its moves say, all messages leaving before one arrives") {
  const Schedule schedule = plan_schedule(AllReduceKind::ring, 3, 3, 12, kLink);
  // One float a chunk: rank r begins with r + 1, r + 2, r + 3.
  CHECK(values_of(schedule.after(0)) == std::vector<std::vector<double>>{{1, 2, 3}, {2, 3, 4}, {3, 4, 5}});
  CHECK(values_of(schedule.after(1)) == std::vector<std::vector<double>>{{1, 2, 8}, {3, 3, 4}, {3, 7, 5}});
  CHECK(values_of(schedule.after(2)) == std::vector<std::vector<double>>{{1, 9, 8}, {3, 3, 12}, {6, 7, 5}});
  CHECK(values_of(schedule.after(4)) == std::vector<std::vector<double>>{{6, 9, 12}, {6, 9, 12}, {6, 9, 12}});
  const ScheduleMoment first = schedule.after(1);
  CHECK(first.ranks[0].cells[2].ranks == 0b101U);
  CHECK(first.ranks[0].cells[2].changed);
  CHECK_FALSE(first.ranks[0].cells[1].changed);
  CHECK(values_of(schedule.after(2)) == values_of(schedule.after(2)));
  CHECK(values_of(schedule.after(1)) != values_of(schedule.after(2)));
}

TEST_CASE("a ring of more ranks than chunks: who has none to send sends nothing") {
  const Schedule schedule = plan_schedule(AllReduceKind::ring, 4, 2, 64, kLink);
  for (const ScheduleStep& step : schedule.steps) CHECK(step.moves.size() == 2);
  const ScheduleMoment end = schedule.after(schedule.steps.size());
  CHECK(end.all_hold_the_sum());
  for (const ScheduleRank& rank : end.ranks) CHECK(rank.sent < ring_messages(4));
}

TEST_CASE("plans that cannot be are refused") {
  const auto refused = [](int ranks, int chunks, double bytes, const Link& link) {
    return error_of([&] { plan_schedule(AllReduceKind::ring, ranks, chunks, bytes, link); });
  };
  CHECK_THAT(refused(1, 1, 64, kLink), says("1 ranks") && says("2 to 16"));
  CHECK_THAT(refused(17, 1, 64, kLink), says("17 ranks"));
  CHECK_THAT(refused(4, 0, 64, kLink), says("0 chunks"));
  CHECK_THAT(refused(4, 4, 3, kLink), says("3 bytes"));
  CHECK_THAT(refused(4, 4, std::nan(""), kLink), says("are no buffer"));
  CHECK_THAT(refused(4, 4, 64, {.latency_us = -1}), says("no link"));
  CHECK_THAT(refused(4, 4, 64, {.bytes_per_us = INFINITY}), says("no link"));
}

TEST_CASE("what a run recorded is the all-reduce that its ranks made") {
  const TempFolder folder;
  write_ring(folder, 4, 0);
  const Schedule schedule = read_schedule(folder.path(), 0);
  const Schedule plan = plan_schedule(AllReduceKind::ring, 4, 4, 4096 * 4, kLink);
  CHECK(schedule.kind == AllReduceKind::ring);
  CHECK(schedule.bytes == plan.bytes);
  CHECK(schedule.link.latency_us == 50);
  REQUIRE(schedule.steps.size() == plan.steps.size());
  for (std::size_t i = 0; i <= plan.steps.size(); ++i)
    CHECK(values_of(schedule.after(i)) == values_of(plan.after(i)));
  CHECK(schedule.after(6).all_hold_the_sum());
  CHECK(schedule.after(6).clock_us == 590);
  CHECK(schedule.after(6).ranks[3].sent_bytes == ring_bytes(4, plan.bytes));
}

TEST_CASE("a message that did not come, and a number that is no sum, are seen") {
  const TempFolder lost, wrong;
  write_ring(lost, 4, 0, 1);
  const Schedule without = read_schedule(lost.path(), 0);
  CHECK_FALSE(without.steps.back().moves.empty());
  CHECK_FALSE(without.after(6).all_hold_the_sum());
  std::size_t missing = 0;
  for (const ScheduleMove& move : without.steps.back().moves) missing += move.arrives ? 0 : 1;
  CHECK(missing == 1);
  write_ring(wrong, 3, 0, 0, 0.5);
  const ScheduleMoment end = read_schedule(wrong.path(), 0).after(4);
  CHECK_FALSE(end.all_hold_the_sum());
  CHECK(end.ranks[0].cells[2].is_wrong());
}

TEST_CASE("an all-reduce that was cut off in its first phase is shown as far as it went") {
  const TempFolder folder;
  write_ring(folder, 4, 0, 20);  // of 24 messages: chunk 2 is rank 2's alone
  const Schedule schedule = read_schedule(folder.path(), 0);
  CHECK_FALSE(schedule.after(schedule.steps.size()).all_hold_the_sum());
  fs::remove(folder / "rank-0002.spans.jsonl");  // it had nothing to tell
  const Schedule less = read_schedule(folder.path(), 0);
  REQUIRE(less.ranks == 4);
  const auto& moves = less.steps.front().moves;
  const auto by_2 = std::find_if(moves.begin(), moves.end(), [](const auto& move) { return move.from == 2; });
  REQUIRE(by_2 != moves.end());
  CHECK(by_2->bytes == 4096);  // as its receiver has it
  const auto to_2 = std::find_if(moves.begin(), moves.end(), [](const auto& move) { return move.to == 2; });
  REQUIRE(to_2 != moves.end());
  CHECK_FALSE(to_2->arrives);
  CHECK(less.bytes == schedule.bytes);
  CHECK(less.start == schedule.start);
}

TEST_CASE("of a later step the start is not known, and the ranks in each sum are") {
  const TempFolder folder;
  write_ring(folder, 3, 5);
  const Schedule schedule = read_schedule(folder.path(), 5);
  CHECK(std::isnan(schedule.after(0).ranks[0].cells[0].value));
  CHECK(schedule.after(1).ranks[1].cells[0].value == 3);
  CHECK(schedule.after(4).all_hold_the_sum());
  CHECK_THAT(error_of([&] { read_schedule(folder.path(), 0); }), says("step 0") && says("run.trace_steps"));
}

TEST_CASE("the ring with which a run trains is read, whose neighbours go without saying") {
  const TempFolder folder;
  write_file_whole(folder / "run.toml", "");
  const std::vector<CollectiveStep> steps[] = {ring_steps(ring_actions(RingKind::all_reduce, 0, 3, 0), 3),
                                               ring_steps(ring_actions(RingKind::all_reduce, 1, 3, 0), 3),
                                               ring_steps(ring_actions(RingKind::all_reduce, 2, 3, 0), 3)};
  for (int rank = 0; rank < 3; ++rank) {
    MadeSpans spans;
    spans.attempt(0).span(7, "loop", "forward", 0, 10);
    for (int call = 0; call < 2; ++call) {  // the second is another collective of that name
      for (const CollectiveStep& step : steps[rank])
        spans.line(JsonLine("span")
                       .add("step", 7)
                       .add("track", "ring")
                       .add("name", name_of(step.phase))
                       .add("begin_us", 1000 * (call + 1))
                       .add("duration_us", 10)
                       .add("bytes", 400)
                       .add("of", "bucket.0")
                       .add("chunk_step", step.step)
                       .add("sent_chunk", step.sent_chunk)
                       .add("received_chunk", step.received_chunk));
    }
    // A reduce-scatter, which is no all-reduce.
    spans.line(JsonLine("span")
                   .add("step", 7)
                   .add("track", "ring")
                   .add("name", "reduce")
                   .add("begin_us", 9000)
                   .add("duration_us", 10)
                   .add("of", "scattered")
                   .add("chunk_step", 0)
                   .add("sent_chunk", 0)
                   .add("received_chunk", 1));
    write_file_whole(folder / fmt::format("rank-{:04}.jsonl", rank), "");
    write_file_whole(folder / fmt::format("rank-{:04}.spans.jsonl", rank), spans.text());
  }
  const ScheduleRun run(folder.path());
  REQUIRE(run.choices() == std::vector<ScheduleChoice>{{7, "bucket.0"}});
  const Schedule schedule = run.schedule(run.choices().front());
  CHECK(schedule.bytes == 1200);
  CHECK(schedule.steps.size() == 4);
  CHECK(schedule.end_us() == 10);
  CHECK(schedule.after(4).all_hold_the_sum());
  CHECK(schedule.after(4).ranks[2].sent == 4);
}

TEST_CASE("a run that tells of no all-reduce says what would") {
  const TempFolder none, other;
  write_file_whole(none / "run.toml", "");
  CHECK_THAT(error_of([&] { ScheduleRun run(none.path()); }), says("no spans") && says("run.trace_steps"));
  MadeSpans().attempt(0).span(0, "loop", "forward", 1, 1).write(other);
  CHECK_THAT(error_of([&] { ScheduleRun run(other.path()); }),
             says("no all-reduce") && says("comm.backend=ring"));
}

TEST_CASE("ranks and chunks that no schedule holds are refused") {
  const TempFolder folder;
  const auto run_with = [&](int to, int chunk) {
    MadeSpans spans;
    spans.attempt(0);
    for (const char* const phase : {"reduce", "spread"})
      spans.line(JsonLine("span")
                     .add("step", 0)
                     .add("track", "all_reduce")
                     .add("name", phase)
                     .add("begin_us", 1)
                     .add("duration_us", 1)
                     .add("of", "all_reduce")
                     .add("chunk_step", 0)
                     .add("sent_chunk", chunk)
                     .add("to", to));
    spans.write(folder);
    write_file_whole(folder / "rank-0000.jsonl", "");
    return error_of([&] { read_schedule(folder.path(), 0); });
  };
  CHECK_THAT(run_with(30'000, 0), says("30001 ranks"));
  CHECK_THAT(run_with(1, 30'000), says("30001 chunks"));
}
