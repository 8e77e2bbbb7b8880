// Steps of a pipeline from the spans of a run: the picture's values, shares, the slowest stage, and what is
// left of damaged spans.
#include <algorithm>

#include "analyse/figure.h"
#include "analyse/pipeline_run.h"
#include "analyse/steady.h"
#include "core/text.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/made_pipeline.h"
#include "support/says.h"
#include "support/temp_folder.h"

namespace isobar::test_pipeline_run {

namespace {

SpanTable table_of(const MadeSpans& made) {
  const TempFolder folder;
  made.write(folder);
  return read_spans(folder.path());
}

std::vector<SpanTable> tables_of(const MadePipeline& made) {
  std::vector<SpanTable> out;
  for (int rank = 0; rank < made.ranks; ++rank) out.push_back(table_of(made.spans(rank)));
  return out;
}

std::vector<PipelineRank> ranks_of(const std::vector<SpanTable>& tables) {
  std::vector<PipelineRank> out;
  for (std::size_t i = 0; i < tables.size(); ++i) out.push_back({static_cast<int>(i), &tables[i], 0});
  return out;
}

void append(const TempFolder& folder, int rank, const std::string& text) {
  const auto file = RunFolder{folder.path()}.spans_file(rank);
  write_file_whole(file, std::string_view(read_text_file(file, 1 << 20) + text));
}

}  // namespace

TEST_CASE("cells are actions, and nothing else is") {
  CHECK(action_named("2F0") == PipelineAction{2, PipelineWork::forward, 0});
  CHECK(action_named("10W31") == PipelineAction{10, PipelineWork::weight, 31});
  for (const char* bad : {"", "F0", "2F", "2X0", "2F0 ", "-1F0", "2F-1", "99999F0", "2F99999", "backward"})
    CHECK_FALSE(action_named(bad));
}

TEST_CASE("the spans of a run give the schedule that it followed") {
  const MadePipeline made{.form = PipelineForm::interleaved, .ranks = 2, .chunks = 2, .parts = 4};
  const std::vector<SpanTable> tables = tables_of(made);
  const auto run = pipeline_run(ranks_of(tables), {made.form});
  REQUIRE(run);
  const PipelineCourse course = made.course();
  CHECK(run->drawn.stages == 4);
  CHECK(run->drawn.parts() == 4);
  CHECK(run->drawn.step > 0);  // the first takes twice as long
  CHECK(run->of == StepRange{1, 5});
  CHECK(run->drawn.course.step_us == Approx(course.step_us));
  CHECK(run->drawn.course.peak_kept == course.peak_kept);
  REQUIRE(run->drawn.course.actions.size() == course.actions.size());
  for (std::size_t i = 0; i < course.actions.size(); ++i) {
    CHECK(run->drawn.course.actions[i].action == course.actions[i].action);
    CHECK(run->drawn.course.actions[i].begin_us == Approx(course.actions[i].begin_us));
  }
  CHECK(run->idle_share == Approx(1.0 / 9));  // (p - 1) / (v m + p - 1)
  CHECK(run->of_ideal == Approx(1.0 / 8));
  CHECK(run->lacks.empty());
  CHECK(run->traced == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5});
}

TEST_CASE("idle time of a run is told apart: the schedule, unequal stages, and the rest") {
  const MadePipeline made{.ranks = 2, .parts = 4, .slower = {1, 1.5}, .message_us = 300};
  const std::vector<SpanTable> tables = tables_of(made);
  const auto run = pipeline_run(ranks_of(tables), {made.form});
  REQUIRE(run);
  REQUIRE(run->scheduled);
  CHECK(run->equal_idle == Approx(0.2));
  MadePipeline at_once = made;
  at_once.message_us = 0;
  CHECK(run->scheduled->course.idle_share() == Approx(at_once.course().idle_share()));
  CHECK(run->scheduled->course.idle_share() > 0.2);
  CHECK(run->idle_share > run->scheduled->course.idle_share());
  CHECK(run->slowest.stage == 1);
  CHECK(run->slowest_rank == 1);
  CHECK(run->slowest.part_us == Approx(4500));
  CHECK(run->slowest.others_us == Approx(3000));
  const std::string text = joined(pipeline_sentences(*run), "\n");
  CHECK_THAT(text, says("idle") && says("(by formula 20.0 %)") && says("20.0 % with equal stages") &&
                       says("points since stages differ") && says("between actions that wait for no other") &&
                       says("slowest stage: 1 on rank 1, 4.50 ms a micro-batch; the others 3.00 ms"));
  const Json json = pipeline_json(*run);
  CHECK(json.contains("formula_of_ideal"));
  CHECK(json.contains("scheduled_idle"));
}

