// Runs of several ranks, as readers see them.
#include <unistd.h>

#include "analyse/ranks.h"
#include "analyse/steady.h"
#include "analyse/timeline.h"
#include "cli/run_lines.h"
#include "core/machine.h"
#include "core/text.h"
#include "launch/rank_status.h"
#include "log/run_reader.h"
#include "log/spans.h"
#include "support/catch.h"
#include "support/made_ranks.h"
#include "support/made_spans.h"
#include "support/says.h"

namespace isobar::test_ranks {

namespace {

RanksView read(const MadeRanks& made) {
  const TempFolder folder;
  made.write(folder);
  return read_ranks(folder.path());
}

/// Rank `slow` computes 40 of 100 ms longer than the others, who wait for it in the stage comm.
MadeRanks with_slow(int slow, int world = 2) {
  MadeRanks made{.world = world};
  made.more = [slow](int rank, int, JsonLine& line) {
    const bool is_slow = rank == slow;
    line.add("forward_us", 30'000).add("backward_us", is_slow ? 60'000 : 20'000);
    line.add("comm_us", is_slow ? 10'000 : 50'000);
  };
  return made;
}

}  // namespace

TEST_CASE("samples/s of a run are those of all its ranks, wherever they are read") {
  const TempFolder folder;
  MadeRanks{.world = 4}.write(folder);  // 8 samples a rank in 100 ms
  CHECK(glance(folder.path()).summary.samples_per_s == Approx(320));
  CHECK(glance(folder.path()).summary.samples == 20 * 32);
  CHECK(steady_figures(folder.path()).samples_per_s == Approx(320));
  CHECK(read_ranks(folder.path()).samples_per_s() == Approx(320));
  RunReader reader(folder.path(), /*keep_series=*/true);
  while (reader.update()) {
  }
  CHECK(reader.series().find("train/samples_per_s").curve->y.back() == Approx(320));
  CHECK(reader.series().steps().places.samples.back() == 19 * 32);
  CHECK_THAT(run_report(reader).json.text(),
             says(R"("samples_per_s":320.0)") && says(R"("world":4)") && says(R"("ranks":{)"));
  CHECK_THAT(joined(summary_lines(reader.view().summary)), says("320.0 samples/s on 4 ranks"));
}

TEST_CASE("a summary line says the samples of all ranks, or its own when it does not say of how many") {
  const auto summary_of = [](bool of_all) {
    const TempFolder folder;
    MadeRanks made{.world = 4, .end = ""};
    JsonLine line("summary");
    line.add("steps", 20).add("samples", of_all ? 640 : 160).add("samples_per_s", of_all ? 320.0 : 80.0);
    if (of_all) line.add("world", 4);
    write_file_whole(folder / "run.toml", std::string_view(""));
    write_file_whole(folder / "rank-0000.jsonl", std::string_view(made.stream(0) + line.text()));
    return glance(folder.path()).summary;
  };
  CHECK(summary_of(true).samples == 640);
  CHECK(summary_of(false).samples == 640);
  CHECK(summary_of(true).samples_per_s == Approx(320));
  CHECK(summary_of(false).samples_per_s == Approx(320));
}

TEST_CASE("the memory of each rank is the largest that it told, and unknown where it told none") {
  MadeRanks made{.world = 3};
  made.more = [](int rank, int step, JsonLine& line) {
    if (rank < 2 && step % 10 == 0) line.add("peak_bytes", 200'000'000 + rank * 10'000'000 - step * 1000);
  };
  const RanksView view = read(made);
  CHECK(view.ranks[0].peak_bytes == 200'000'000);
  CHECK(view.ranks[1].peak_bytes == 210'000'000);
  CHECK(view.ranks[2].peak_bytes == std::nullopt);
  CHECK_THAT(joined(rank_lines(view)), says("memory") && says("200 MB") && says("210 MB"));
  CHECK_THAT(ranks_json(view).text(), says(R"("peak_bytes":210000000.0)") && says(R"("peak_bytes":null)"));
}

TEST_CASE("MFU of several ranks is that of one of them") {
  RunSummary summary;
  summary.world = 4;
  summary.samples_per_s = 400;
  summary.flops_per_sample = 1e9;
  summary.peak_flops_per_s = 1e12;
  CHECK(summary.mfu() == Approx(0.1));
  CHECK_THAT(summary_event(summary).text(), says(R"("world":4)"));
}

TEST_CASE("a straggler is the rank that waits for nobody, whichever clock the ranks have") {
  for (const int slow : {0, 1, 2}) {
    const RanksView view = read(with_slow(slow, 3));
    REQUIRE(view.straggler);
    CHECK(view.straggler->rank == slow);
    CHECK(view.straggler->kept_us == Approx(40'000));
    CHECK(view.straggler->of_step == Approx(0.4));
    CHECK(view.straggler->stage == "backward");
    CHECK(view.steps == 17);  // three of warm-up
    CHECK(view.ranks[static_cast<std::size_t>(slow)].last_in == 17);
    CHECK(view.ranks[static_cast<std::size_t>(slow)].waits_us == 0);
    CHECK_THAT(straggler_sentence(view), says("rank " + std::to_string(slow) +
                                              " keeps the others waiting 40.0 ms a step (40 % of it)") &&
                                             says("its backward takes 60.0 ms, elsewhere 20.0"));
  }
}

TEST_CASE("what ran beside communication is told of the steps of the other figures, else with its own") {
  const auto shown = [](std::int64_t traced_from, std::int64_t traced) {
    const TempFolder folder;
    MadeRanks made;
    made.more = [](int, int, JsonLine& line) { line.add("comm_us", 1'000).add("comm_total_us", 4'000); };
    MadeSpans spans;
    for (std::int64_t step = traced_from; step < traced_from + traced; ++step) {
      const std::int64_t at = step * 100'000;
      spans.span(step, "loop", "backward", at, 50'000);
      spans.span(step, "bucket.0", "all-reduce", at + (step < 3 ? 60'000 : 30'000), 40'000, 100);
      spans.span(step, "loop", "comm", at + 50'000, 50'000);
    }
    spans.write(folder);
    made.write(folder);
    const RanksView view = read_ranks(folder.path());
    const SpanTable table = read_spans(folder.path());
    const Timeline timeline = make_timeline(table, RunSeries{}, {.steady = view.compared()});
    CHECK(*timeline.comm->overlap == Approx(view.comm.overlap.value()));  // one truth above and below
    CHECK(timeline.steady.front().step == view.comm.overlap_of.first);
    CHECK(timeline.steady.back().step == view.comm.overlap_of.last);
    return comm_sentence(view);
  };
  CHECK_THAT(shown(0, 10), says("50 % of it beside computing") && !says("traced"));
  CHECK_THAT(shown(0, 3), says("0 % of it beside computing in the traced steps 0 to 2"));
}

TEST_CASE("who does not know whom it waited for has not waited for nobody") {
  MadeRanks made = with_slow(1);
  const auto stages = made.more;
  made.more = [stages](int rank, int step, JsonLine& line) {
    stages(rank, step, line);
    line.add("waited_for", -1).add("waited_us", 0);
  };
  const RanksView view = read(made);
  REQUIRE(view.straggler);
  CHECK(view.straggler->rank == 1);
  CHECK(view.ranks[0].waits_us.value() == Approx(40'000));
}

TEST_CASE("where the ranks say who came last, that counts") {
  MadeRanks made = with_slow(0);  // by exposed communication it would be rank 0
  const auto stages = made.more;
  made.more = [stages](int rank, int step, JsonLine& line) {
    stages(rank, step, line);
    line.add("waited_for", 1).add("waited_us", rank == 1 ? 0 : 30'000);
  };
  const RanksView view = read(made);
  REQUIRE(view.straggler);
  CHECK(view.straggler->rank == 1);
  CHECK(view.straggler->kept_us == Approx(30'000));
  CHECK(view.straggler->stage.empty());  // its stages are shorter
}

TEST_CASE("noise names no straggler") {
  SECTION("last in most steps, by less than the steps differ anyway") {
    const auto noisy = [](std::int64_t swing_us) {
      MadeRanks made{.swing_us = swing_us};
      made.more = [](int rank, int step, JsonLine& line) {
        line.add("comm_us", rank == 0 ? 1'000 : step % 4 == 0 ? 500 : 9'000);
      };
      return read(made).straggler.has_value();
    };
    CHECK_FALSE(noisy(10'000));
    CHECK(noisy(1'000));
  }
  SECTION("the ranks come last in turn, by much") {
    MadeRanks made;
    made.more = [](int rank, int step, JsonLine& line) {
      line.add("comm_us", (step + rank) % 2 == 0 ? 1'000 : 40'000);
    };
    const RanksView view = read(made);
    CHECK_FALSE(view.straggler);
    CHECK(*view.ranks[0].last_in + *view.ranks[1].last_in == view.steps);
  }
  SECTION("always the same, by 4 % of a step") {
    MadeRanks made;
    made.more = [](int rank, int, JsonLine& line) { line.add("comm_us", rank == 0 ? 1'000 : 5'000); };
    CHECK_FALSE(read(made).straggler);
  }
  SECTION("four steps are too few") {
    MadeRanks made = with_slow(1);
    made.steps = 7;
    CHECK(read(made).steps == 4);
    CHECK_FALSE(read(made).straggler);
    made.steps = 8;
    CHECK(read(made).straggler);
  }
  SECTION("nobody communicates") { CHECK_FALSE(read(MadeRanks{}).straggler); }
  SECTION("nobody waits for anybody") {
    MadeRanks made;
    made.more = [](int rank, int, JsonLine& line) { line.add("comm_us", 2 + rank); };
    CHECK(read(made).ranks[0].last_in == 0);
  }
}

TEST_CASE("communication of a run: exposed, under way, calls, bytes and the bus") {
  MadeRanks made;
  made.more = [](int, int, JsonLine& line) {
    line.add("comm_us", 5'000)
        .add("comm_total_us", 20'000)
        .add("comm_calls", 3)
        .add("wire_bytes", 10'000'000);
  };
  const TempFolder folder;
  made.write(folder);
  const RunFolder run{folder.path()};
  const std::string probe = JsonLine("note")
                                .add("text", "probe")
                                .add("backend", "gloo")
                                .add("latency_us", 45.5)
                                .add("algbw_gb_per_s", 1.0)
                                .add("busbw_gb_per_s", 1.25)
                                .text();
  write_file_whole(run.stream_file(0), made.stream(0) + probe);
  const RanksView view = read_ranks(folder.path());
  CHECK(view.comm.exposed_us.value() == Approx(5'000));
  CHECK(view.comm.busbw_gb_per_s.value() == Approx(0.5));  // 10 MB in 20 ms
  REQUIRE(view.probe);
  CHECK(view.probe->busbw_gb_per_s == 1.25);
  CHECK_THAT(
      comm_sentence(view),
      says("exposed 5.0 ms a step (5 %), under way 20.0 ms; 3 calls, 10.0 MB sent") && says("bus 0.50 GB/s"));
  CHECK_THAT(joined(rank_lines(view)),
             says("2 on one machine") && says("gloo at the start: 45.5 us") && !says("straggler"));
}

TEST_CASE(
    "a mean of exposed time is a share of the mean step, so that one long step makes no more than it is") {
  MadeRanks made;
  made.more = [](int, int step, JsonLine& line) { line.add("comm_us", step == 10 ? 1'805'000 : 5'000); };
  const TempFolder folder;
  made.write(folder);
  for (int rank = 0; rank < 2; ++rank) {
    std::string text = made.stream(rank);
    const std::string usual = "\"step_us\":100000";
    text.replace(text.find(usual, text.find("\"step\":10,")), usual.size(), "\"step_us\":1900000");
    write_file_whole(RunFolder{folder.path()}.stream_file(rank), std::string_view(text));
  }
  const RanksView view = read_ranks(folder.path());
  CHECK(view.step_us == Approx(100'000));                                   // the median
  CHECK(view.comm.exposed_us.value() == Approx(1'885'000 / 17.0));          // of 17 steps behind the warm-up
  CHECK_THAT(comm_sentence(view), says("exposed 110.9 ms a step (54 %)"));  // of 205.9 ms
}

TEST_CASE("ranks that died, failed or left nothing are told") {
  const TempFolder folder;
  MadeRanks made{.world = 3, .steps = 11, .host = "", .end = "failed"};
  made.write(folder, /*without=*/2);
  made.end = "";
  made.host = host_name();
  made.pid = 999'999'999;
  write_file_whole(RunFolder{folder.path()}.stream_file(1), std::string_view(made.stream(1)));
  const RanksView view = read_ranks(folder.path());
  CHECK(view.ranks[1].state == RunState::died);
  CHECK_FALSE(view.ranks[2].has_stream);
  const std::string lost = joined(lost_rank_sentences(view));
  CHECK_THAT(lost, says("rank 0 failed") && says("rank 1 died in step 12") && says("rank 2 left no stream"));
  CHECK_THAT(joined(lost_rank_sentences(view, 1)), says("and 2 more ranks"));
  CHECK_THAT(ranks_json(view).text(), says(R"("state":"no stream")"));
}

TEST_CASE("thousands of ranks, and streams that lie about them, are read in a moment") {
  const TempFolder folder;
  MadeRanks made{.world = 3000};
  made.steps = 1;
  made.write(folder);
  RanksView view = read_ranks(folder.path());
  CHECK(view.ranks.size() == 3000);
  CHECK(joined(rank_lines(view)).size() < 4000);
  MadeRanks hostile{.world = 2'000'000'000};
  write_file_whole(RunFolder{folder.path()}.stream_file(0), std::string_view(hostile.stream(0)));
  view = read_ranks(folder.path());
  CHECK(view.ranks.size() == static_cast<std::size_t>(kMostRanks));
  CHECK(view.left_out > 0);
}

TEST_CASE("steps without end, and figures that make no sense, harm no comparison") {
  const TempFolder folder;
  MadeRanks made;
  made.more = [](int rank, int step, JsonLine& line) {
    if (step % 3 != 0 && step != 19) return;
    line.add("comm_us", rank == 0 ? "nan" : "inf").add("waited_for", 7e18).add("waited_us", -5.0);
    if (step == 19) line.add("step", 9'000'000'000'000'000);
  };
  made.write(folder);
  const RanksView view = read_ranks(folder.path());
  CHECK(view.steps > 0);
  CHECK_FALSE(view.straggler);
  CHECK_THAT(ranks_json(view).text(), !says("nan") && !says("inf"));
}

TEST_CASE("only the end of long streams is read, the same steps of each rank") {
  const TempFolder folder;
  MadeRanks made = with_slow(1);
  made.steps = 2000;
  made.write(folder);
  const RanksView view = read_ranks(folder.path(), 64 << 10);
  CHECK(view.first_step > 1000);
  CHECK(view.last_step == 1999);
  REQUIRE(view.straggler);
  CHECK(view.straggler->rank == 1);
}

TEST_CASE("what a rank was doing is read from its status slot, and who only followed is not blamed") {
  const TempFolder folder;
  MadeRanks{.steps = 12, .end = "failed"}.write(folder);
  StatusSlot first(folder.path(), 1);
  first.stage(12, "backward");
  first.enter(40, "all_reduce f32[1024] bucket 3");
  StatusSlot other(folder.path(), 0);
  other.stage(12, "comm");
  other.end(RankPhase::followed);
  const RanksView view = read_ranks(folder.path());
  CHECK(view.ranks[0].followed);
  const std::vector<std::string> lost = lost_rank_sentences(view);
  REQUIRE(lost.size() == 2);
  CHECK_THAT(lost[0], says("rank 1 failed in step 13, backward, in all_reduce f32[1024] bucket 3"));
  CHECK_THAT(lost[1], says("rank 0 gave up because another had"));
}

}  // namespace isobar::test_ranks
