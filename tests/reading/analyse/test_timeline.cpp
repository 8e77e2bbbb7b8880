// Timelines drawn from made-up spans: exact pictures, figures that can be worked out by hand.
#include <algorithm>

#include "analyse/timeline.h"
#include "core/json.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/made_spans.h"

namespace isobar::test_timeline {

namespace {

constexpr std::int64_t kMs = 1000;
constexpr std::int64_t kStepMs = 40;

/// Five steps of 40 ms: load 4, copy 2, forward 10, backward 20, optimize 4. A device that is 2 ms late,
/// uploads beside it, and a loader thread that reads, normalises and waits.
MadeSpans five_steps() {
  MadeSpans out;
  out.attempt(0);
  for (std::int64_t step = 0; step < 5; ++step) {
    const std::int64_t at = (100 + kStepMs * step) * kMs;
    out.span(step, "loop", "load", at, 4 * kMs).span(step, "loop", "copy", at + 4 * kMs, 2 * kMs);
    out.span(step, "loop", "forward", at + 6 * kMs, 10 * kMs);
    out.span(step, "loop", "backward", at + 16 * kMs, 20 * kMs);
    out.span(step, "loop", "optimize", at + 36 * kMs, 4 * kMs);
    out.span(step, "device", "forward", at + 8 * kMs, 10 * kMs);
    out.span(step, "device", "backward", at + 18 * kMs, 18 * kMs);
    out.span(step, "upload", "upload", at + 4 * kMs, 8 * kMs, 80'000'000);
    out.span(step, "load.0", "read", at, 16 * kMs, 32'000'000);
    out.span(step, "load.0", "normalise", at + 16 * kMs, 8 * kMs);
    out.span(step, "load.0", "wait", at + 24 * kMs, 16 * kMs);
  }
  return out;
}

SpanTable table_of(const MadeSpans& spans) {
  const TempFolder folder;
  spans.write(folder);
  return read_spans(folder.path());
}

RunSeries series_of(const std::vector<JsonLine>& lines) {
  RunSeries out;
  EventParser parser;
  for (const JsonLine& line : lines) {
    const std::string text = line.text();
    out.take(*parser.parse(text));
  }
  return out;
}

std::string drawn(const SpanTable& table, const TimelineWish& wish, std::size_t columns,
                  bool colour = false) {
  std::string out;
  for (const std::string& line :
       draw_timeline(table, make_timeline(table, RunSeries{}, wish), {columns, colour}))
    out += line + "\n";
  return out;
}

}  // namespace

TEST_CASE("three steps from the middle, a letter for each two milliseconds") {
  // Sixty cells: a label takes nine columns.
  CHECK("\n" + drawn(table_of(five_steps()), {}, 69) == R"(
  steps 1 to 3: 120.0 ms, from 0.140 s after the start
  ms     |0        |20       |40       |60       |80       |100
  step   |1                  |2                  |3
  loop   LLCFFFFFBBBBBBBBBBOOLLCFFFFFBBBBBBBBBBOOLLCFFFFFBBBBBBBBBBOO
  device ....FFFFFBBBBBBBBB......FFFFFBBBBBBBBB......FFFFFBBBBBBBBB..
  upload ..uuuu................uuuu................uuuu..............
  load.0 rrrrrrrrnnnnwwwwwwwwrrrrrrrrnnnnwwwwwwwwrrrrrrrrnnnnwwwwwwww
  L load  C copy  F forward  B backward  O optimize  r read
  n normalise  w wait  u upload  . idle
)");
}

TEST_CASE("figures") {
  const SpanTable table = table_of(five_steps());
  std::string text = "\n";
  for (const std::string& line : timeline_lines(table, make_timeline(table, RunSeries{}, {})))
    text += line + "\n";
  CHECK(text == R"(
  Over steps 1 to 4; a step takes 40.00 ms (mean; median 40.00)
  track   busy   what       ms a step  of the time  in steps   GB/s
  loop    100 %  load           4.000       10.0 %         4
                 copy           2.000        5.0 %         4
                 forward       10.000       25.0 %         4
                 backward      20.000       50.0 %         4
                 optimize       4.000       10.0 %         4
  device  70 %   forward       10.000       25.0 %         4
                 backward      18.000       45.0 %         4
  upload  20 %   upload         8.000       20.0 %         4  10.00
  load.0  60 %   read          16.000       40.0 %         4   2.00
                 normalise      8.000       20.0 %         4
                 wait          16.000       40.0 %         4
  upload       50.0 % of its time runs beside compute (forward, backward, optimize)
)");
}

TEST_CASE("steps are chosen: a first one, a number of them, none that was not traced") {
  const SpanTable table = table_of(five_steps());
  const auto steps = [&](const TimelineWish& wish) {
    std::vector<std::int64_t> out;
    for (const StepWindow& window : make_timeline(table, RunSeries{}, wish).drawn) out.push_back(window.step);
    return out;
  };
  using Steps = std::vector<std::int64_t>;
  CHECK(steps({}) == Steps{1, 2, 3});  // of the steady ones, 1 to 4
  CHECK(steps({.steps = 2}) == Steps{2, 3});
  CHECK(steps({.steps = 100}) == Steps{1, 2, 3, 4});
  CHECK(steps({.first = 0, .steps = 2}) == Steps{0, 1});
  CHECK(steps({.first = 4}) == Steps{4});
  CHECK_THAT(error_of([&] { steps({.first = 5}); }),
             says("step 5 was not traced") && says("steps 0 to 4 were"));
}

TEST_CASE("without a wish the steps nearest to the median are drawn, never one that took long") {
  MadeSpans spans;
  std::int64_t at_ms = 0;
  std::int64_t step = 0;
  for (const std::int64_t length_ms : {50, 44, 39, 41, 900, 60, 40, 43}) {
    spans.span(step++, "loop", "forward", at_ms * kMs, length_ms * kMs);
    at_ms += length_ms;
  }
  const auto first = [&](std::int64_t steps) {
    const TimelineWish wish = {.steps = steps, .steady = {1, 7}};
    return make_timeline(table_of(spans), RunSeries{}, wish).drawn.front().step;
  };
  CHECK(first(1) == 7);  // 43 ms, the median of steps 1 to 7
  CHECK(first(2) == 1);  // 83 ms, not 944 ms in the middle
}

TEST_CASE("a run of one step is drawn, and one without its loop is refused") {
  const SpanTable one = table_of(MadeSpans().span(7, "loop", "load", 10, 0));
  CHECK_THAT(drawn(one, {}, 60), says("step 7: 0.0 ms"));
  CHECK_THAT(error_of([] { drawn(table_of(MadeSpans().span(0, "load.0", "read", 0, 5)), {}, 60); }),
             says("no span of the training loop"));
}

TEST_CASE("what the loop does between steps belongs to none, and is drawn where it lies") {
  const SpanTable table = table_of(MadeSpans()
                                       .span(0, "loop", "validate", 0, 1000)
                                       .span(0, "loop", "forward", 1000, 1000)
                                       .span(1, "loop", "checkpoint", 2000, 1000)
                                       .span(1, "loop", "forward", 3000, 1000));
  const Timeline timeline = make_timeline(table, RunSeries{}, {.first = 0, .steps = 2});
  CHECK(timeline.begin_us == 1000);
  CHECK(timeline.step_us == 1000);
  CHECK_THAT(drawn(table, {.first = 0, .steps = 2}, 60), says("FFFSSS") && says("SSSFFF") && !says("V"));
}

TEST_CASE("a cell shows what covers most of it, nothing included") {
  // 53 cells of 10 us: label 4 and 3 columns beside them.
  MadeSpans spans;
  spans.span(0, "loop", "forward", 0, 530);
  spans.span(0, "a", "read", 0, 4).span(0, "a", "read", 10, 6).span(0, "a", "wait", 16, 4);
  spans.span(0, "a", "wait", 20, 3).span(0, "a", "read", 23, 4).span(0, "a", "wait", 27, 3);
  const std::string text = drawn(table_of(spans), {}, 60);
  CHECK_THAT(text, says("  a    .rw" + std::string(50, '.') + "\n"));
}

TEST_CASE("lines fit the terminal, and colours are only there where they are asked for") {
  MadeSpans spans = five_steps();
  spans.span(2, "a track with a name that is far too long for any terminal", "and such a name", 185'000,
             9000);
  for (int i = 0; i < 80; ++i)
    spans.span(2, "more." + std::to_string(i), "n" + std::to_string(i), 180'000, 9000);
  const SpanTable table = table_of(spans);
  for (const std::size_t columns : std::vector<std::size_t>{0, 60, 80, 133, 250}) {
    for (const std::string& line :
         draw_timeline(table, make_timeline(table, RunSeries{}, {}), {columns, false})) {
      INFO(columns << ": " << line);
      CHECK(line.size() <= std::max<std::size_t>(60, columns));
      for (const char c : line) CHECK((c >= 0x20 && c < 0x7f));
    }
  }
  CHECK_THAT(drawn(table, {}, 80), says("and 37 more tracks"));
  CHECK(drawn(table, {}, 80).find('\x1b') == std::string::npos);
  const std::string coloured = drawn(table, {}, 80, true);
  CHECK_THAT(coloured, says("\x1b[7;32mFF") && says("\x1b[0m"));
}

TEST_CASE("names that nobody knows get letters of their own") {
  const SpanTable table = table_of(MadeSpans()
                                       .span(0, "loop", "forward", 0, 100)
                                       .span(0, "a", "reduce", 0, 100)
                                       .span(0, "b", "exchange", 0, 100)
                                       .span(0, "c", "Twist", 0, 100));
  const std::string text = drawn(table, {}, 60);
  CHECK_THAT(text, says("e reduce") && says("x exchange") && says("T Twist") && says("F forward"));
}

TEST_CASE("uploads beside compute are counted as unions, once, and within the steps") {
  const auto share = [](const MadeSpans& spans) {
    return make_timeline(table_of(spans), RunSeries{}, {.first = 0}).upload_beside_compute;
  };
  MadeSpans spans;
  spans.span(0, "loop", "load", 0, 1000).span(0, "loop", "forward", 1000, 1000);
  CHECK_FALSE(share(spans).has_value());
  spans.span(0, "upload", "upload", 500, 1000).span(0, "upload", "upload", 1000, 500);  // 500 to 1500
  spans.span(0, "upload", "wait", 1500, 500);
  spans.span(9, "upload", "upload", 5000, 5000);  // after the last step
  CHECK(*share(spans) == Approx(0.5));
  spans.span(0, "device", "forward", 1200, 200)
      .span(0, "device", "load", 0, 1200);  // what the device did counts
  CHECK(*share(spans) == Approx(0.2));
}

TEST_CASE("stall and slots come from the step events of the same steps, where they are said") {
  const SpanTable table = table_of(five_steps());
  std::vector<JsonLine> events;
  for (int step = 0; step < 9; ++step) {
    JsonLine line("step");
    line.add("step", step).add("step_us", 40'000).add("samples", 4);
    line.add("stall_us", step == 0 || step > 4 ? 30'000 : 400 * step).add("queue_slots", step % 3);
    events.push_back(line);
  }
  const Timeline timeline = make_timeline(table, series_of(events), {});
  REQUIRE(timeline.stall);
  CHECK(timeline.stall->step_us == Approx(1000));  // 400, 800, 1200, 1600
  CHECK(timeline.stall->of_step == Approx(0.025));
  CHECK(*timeline.ready == Approx((1 + 2 + 0 + 1) / 4.0));
  std::string text;
  for (const std::string& line : timeline_lines(table, timeline)) text += line + "\n";
  CHECK_THAT(text, says("stall        1.000 ms a step (mean), 2.5 % of the step") &&
                       says("ready        1.00 batches"));
  const Timeline old =
      make_timeline(table, series_of({JsonLine("step").add("step", 2).add("step_us", 4)}), {});
  CHECK_FALSE(old.stall);
  CHECK_FALSE(old.ready);
}

TEST_CASE("batches that come in bursts count with what they make the loop wait, not with the usual step") {
  // Four workers share a slow disk: the loop waits for one batch in four, and then for all of them.
  MadeSpans spans;
  std::vector<JsonLine> events;
  std::int64_t at_us = 0;
  for (int step = 0; step < 21; ++step) {
    const std::int64_t load_us = step % 4 == 1 ? 300'000 : 0;
    spans.span(step, "loop", "load", at_us, load_us).span(step, "loop", "forward", at_us + load_us, 25'000);
    at_us += load_us + 25'000;
    JsonLine line("step");
    line.add("step", step).add("step_us", load_us + 25'000).add("samples", 4).add("stall_us", load_us);
    events.push_back(line);
  }
  spans.span(2, "load.0", "read", 0, 4'000'000, 12'000'000);
  const SpanTable table = table_of(spans);
  const Timeline timeline = make_timeline(table, series_of(events), {});
  REQUIRE(timeline.steady.size() == 19);  // 2 to 20, four of which wait
  const double wait_us = 4 * 300'000.0 / 19;
  CHECK(timeline.step_us == Approx(25'000 + wait_us));
  CHECK(timeline.median_step_us == 25'000);
  REQUIRE(timeline.stall);
  CHECK(timeline.stall->step_us == Approx(wait_us));
  CHECK(timeline.stall->of_step == Approx(wait_us / (25'000 + wait_us)));
  const NameFigures& load = timeline.figures[0].names[0];
  CHECK(load.step_us == Approx(wait_us));
  CHECK(load.share == Approx(timeline.stall->of_step));
  std::string text;
  for (const std::string& line : timeline_lines(table, timeline)) text += line + "\n";
  CHECK_THAT(text, says("88.16 ms (mean; median 25.00)") && says("63.158 ms a step (mean), 71.6 %") &&
                       says("  0.0030\n"));
}

TEST_CASE("the figures are rows of texts, for whoever shows them; a track is named once") {
  const SpanTable table = table_of(five_steps());
  const std::vector<FigureRow> rows = figure_rows(table, make_timeline(table, RunSeries{}, {}));
  using Cells = std::array<std::string, 7>;
  CHECK(rows.front().cells == Cells{"loop", "100 %", "load", "4.000", "10.0 %", "4", ""});
  CHECK(rows[1].cells == Cells{"", "", "copy", "2.000", "5.0 %", "4", ""});
  const auto upload =
      std::find_if(rows.begin(), rows.end(), [](const FigureRow& row) { return row.cells[0] == "upload"; });
  REQUIRE(upload != rows.end());
  CHECK(upload->cells == Cells{"upload", "20 %", "upload", "8.000", "20.0 %", "4", "10.00"});
}

TEST_CASE("figures and drawn spans are one JSON object") {
  const SpanTable table = table_of(five_steps());
  const Json out = Json::parse(
      timeline_json(table, make_timeline(table, RunSeries{}, {.first = 2, .steps = 1}), "cut \xc3").text());
  CHECK(out["drawn"]["first_step"] == 2);
  CHECK(out["drawn"]["last_step"] == 2);
  CHECK(out["drawn"]["spans"].values().size() == 11);
  CHECK(out["drawn"]["spans"][0] == Json{{"track", "loop"},
                                         {"name", "load"},
                                         {"step", 2},
                                         {"begin_us", 180'000},
                                         {"duration_us", 4000},
                                         {"bytes", 0}});
  CHECK(out["steady"]["first_step"] == 1);
  CHECK(out["steady"]["step_us"] == 40'000);
  CHECK(out["steady"]["tracks"][0]["track"] == "loop");
  CHECK(out["steady"]["tracks"][3]["names"][0]["gb_per_s"].as_number() == Approx(2));
  CHECK(out["steady"]["upload_beside_compute"].as_number() == Approx(0.5));
  CHECK(out["steady"]["stall"] == Json());
}

TEST_CASE("a million hostile spans are drawn within bounds") {
  SpanTable table;
  table.tracks = {"loop"};
  for (std::size_t i = 0; i < kMostSpanNames; ++i) table.names.push_back("n" + std::to_string(i));
  for (std::size_t i = 0; i < kMostSpans; ++i) {
    const auto at = static_cast<std::int64_t>(i);
    table.spans.push_back({at % 1000, at % 7 * 1'000'000'000'000, 9'000'000'000'000'000, 1, 0,
                           static_cast<std::uint16_t>(i % kMostSpanNames)});
  }
  const Timeline timeline = make_timeline(table, RunSeries{}, {});
  CHECK(draw_timeline(table, timeline, {200, false}).size() > 4);
  CHECK(timeline_lines(table, timeline).size() > 4);
}

TEST_CASE("communication beside computing is counted as unions, clipped to the step") {
  MadeSpans spans;
  for (std::int64_t step = 0; step < 2; ++step) {
    const std::int64_t at = step * 100 * kMs;
    spans.span(step, "loop", "forward", at, 20 * kMs).span(step, "loop", "backward", at + 20 * kMs, 40 * kMs);
    spans.span(step, "loop", "comm", at + 60 * kMs, 20 * kMs)
        .span(step, "loop", "optimize", at + 80 * kMs, kMs);
    // Two buckets that are under way at the same time for 10 ms; the second one goes on in the stage comm.
    spans.span(step, "bucket.10", "wait", at + 45 * kMs, 5 * kMs);
    spans.span(step, "bucket.10", "all-reduce", at + 50 * kMs, 20 * kMs, 1000);
    spans.span(step, "bucket.2", "all-reduce", at + 40 * kMs, 20 * kMs, 1000);
    // Ready at once, and waited for until 75 ms: this rank computes until 60 ms.
    spans.span(step, "gradients", "wait", at + 70 * kMs, 5 * kMs);
    spans.span(step, "gradients", "all-reduce", at + 75 * kMs, 50 * kMs, 500);  // longer than the step
  }
  const SpanTable table = table_of(spans);
  const Timeline timeline = make_timeline(table, RunSeries{}, {});
  REQUIRE(timeline.comm);
  CHECK(timeline.comm->calls == 3);
  CHECK(timeline.comm->bytes == 2500);
  CHECK(timeline.comm->total_us == 36 * kMs);           // 40 to 70 and 75 to 81
  CHECK(timeline.comm->queued_us == 5 * kMs);           // 45 to 50 lies under bucket.2
  CHECK(timeline.comm->exposed_us == 20 * kMs);         // 60 to 80
  CHECK(*timeline.comm->overlap == Approx(21.0 / 36));  // 40 to 60 and 80 to 81
  CHECK(*timeline.comm->backward_overlap == Approx(20.0 / 36));
  CHECK(*timeline.comm->last_bucket == Approx(10.0 / 20));  // bucket.10, 60 to 70
  std::vector<std::string> tracks;
  for (const std::size_t track : timeline.tracks) tracks.push_back(table.tracks[track]);
  CHECK(tracks == std::vector<std::string>{"loop", "bucket.2", "bucket.10", "gradients"});
  std::string text;
  for (const std::string& line : timeline_lines(table, timeline)) text += line + "\n";
  CHECK_THAT(
      text,
      says("36.000 ms a step under way in 3 calls, 58.3 % of it beside compute (55.6 % beside "
           "backward); 20.000 ms exposed (50.0 % of it the last bucket), buckets ready but not under way "
           "5.000 ms"));
  CommTimes uneven;
  uneven.calls = 27.1739;
  CHECK_THAT(comm_text(uneven), says("under way in 27.2 calls"));
  CHECK(Json::parse(timeline_json(table, timeline, "x").text())["steady"]["comm"]["calls"] == 3);
  CHECK_FALSE(make_timeline(table_of(five_steps()), RunSeries{}, {}).comm);
}

}  // namespace isobar::test_timeline