TEST_CASE("ranks that repeat a stage are of another pipeline") {
  const MadePipeline made{.ranks = 2};
  const std::vector<SpanTable> tables = tables_of(made);
  const std::vector<PipelineRank> four = {
      {0, &tables[0], 0}, {1, &tables[0], 0}, {2, &tables[1], 0}, {3, &tables[1], 0}};
  const auto run = pipeline_run(four, {made.form});
  REQUIRE(run);
  CHECK(run->drawn.named == std::vector<int>{0, 2});
  CHECK(run->drawn.ranks() == 2);
}

TEST_CASE("from files: one Gantt of all ranks, and a clock of another machine is set by collectives") {
  const TempFolder folder;
  MadePipeline made{
      .ranks = 4, .parts = 8, .clock_us = 70'000};  // spans without an origin: no clock in common
  made.write(folder.path());
  const auto run = read_pipeline(folder.path());
  REQUIRE(run);
  CHECK(run->drawn.form == PipelineForm::one_f_one_b);
  CHECK(run->idle_share == Approx(3.0 / 11));
  CHECK(run->drawn.course.peak_kept == std::vector<int>{4, 3, 2, 1});
  CHECK_THAT(error_of([&] { read_pipeline(folder.path(), {}, 77); }),
             Says("step 77 was not traced by all ranks of the pipeline"));
  CHECK(read_pipeline(folder.path(), {}, 0)->drawn.step == 0);
}

TEST_CASE("damaged spans leave what can be drawn, and are named") {
  const TempFolder folder;
  const MadePipeline made{.ranks = 2, .parts = 2, .steps = 3};
  made.write(folder.path());
  SECTION("names that are no actions") {
    append(folder, 1, MadeSpans().span(1, "pipeline", "2X7", 5, 5).text());
    CHECK_THAT(read_pipeline(folder.path())->lacks, says("1 span of the track are no actions"));
  }
  SECTION("a line that was cut off") {
    append(folder, 1, R"({"kind":"span","step":2,"track":"pipe)");
    CHECK(read_pipeline(folder.path())->drawn.ranks() == 2);
  }
  SECTION("actions of a step that are missing") {
    MadeSpans few;
    few.attempt(0).span(1, "pipeline", "1F0", 100'000, 1000).span(2, "pipeline", "1F0", 200'000, 1000);
    write_file_whole(RunFolder{folder.path()}.spans_file(1), std::string_view(few.text()));
    const auto run = read_pipeline(folder.path());
    REQUIRE(run);
    CHECK_FALSE(run->scheduled);
    CHECK_FALSE(bubble_formula(run->drawn));
    CHECK_THAT(joined(pipeline_sentences(*run), "\n"),
               says("lacks actions of some micro-batches") && !says("by formula"));
  }
  SECTION("a rank without spans") {
    std::filesystem::remove(RunFolder{folder.path()}.spans_file(1));
    const auto run = read_pipeline(folder.path());
    REQUIRE(run);
    CHECK(run->drawn.ranks() == 1);
    CHECK_THAT(run->lacks, says("rank 1 has no spans"));
    CHECK_FALSE(bubble_formula(run->drawn));  // stage 1 is missing, which the others' spans do not show
  }
  SECTION("the first rank without spans") {
    std::filesystem::remove(RunFolder{folder.path()}.spans_file(0));
    const auto run = read_pipeline(folder.path());
    REQUIRE(run);
    CHECK(run->drawn.named == std::vector<int>{1});
    CHECK(run->drawn.keeps_of(0) == "1");
    std::filesystem::remove(RunFolder{folder.path()}.spans_file(1));
    CHECK_FALSE(read_pipeline(folder.path()));
  }
  SECTION("a step that took no time") {
    MadeSpans other;
    other.attempt(0).span(1, "pipeline", "1F0", 100'000, 0).span(2, "pipeline", "1F0", 200'000, 5);
    write_file_whole(RunFolder{folder.path()}.spans_file(1), std::string_view(other.text()));
    CHECK(read_pipeline(folder.path())->traced == std::vector<std::int64_t>{2});
    CHECK_THAT(error_of([&] { read_pipeline(folder.path(), {}, 1); }), Says("step 1 was not traced"));
  }
  SECTION("spans across each other") {
    append(folder, 0, MadeSpans().span(1, "pipeline", "0F1", 0, 1'000'000'000).text());
    const auto run = read_pipeline(folder.path());
    REQUIRE(run);
    CHECK(run->drawn.course.idle_share() >= 0);
  }
  SECTION("no step that both ranks traced") {
    MadeSpans other;
    other.attempt(0).span(9, "pipeline", "1F0", 100'000, 1000);
    write_file_whole(RunFolder{folder.path()}.spans_file(1), std::string_view(other.text()));
    CHECK_THAT(error_of([&] { read_pipeline(folder.path()); }), Says("no step was traced by all ranks"));
  }
}

TEST_CASE("idle share, messages and kept micro-batches are figures of the run's records") {
  const TempFolder folder;
  MadePipeline made{.ranks = 2, .parts = 4, .steps = 12, .slower = {1, 1.5}};
  made.write(folder.path());
  const SteadyFigures figures = steady_figures(folder.path());
  CHECK(*figure_named("pipe_idle")->of(figures) == Approx(made.course().idle_share()).epsilon(0.01));
  CHECK(*figure_named("pipe_kept")->of(figures) == 2);
  CHECK(*figure_named("pipe_calls")->of(figures) == 4);
  CHECK(*figure_named("pipe_bytes")->of(figures) == 4000);
  const RanksView& ranks = *figures.ranks;
  CHECK(*ranks.ranks[0].pipe_idle > *ranks.ranks[1].pipe_idle);
  CHECK_THAT(joined(rank_lines(ranks), "\n"), says("pipe idle") && says("keeps"));
  MadeRanks().write(folder.path());
  CHECK_FALSE(figure_named("pipe_idle")->of(steady_figures(folder.path())));
}

TEST_CASE("a run whose ranks do not know how long they computed has no idle share") {
  const TempFolder folder;
  MadeRanks made{.world = 2, .steps = 12};
  made.more = [](int, int, JsonLine& line) {
    line.add("pipe_us", 9000).add("pipe_busy_us", 0).add("pipe_calls", 4).add("pipe_kept", 2);
  };
  made.write(folder.path());
  const SteadyFigures figures = steady_figures(folder.path());
  CHECK_FALSE(figure_named("pipe_idle")->of(figures));
  CHECK(*figure_named("pipe_kept")->of(figures) == 2);
  CHECK_THAT(joined(rank_lines(*figures.ranks), "\n"), says("keeps") && !says("pipe idle"));
}

TEST_CASE("what ranks with several stages keep is counted in micro-batches of all of their blocks") {
  const TempFolder folder;
  const MadePipeline made{
      .form = PipelineForm::interleaved, .ranks = 4, .chunks = 2, .parts = 8, .steps = 12};
  made.write(folder.path());
  REQUIRE(made.course().peak_kept.front() == 11);
  CHECK(*figure_named("pipe_kept")->of(steady_figures(folder.path())) == 5.5);
  CHECK(read_pipeline(folder.path())->drawn.keeps_of(0) == "5.5");
}

TEST_CASE("a run without a pipeline has none") {
  CHECK_FALSE(pipeline_run({}, {}));
  const SpanTable table = table_of(MadeSpans().attempt(0).span(0, "loop", "forward", 0, 10));
  CHECK_FALSE(pipeline_run({{0, &table, 0}}, {}));
  CHECK_FALSE(has_pipeline(table));
}

TEST_CASE("the timeline of one rank has works in place of micro-batches") {
  const SpanTable table = with_works(table_of(MadePipeline{.form = PipelineForm::zb_h1}.spans(0)));
  for (const SpanRow& span : table.spans) CHECK_FALSE(action_named(table.names[span.name]));
  CHECK(std::ranges::find(table.names, "weights") != table.names.end());
}

}  // namespace isobar::test_pipeline_run
