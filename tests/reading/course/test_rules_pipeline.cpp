// Rules of lesson 15: idle shares of runs, orders on a clock of events, tables that can run, and how runs
// end.
#include "asked_rule.h"
#include "core/text.h"
#include "support/errors.h"
#include "support/made_memory.h"
#include "support/made_pipeline.h"
#include "support/made_runs.h"
#include "support/says.h"

namespace isobar::test_rules_pipeline {

namespace {

const char* const kLesson = "15_pipeline";

std::filesystem::path made_at(const TempFolder& folder, const std::string& name, MadePipeline made) {
  made.steps = 12;
  std::filesystem::create_directories(folder / name);
  made.write(folder / name, kLesson);
  return folder / name;
}

AskedRule about(const std::string& rule, const std::filesystem::path& run, const std::string& unit = "") {
  return AskedRule(rule, {{"run", {"own"}}}, unit).run("own", run, kLesson);
}

AskedRule beside(const std::string& from, const std::string& to, const std::string& parts = "8") {
  return AskedRule("schedules_beside",
                   {{"from", {from}}, {"to", {to}}, {"ranks", {"4"}}, {"parts", {parts}}});
}

AskedRule table(const std::vector<std::string>& rows, const std::string& key) {
  return AskedRule("schedule_check", {{"rows", rows}, {"key", {key}}});
}

std::string refused(const AskedRule& asked) {
  return error_of([&] { asked.rule().check(asked.question()); });
}

}  // namespace

TEST_CASE("idle time of a run stands beside both conventions of the formula") {
  const TempFolder folder;
  const Truth truth = about("idle_share", made_at(folder, "a", {.parts = 4}), "%").truth();
  CHECK(truth.cannot == "");
  CHECK(truth.number == Approx(20).epsilon(0.01));
  CHECK(truth.figures.at("formula") == "20");
  CHECK(truth.figures.at("ideal") == "25");
  CHECK(truth.figures.at("messages") == "8");  // m from each rank
  MadeRuns bare;
  CHECK_THAT(about("idle_share", bare.add("bare", {.lesson = kLesson}), "%").cannot("own"),
             says("`own` has no step of a pipeline"));
  CHECK_THAT(error_of([] {
               const AskedRule asked("idle_share", {{"run", {"own"}}}, "ms");
               asked.rule().check(asked.question());
             }),
             says("ms"));
}

TEST_CASE("the rank that waits most is the one with less to do, and none where all are equal") {
  const TempFolder folder;
  const Truth slow = about("waits_most", made_at(folder, "slow", {.slower = {2, 1}})).truth();
  CHECK(slow.accepted == Keys{"1"});
  CHECK(std::stod(slow.figures.at("idle_1")) > 40);
  CHECK(std::stod(slow.figures.at("idle_0")) < 20);
  CHECK(about("waits_most", made_at(folder, "even", {})).accepted() == Keys{"equal"});
  CHECK_THAT(refused(about("waits_most", folder / "even").choice("both", "both")), says("never accepts"));
}

TEST_CASE("orders are set beside each other by idle time and by what is kept") {
  CHECK(beside("gpipe", "1f1b").accepted() == Keys{"same_less"});
  CHECK(beside("1f1b", "zb_h1").accepted() == Keys{"less_same"});
  CHECK(beside("1f1b", "interleaved").accepted() == Keys{"less_more"});
  CHECK(beside("gpipe", "interleaved").accepted() == Keys{"less_less"});
  CHECK(beside("gpipe", "1f1b").truth().figures.at("base_kept") == "8");
  CHECK_THAT(error_of([] { beside("gpipe", "file").truth(); }), says("to = \"file\" is no order"));
  CHECK_THAT(error_of([] { beside("gpipe", "1f1b", "none").truth(); }),
             says("parts = \"none\" is no whole number from 1 to 1024"));
}

TEST_CASE("a table is checked, and a key that the check contradicts is refused") {
  CHECK(table({"0F0,0F1,0B0,0B1", "1F0,1B0,1F1,1B1"}, "runs").accepted() == Keys{"runs"});
  const Truth cycle = table({"0F0,0B0,0F1,0B1", "1F1,1B1,1F0,1B0"}, "cycle").truth();
  CHECK(cycle.accepted == Keys{"cycle"});
  CHECK(cycle.figures.at("error") != "none");
  CHECK_THAT(error_of([] { table({"0F0,0B0", "1F0,1B0"}, "order").truth(); }), says("key = \"runs\""));
  CHECK_THAT(error_of([] { table({"0F0", "1F0,1B0"}, "runs").truth(); }), says("key = \"missing\""));
  CHECK_THAT(error_of([] { table({"0B0,0F0", "1F0,1B0"}, "cycle").truth(); }), says("key = \"order\""));
  CHECK_THAT(refused(table({"0F0,0B0"}, "runs").choice("runs", "yes")), says("no choice has the key"));
}

TEST_CASE("bytes of activations of one rank in two orders") {
  const TempFolder folder;
  const auto base = made_at(folder, "base", {.form = PipelineForm::gpipe}),
             other = made_at(folder, "other", {});
  const auto asked = [&](const std::string& rank) {
    return AskedRule("activations_ratio", {{"base", {"b"}}, {"other", {"o"}}, {"rank", {rank}}}, "x")
        .run("b", base, kLesson)
        .run("o", other, kLesson);
  };
  CHECK_THAT(asked("0").cannot("b"), says("`b`: "));
  write_memory(base, made_memory({.kept = 600'000}));
  write_memory(other, made_memory({.kept = 300'000}));
  const Truth truth = asked("0").truth();
  const double base_mb = std::stod(truth.figures.at("base_mb")),
               other_mb = std::stod(truth.figures.at("other_mb"));
  CHECK(base_mb > other_mb + 0.2);
  CHECK(truth.number == Approx(base_mb / other_mb).epsilon(0.02));
  CHECK(truth.figures.at("base_kept") == "4");
  CHECK(truth.figures.at("other_kept") == "2");
  CHECK_THAT(refused(asked("first")), says("rank = \"first\" is no whole number from 0 on"));
}

TEST_CASE("a run ends well, or with an error that names a rank") {
  MadeRuns runs;
  const auto asked = [&](const std::string& name, const std::string& end, const std::string& reason) {
    return about(
        "how_it_ends",
        runs.add(name, {.end = end, .keys = {{"comm.timeout_s", "3"}}, .lesson = kLesson, .reason = reason}));
  };
  CHECK(asked("a", "done", "").accepted() == Keys{"right"});
  const Truth named = asked("b", "failed", "rank 0 waits for rank 1\nhint").truth();
  CHECK(named.accepted == Keys{"named"});
  CHECK_THAT(named.figures.at("reason"), says("rank 0 waits for rank 1"));
  CHECK(named.figures.at("timeout_s") == "3");
  CHECK_THAT(asked("c", "failed", "the disk is full").cannot("own"), says("failed for another reason"));
  CHECK_THAT(asked("d", "stopped", "").cannot("own"), says("was stopped"));
}

TEST_CASE("a run of the learner's idles and keeps within bounds") {
  const TempFolder folder;
  const auto asked = [&](const std::string& name, const MadePipeline& made) {
    return AskedRule("made_idle", {{"most", {"25"}},
                                   {"kept_least", {"3"}},
                                   {"kept_most", {"4"}},
                                   {"keeps", {"train.accumulate>=4"}}})
        .of_lesson(kLesson)
        .made(made_at(folder, name, made));
  };
  CHECK(asked("fits", {.form = PipelineForm::gpipe, .parts = 4}).accepted() == Keys{"yes"});
  const Truth few = asked("few", {.parts = 4}).truth();
  CHECK(few.accepted.empty());
  CHECK(few.figures.at("kept") == "2");
  CHECK_THAT(few.text, says("3 to 4 are required"));
  CHECK(asked("idle", {.form = PipelineForm::gpipe, .ranks = 4, .parts = 4}).truth().accepted.empty());
  CHECK_THAT(asked("short", {.parts = 2}).cannot(), says("train.accumulate>=4"));
}

}  // namespace isobar::test_rules_pipeline
