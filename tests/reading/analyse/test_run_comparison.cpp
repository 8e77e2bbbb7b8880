// Runs compared, on made-up run folders: what differs, where the time goes, what it comes from.

#include "analyse/case_tables.h"
#include "analyse/case_warnings.h"
#include "analyse/run_comparison.h"
#include "cli/case_text.h"
#include "cli/report.h"
#include "cli/run_lines.h"
#include "core/files.h"
#include "core/stage.h"
#include "log/run_files.h"
#include "record/json_line.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/made_ranks.h"
#include "support/made_runs.h"
#include "support/temp_folder.h"

namespace isobar::test_run_comparison {

namespace fs = std::filesystem;

namespace {

RunComparison compared(const fs::path& base, const fs::path& other) {
  const std::vector<RunCase> cases = read_cases({base, other});
  return compare_runs(cases[0], cases[1]);
}

std::string text_of(const std::vector<fs::path>& runs) {
  return compare_report(read_cases(runs), 76, 80).json.text();
}

double sum_of(const RunComparison& found) {
  double out = 0;
  for (const StageDifference& part : found.stages) out += part.more_us();
  return out;
}

const MadeSteps kWorkers = {.keys = {{"data.workers", "2"}}};

}  // namespace

TEST_CASE("30 ms more in each stage in turn are blamed on that stage, and the terms sum to the difference") {
  for (const char* const stage : kStageNames) {
    INFO(stage);
    MadeRuns runs;
    const fs::path base = runs.add_three("base", {});
    MadeSteps slow = kWorkers;
    slow.stage_ms[stage] += 30;
    const RunComparison found = compared(base, runs.add_three("slow", slow));
    CHECK(found.cause.kind == Cause::Kind::stage);
    CHECK(found.cause.stage == stage);
    CHECK(found.cause.is_sure);
    CHECK(found.cause.more_us == Approx(30'000).epsilon(0.02));
    CHECK(found.step.more_us() == Approx(30'000).epsilon(0.02));
    CHECK(sum_of(found) == Approx(found.step.more_us()).epsilon(1e-9));
    REQUIRE(found.speed);
    CHECK(found.speed->direction == Direction::less);
    CHECK(found.speed->ratio == Approx(20.5 / 50.5).epsilon(0.01));
  }
  MadeRuns runs;
  const fs::path base = runs.add_three("base", {});
  CHECK(
      compared(base, runs.add_three("slow", {.rest_ms = 20, .keys = {{"data.workers", "2"}}})).cause.stage ==
      "rest");
}

TEST_CASE("tables fit the terminal: what other lines say too is left out first, then names are cut") {
  MadeRuns runs;
  const std::string name = "01_baseline-20260102-030405-abcd";
  const fs::path base = runs.add_three(name, {.stage_ms = {{"load", 100}, {"forward", 900}}});
  const fs::path other = runs.add_three(
      "02" + name.substr(2),
      {.stage_ms = {{"load", 90}, {"forward", 900}},
       .keys = {{"data.root", "\"/a/folder/whose/name/is/longer/than/forty/letters\""}, {"data.dt", "2"}}});
  const std::vector<RunCase> cases = read_cases({base, other});
  const auto lines = [&](std::size_t table) { return compare_report(cases, 76, table).texts(); };
  const std::vector<std::string> whole = lines(kAnyColumns);
  for (const char* const head : {"runs", "samples/s", "vs A", "ms a step", "valid loss"})
    CHECK_THAT(whole.front(), says(head));
  for (const std::size_t columns : std::vector<std::size_t>{100, 80}) {
    INFO(columns);
    const std::vector<std::string> table = lines(columns);
    REQUIRE(table.size() == whole.size());
    for (const std::string& line : table) CHECK(line.size() <= columns);
    CHECK_THAT(table.front(), says("run ") && says("samples/s") && says("vs A"));
    CHECK_THAT(table.front(), !says("origin"));
    CHECK_THAT(table[2], says("02_") && says("abcd"));
  }
  CHECK_THAT(lines(100)[1], says(name));
  CHECK_THAT(lines(80).front(), says("valid loss"));
}

TEST_CASE("swapping two runs swaps the signs") {
  MadeRuns runs;
  const fs::path base = runs.add_three("base", {});
  MadeSteps other = kWorkers;
  other.stage_ms["load"] = 0.1;
  other.stage_ms["forward"] = 6;
  const fs::path fast = runs.add_three("fast", other);
  const RunComparison there = compared(base, fast), back = compared(fast, base);
  REQUIRE(there.stages.size() == back.stages.size());
  for (std::size_t i = 0; i < there.stages.size(); ++i) {
    CHECK(there.stages[i].stage == back.stages[i].stage);
    CHECK(there.stages[i].more_us() == Approx(-back.stages[i].more_us()));
  }
  CHECK(there.step.more_us() == Approx(-back.step.more_us()));
  CHECK(there.speed->ratio * back.speed->ratio == Approx(1));
  CHECK(there.cause.stage == "load");
  CHECK(back.cause.more_us == Approx(-there.cause.more_us));
}

TEST_CASE("keys that differ are those and no others; labels and moments are none") {
  MadeRuns runs;
  const fs::path base = runs.add("base", {.keys = {{"run.group", "\"sweep-1\""}}});
  const fs::path other = runs.add(
      "other",
      {.keys = {{"data.workers", "2"}, {"amp.mode", "\"bf16\""}, {"environment.host", "\"there\""}}});
  const ConfigText one = config_of(base), two = config_of(other);
  std::vector<std::string> found, places;
  for (const KeyRow& row : key_rows({&one, &two})) {
    if (row.differs && !row.is_label()) (row.is_environment() ? places : found).push_back(row.key);
  }
  CHECK(found == std::vector<std::string>{"amp.mode", "data.workers"});
  CHECK(places == std::vector<std::string>{"environment.host"});
  CHECK_FALSE(is_repeat(one, two));
  CHECK(is_repeat(one, config_of(runs.add("again", {.keys = {{"run.group", "\"sweep-2\""}}}))));
  CHECK_FALSE(is_repeat(one, {}));
}

TEST_CASE("repeats are found beside a run: same settings, whole, and not beside other programs") {
  MadeRuns runs;
  const fs::path base = runs.add_three("base", {});
  runs.add("died", {.end = ""});
  runs.add("stopped", {.end = "stopped"});
  runs.add("other", kWorkers);
  runs.add("crowded", {.processor_wait = 0.5});
  runs.add("recorded", {.provenance = "recorded"});
  fs::create_directory(runs.path() / "empty");
  fs::create_directory(runs.path() / "broken");
  write_file_whole(runs.path() / "broken" / "run.toml", std::string_view("[[["));
  const RunCase found = std::move(read_cases({base}).front());
  CHECK(found.repeats.size() == 3);
  CHECK(found.crowded == 1);
  CHECK(rates(found.repeats).values.size() == 3);
  CHECK(read_cases({runs.path() / "died"}).front().repeats.size() == 1);
}

TEST_CASE("runs with the same settings repeat one another, unless other programs ran beside one") {
  MadeRuns runs;
  const fs::path base = runs.add("base", {});
  const RunComparison same = compared(base, runs.add("again", {.factor = 1.2}));
  CHECK_THAT(same.no_ratio, says("settings are the same"));
  CHECK(same.cause.kind == Cause::Kind::none);
  CHECK_FALSE(same.speed);
  const RunComparison busy = compared(base, runs.add("busy", {.factor = 2, .processor_wait = 0.4}));
  CHECK(busy.cause.kind == Cause::Kind::other_programs);
  CHECK(compared(runs.path() / "busy", base).cause.kind == Cause::Kind::other_programs);
}

TEST_CASE("a busy machine is blamed although a stage takes most of the difference") {
  MadeRuns runs;
  const fs::path base = runs.add_three("base", {});
  MadeSteps busy = kWorkers;
  busy.stage_ms["backward"] += 30;
  busy.processor_wait = 0.3;
  CHECK(compared(base, runs.add_three("busy", busy)).cause.kind == Cause::Kind::other_programs);
}

TEST_CASE(
    "of two runs on a busy machine the slower is blamed on it where it waited for most of the difference") {
  MadeRuns runs;
  MadeSteps less = {.processor_wait = 0.35};
  const fs::path base = runs.add_three("base", less);
  MadeSteps more = kWorkers;
  for (auto& [stage, ms] : more.stage_ms) ms *= 4;
  more.processor_wait = 0.55;
  CHECK(compared(base, runs.add_three("busier", more)).cause.kind == Cause::Kind::other_programs);
  MadeSteps slow = {.keys = {{"data.workers", "3"}}};
  slow.stage_ms["copy"] += 30;
  slow.processor_wait = 0.3;
  const RunComparison found = compared(base, runs.add_three("slow", slow));
  CHECK(found.cause.kind == Cause::Kind::stage);
  CHECK(found.cause.stage == "copy");
}

TEST_CASE("a slow rank is blamed, with the stage in which it is slow") {
  const auto ranks = [](double slow_us) {
    MadeRanks out;
    out.steps = 40;
    out.more = [slow_us](int rank, int step, JsonLine& line) {
      const double late = rank == 1 ? slow_us : 0;
      line.add("forward_us", 30'000).add("backward_us", 60'000 + late + step % 3);
      line.add("comm_us", 1000 + (rank == 1 ? 0 : slow_us));
      if (slow_us > 0) line.add("waited_for", 1).add("waited_us", slow_us);
    };
    out.step_us = 100'000 + static_cast<std::int64_t>(slow_us);
    return out;
  };
  TempFolder even, slow;
  ranks(0).write(even);
  ranks(30'000).write(slow);
  const RunComparison found = compared(even.path(), slow.path());
  CHECK(found.cause.kind == Cause::Kind::straggler);
  CHECK(found.cause.rank == 1);
  CHECK(found.cause.stage == "backward");
  CHECK(found.cause.more_us == Approx(30'000));
  CHECK(sum_of(found) == Approx(found.step.more_us()));
}

TEST_CASE("a straggler is that of most repeats, for the mean of all") {
  RunCase base, other;
  const auto repeat = [](int rank, double kept_us, double step_us) {
    SteadyFigures out;
    out.steps = 10;
    out.means = {{"backward_us", step_us - 1000}, {"comm_us", 1000}, {"step_us", step_us}};
    out.ranks.emplace();
    if (rank >= 0) out.ranks->straggler = Straggler{.rank = rank, .kept_us = kept_us, .stage = "backward"};
    return out;
  };
  base.config = {{"data.workers", "1"}};
  other.config = {{"data.workers", "2"}};
  base.repeats = {repeat(-1, 0, 30'000), repeat(-1, 0, 30'000), repeat(0, 3000, 30'000)};
  other.repeats = {repeat(1, 60'000, 60'000), repeat(1, 30'000, 60'000), repeat(0, 3000, 60'000)};
  const Cause cause = compare_runs(base, other).cause;
  CHECK(cause.kind == Cause::Kind::straggler);
  CHECK(cause.rank == 1);
  CHECK(cause.more_us == Approx(30'000));
  other.repeats[1] = repeat(-1, 0, 60'000);
  CHECK(compare_runs(base, other).cause.kind == Cause::Kind::stage);
}

TEST_CASE("a part that is more than the whole is not said to be of it") {
  RunComparison found;
  found.per = "step";
  found.step = {"step", 33'900, 63'700};
  found.cause = {Cause::Kind::straggler, "backward", 1, 48'500, false};
  CHECK_THAT(comparison_sentence(found, "A", "B"), says("in backward, 48.5 ms a step more (29.8 in all)"));
  found.cause.more_us = 28'000;
  CHECK_THAT(comparison_sentence(found, "A", "B"), says("28.0 of 29.8 ms a step more"));
}

TEST_CASE("losses are equal to the bit, alike, or different from a step on") {
  MadeRuns runs;
  const fs::path base = runs.add("base", {});
  CHECK(compared(base, runs.add("equal", kWorkers)).losses.parity == Parity::bit_equal);
  MadeSteps close = kWorkers;
  close.loss_factor = 1 + 1e-6;
  const LossesCompared alike = compared(base, runs.add("alike", close)).losses;
  CHECK(alike.parity == Parity::within);
  CHECK(alike.unequal_from == 0);
  CHECK(alike.largest == Approx(1e-6).epsilon(0.01));
  // One that was stopped is as alike up to there: its last score is not held against a later one.
  MadeSteps shorter = close;
  shorter.steps = 20;
  shorter.end = "stopped";
  CHECK(compared(base, runs.add("shorter", shorter)).losses.parity == Parity::within);
  close.loss_factor = 1.01;
  CHECK(compared(base, runs.add("different", close)).losses.parity == Parity::differs);
  close.precision = "bf16";
  CHECK(compared(base, runs.add("half", close)).losses.parity == Parity::within);
  close.measure = "synthetic";
  CHECK(compared(base, runs.add("measures", close)).losses.parity == Parity::unknown);
  close.measure = "none";
  close.loss_factor = std::nan("");
  const LossesCompared none = compared(base, runs.add("nan", close)).losses;
  CHECK(none.parity == Parity::differs);
  CHECK_THAT(none.text(), says("one of them is no number"));
}

TEST_CASE("losses are compared at equal samples, at equal time, and by the time to a loss") {
  MadeRuns runs;
  const fs::path base = runs.add("base", {});
  MadeSteps fast = kWorkers;
  fast.factor = 0.5;
  const LossesCompared found = compared(base, runs.add("fast", fast)).losses;
  REQUIRE((found.at_samples && found.at_time && found.time_to));
  CHECK(found.at_samples->place == 120);
  CHECK(found.at_samples->base == found.at_samples->other);
  CHECK(found.at_time->place == Approx(0.001 + 30 * 0.01025).epsilon(0.01));
  CHECK(found.at_time->base > found.at_time->other);  // the slower one is not as far by then
  CHECK(found.time_to->place == Approx(loss_after({}, 30)));
  CHECK(found.time_to->base / found.time_to->other == Approx(2).epsilon(0.02));
  CHECK_FALSE(compared(base, runs.add("unscored", {.scored = false})).losses.at_samples);
}

TEST_CASE("steps of different size are compared by the sample") {
  MadeRuns runs;
  const fs::path base = runs.add_three("base", {});
  MadeSteps large = {.samples = 8, .keys = {{"train.global_batch", "8"}}};
  const RunComparison found = compared(base, runs.add_three("large", large));
  CHECK(found.per == "sample");
  CHECK(found.speed->ratio == Approx(2));
  CHECK(found.step.other_us == Approx(found.step.base_us / 2));
  CHECK(sum_of(found) == Approx(found.step.more_us()));
}

TEST_CASE("what was measured, recorded and predicted meets in no ratio") {
  MadeRuns runs;
  const fs::path base = runs.add_three("base", {});
  CHECK_FALSE(compared(base, runs.add("recorded", {.provenance = "recorded"})).speed);
  const fs::path one = runs.add("one", {.provenance = "predicted"});
  const fs::path two = runs.add("two", {.factor = 2, .provenance = "predicted"});
  CHECK_THAT(compared(one, two).no_ratio, says("predicted"));
}

TEST_CASE("runs that are not whole are compared as far as they go, and that is said") {
  MadeRuns runs;
  const fs::path base = runs.add_three("base", {});
  const auto report = [&](const fs::path& other) { return text_of({base, other}); };
  const auto other = kWorkers.keys;
  CHECK_THAT(report(runs.add("live", {.steps = 20, .end = "", .keys = other})), says(R"("state":"running")"));
  CHECK_THAT(report(runs.add("died", {.steps = 20, .end = "", .pid = 2'000'000'000, .keys = other})),
             says(R"("state":"died")"));
  CHECK_THAT(report(runs.add("failed", {.steps = 20, .end = "failed", .keys = other})),
             says(R"("state":"failed")"));
  CHECK_THAT(report(runs.add("one step", {.steps = 1, .keys = other})),
             says("B has no step after its warm-up"));
  const fs::path short_run = runs.add("one more", {.steps = 1, .keys = {{"data.workers", "5"}}});
  CHECK_THAT(text_of({runs.path() / "one step", short_run}), says("neither has a step after its warm-up"));
  CHECK_THAT(report(runs.add("no step", {.steps = 0, .keys = {{"data.workers", "4"}}})),
             says("B has no step after its warm-up"));
  CHECK_THAT(report(runs.add("back", {.keys = {{"data.workers", "3"}}, .t_us_jump = -3'600'000'000})),
             says(R"("cause":{"kind":"none")"));
  fs::create_directory(runs.path() / "unset");
  write_file_whole(runs.path() / "unset" / "rank-0000.jsonl", std::string_view(stream_of({})));
  CHECK_THAT(report(runs.path() / "unset"), says(R"("keys":[])"));
  write_file_whole(runs.path() / "unset" / "run.toml", std::string_view("[other]\nkey = 1\n"));
  CHECK_THAT(report(runs.path() / "unset"), says("other.key"));  // no common key
}

TEST_CASE("what is no run, or of another schema, is refused by name") {
  MadeRuns runs;
  const fs::path base = runs.add("base", {});
  fs::create_directory(runs.path() / "empty");
  CHECK_THAT(error_of([&] { (void)read_cases({base, runs.path() / "empty"}); }), says("holds no run"));
  CHECK_THAT(error_of([&] { (void)read_cases({base, runs.add("new", {.schema = 9})}); }), says("schema"));
}

TEST_CASE("a hundred runs at once") {
  MadeRuns runs;
  std::vector<fs::path> all;
  for (int i = 0; i < 100; ++i)
    all.push_back(runs.add("run" + std::to_string(i), {.keys = {{"data.workers", std::to_string(i)}}}));
  const Json json = Json::parse(text_of(all));
  CHECK(json.at("runs").values().size() == 100);
  CHECK(json.at("differences").values().size() == 99);
  CHECK(json.at("keys").values().size() == 1);
  CHECK(case_label(25) == "Z");
  CHECK(case_label(26) == "27");
}

TEST_CASE("the correlation of anomalies is said where there is a climatology") {
  RunScores scores{.step = 8, .loss = 0.5, .headline = "u10m", .rmse = 0.25, .persistence_rmse = 0.5};
  CHECK_THAT(scores_line(scores), says("u10m RMSE 0.2500  persistence 0.5000") && !says("ACC"));
  scores.climatology_rmse = 0.75;
  scores.acc = 0.5;
  CHECK_THAT(scores_line(scores), says("persistence 0.5000  ACC 0.500"));
}

}  // namespace isobar::test_run_comparison
