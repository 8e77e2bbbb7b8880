// Rules of runs that the learner made: bounds of one, a factor between two, and a run that is defended.
#include "asked_rule.h"
#include "made_all_reduce.h"
#include "made_descent.h"
#include "support/errors.h"
#include "support/made_runs.h"
#include "support/says.h"

namespace isobar::test_rules_made {

namespace {

MadeSteps with_workers(const std::string& workers, double factor = 1) {
  return {.factor = factor, .keys = {{"data.workers", workers}}};
}

/// Its rate is 4 / 20.5 ms, 195 samples/s.
AskedRule of_rate(const With& more, const std::filesystem::path& run) {
  With with = {{"of", {"samples_per_s"}}};
  with.insert(more.begin(), more.end());
  return AskedRule("made", with).made(run);
}

}  // namespace

TEST_CASE("a figure of one run of the learner's lies within bounds, or what it is is told") {
  MadeRuns runs;
  const auto run = runs.add_three("mine", with_workers("2"));
  const Truth good = of_rate({{"least", {"190"}}}, run).truth();
  CHECK(good.accepted == Keys{"yes"});
  CHECK(good.figures.at("value") == "195 samples/s");
  CHECK(good.figures.at("wanted") == "at least 190 samples/s");
  CHECK(good.source == "measured here");
  const Truth bad = of_rate({{"most", {"190"}}}, run).truth();
  CHECK(bad.cannot == "");
  CHECK(bad.accepted.empty());
  CHECK(bad.text == "samples/s: 195 samples/s; at most 190 samples/s is required");
  CHECK(of_rate({{"least", {"190"}}, {"most", {"200"}}}, run).accepted() == Keys{"yes"});
  const With load = {{"of", {"load_us"}}, {"most", {"3.1"}}};  // in ms, as texts have it
  CHECK(AskedRule("made", load).made(run).accepted() == Keys{"yes"});
  const With share = {{"of", {"load_us"}}, {"over", {"step_us"}}, {"most", {"10"}}};
  CHECK(AskedRule("made", share).made(run).accepted().empty());
  CHECK(AskedRule("made", share).made(run).truth().figures.at("value") == "15 %");
}

TEST_CASE("counted figures are judged whatever else ran, times are not") {
  MadeRuns runs;
  MadeSteps busy = with_workers("1");
  busy.processor_wait = 0.9;
  busy.persistence = 0.5;
  busy.totals = {{"skipped", 2}};
  const auto run = runs.add("busy", busy);
  const auto counted = [&](const std::string& of, const std::string& most) {
    return AskedRule("made", {{"of", {of}}, {"most", {most}}}).made(run).accepted();
  };
  CHECK(counted("skipped", "2") == Keys{"yes"});
  CHECK(counted("skipped", "1").empty());
  CHECK(counted("of_persistence", "50") == Keys{"yes"});
  CHECK(counted("of_persistence", "40").empty());
  CHECK_THAT(of_rate({{"least", {"1"}}}, run).cannot("busy"), says("so its timings cannot be trusted"));
  const auto bare = runs.add("bare", with_workers("4"));
  CHECK(AskedRule("made", {{"of", {"of_persistence"}}, {"most", {"90"}}}).made(bare).truth().cannot ==
        "`bare` reports no of_persistence");
}

TEST_CASE("a run that is not what was asked for is not judged") {
  MadeRuns runs;
  const auto run = runs.add_three("mine", with_workers("2"));
  const auto kept = [&](const std::string& setting) {
    return of_rate({{"least", {"1"}}, {"keeps", {"data.workers>=1", setting}}}, run);
  };
  CHECK(kept("data.workers=2").accepted() == Keys{"yes"});
  CHECK(kept("data.workers<=2").accepted() == Keys{"yes"});
  CHECK(kept("amp.mode=none").accepted() == Keys{"yes"});
  CHECK(kept("data.workers=02").accepted() == Keys{"yes"});
  CHECK(kept("data.workers>=3").cannot() == "`mine1` is no run with data.workers>=3");
  CHECK(kept("amp.mode=fp16").cannot() == "`mine1` is no run with amp.mode=fp16");
  CHECK(kept("train.steps<=30").cannot() == "`mine1` is no run with train.steps<=30");  // it has none
  const With least = {{"of", {"samples_per_s"}}, {"least", {"1"}}};
  CHECK(AskedRule("made", least).cannot() == "one run of yours is needed, there are 0");
  const auto other = runs.add("other", with_workers("4"));
  CHECK(AskedRule("made", least).made(run).made(other).cannot() == "one run of yours is needed, there are 2");
  CHECK(AskedRule("made", least).made(run).made(run.parent_path() / "mine2").accepted() == Keys{"yes"});
  CHECK_THAT(of_rate({{"least", {"1"}}}, runs.add("stopped", {.end = "stopped"})).truth().cannot,
             says("was stopped"));
  CHECK_THAT(of_rate({{"least", {"1"}}}, runs.add("theirs", {.provenance = "recorded"})).cannot(),
             says("a run of yours is needed"));
}

TEST_CASE("of two runs one is so many times as good, beyond the spread, and they differ in one key") {
  MadeRuns runs;
  const auto quick = runs.add_three("quick", with_workers("2"));
  const auto slow = runs.add_three("slow", with_workers("1", 1.2));
  const auto same = runs.add_three("same", with_workers("4", 1.001));
  const auto pair = [](const auto& one, const auto& two, With more = {}) {
    more["times"] = {"1.15"};
    more["differ"] = {"data.workers"};
    more["of"] = {"samples_per_s"};
    return AskedRule("made", more).made(one).made(two);
  };
  const Truth good = pair(slow, quick).truth();
  CHECK(good.accepted == Keys{"yes"});
  CHECK(good.figures.at("ratio") == "1.20");
  CHECK(good.figures.at("first") == "195 samples/s");
  CHECK_THAT(good.text, says("in `quick1`") && says("1.15 times is required"));
  CHECK(pair(quick, same).accepted().empty());
  CHECK(pair(quick, slow, {{"wins", {"data.workers=2"}}}).accepted() == Keys{"yes"});
  CHECK(pair(quick, slow, {{"wins", {"data.workers=1"}}}).accepted().empty());
  CHECK(pair(quick, slow, {{"wins", {"data.workers>=1"}}}).cannot() ==
        "a run with data.workers>=1 and one without are needed");
  MadeSteps also = with_workers("1", 1.5);
  also.keys["data.seed"] = "7";
  CHECK(
      pair(quick, runs.add_three("also", also)).cannot() ==
      "`quick1` and `also1` differ in data.seed, data.workers: data.workers is to differ, and nothing else");
  CHECK_THAT(pair(quick, runs.add("once", with_workers("8", 2))).cannot("once"),
             says("has 1 run, 3 are needed"));
  CHECK(pair(quick, quick).cannot() == "runs with two settings are needed, there is 1, with repeats");
  // Counted figures need no repeats.
  MadeSteps large = with_workers("16");
  large.more = {{"wire_bytes", 3e6}};
  MadeSteps small = with_workers("32");
  small.more = {{"wire_bytes", 1e6}};
  const With bytes = {{"of", {"wire_mb_per_step"}}, {"times", {"2.9"}}, {"differ", {"data.workers"}}};
  const Truth sent =
      AskedRule("made", bytes).made(runs.add("large", large)).made(runs.add("small", small)).truth();
  CHECK(sent.accepted == Keys{"yes"});
  CHECK(sent.text == "sent a step: 1 MB in `small`, 3 MB in `large`: 3.00 times; 2.9 times is required");
}

TEST_CASE("a question with bounds and a factor, and a setting that is none, are refused") {
  const auto refused = [](const With& more) {
    With with = {{"of", {"samples_per_s"}}};
    with.insert(more.begin(), more.end());
    const AskedRule asked("made", with);
    return error_of([&] { asked.rule().check(asked.question()); });
  };
  CHECK_THAT(refused({}), says("one run has bounds, two have a factor"));
  CHECK_THAT(refused({{"times", {"2"}}, {"least", {"2"}}}), says("one run has bounds"));
  for (const char* const setting : {"workers=2", "data.workers", "data.workers=", "amp.mode>=none"})
    CHECK_THAT(refused({{"least", {"1"}}, {"keeps", {setting}}}), says("is no setting"));
}

TEST_CASE("the edge of a path that descends is asked of all samples, and its bound of a path that arrives") {
  MadeDescents descents;
  const auto of = [](const std::string& what, const std::filesystem::path& run) {
    const With with = {{"what", {what}}, {"least", {"99"}}, {"most", {"101"}}, {"rest", {"5"}}};
    return AskedRule("made_descent", with).of_lesson("00_sgd").made(run);
  };
  const auto whole = descents.add("whole", {.sets = {"train.global_batch=1000", "optim.lr=0.79"}});
  CHECK(of("rate", whole).accepted() == Keys{"yes"});
  CHECK(of("rate", whole).truth().figures.at("limit") == "0.791");
  CHECK(of("rate", descents.add("low", {.sets = {"train.global_batch=1000", "optim.lr=0.7"}}))
            .accepted()
            .empty());
  CHECK_THAT(of("rate", descents.add("part", {})).cannot("part"), says("all are needed"));
  const Truth never = of("samples", descents.add("never", {.sets = {"optim.lr=0.001"}})).truth();
  CHECK(never.accepted.empty());
  CHECK(never.figures.at("value") == "never");
  const Truth away = of("samples", descents.add("away", {.sets = {"optim.lr=3"}})).truth();
  CHECK(away.accepted.empty());
  CHECK_THAT(away.text, !says("nan") && !says("inf "));
}

TEST_CASE("times of all-reduces are a pair over one link alone") {
  const MadeAllReduces made;
  const With with = {{"times", {"1.1"}}, {"wins", {"comm.algorithm=ring"}}, {"differ", {"comm.algorithm"}}};
  const auto pair = [&](const auto& one, const auto& two) {
    return AskedRule("made_all_reduce", with).of_lesson("09_all_reduce").made(one).made(two);
  };
  const auto ring = made.linked("ring"), tree = made.linked("tree", {"comm.algorithm=tree"});
  CHECK(pair(tree, ring).accepted() == Keys{"yes"});
  const auto slower = made.linked("slower", {"comm.algorithm=tree", "comm.link.gbit_per_s=0.5"});
  CHECK_THAT(pair(slower, ring).cannot(), says("comm.link.gbit_per_s"));
  CHECK_THAT(pair(made.linked("eight", {"comm.algorithm=tree"}, 8), ring).cannot(), says("run.ranks"));
}

namespace {

/// A slow run, the fast one, and one for each of the two changes between them.
class Defended {
 public:
  /// `workers` and `mode`: how many times as long the step of a run takes without that change.
  Defended(double workers, double mode) {
    slow = add("a-slow", "1", "tf32", workers * mode);
    fast = add("b-fast", "2", "none", 1);
    no_workers = add("c-workers", "1", "none", workers);
    no_mode = add("d-mode", "2", "tf32", mode);
  }
  std::filesystem::path add(const std::string& name, const std::string& workers, const std::string& mode,
                            double factor, double loss_factor = 1) {
    return runs.add_three(name, {.factor = factor,
                                 .loss_factor = loss_factor,
                                 .keys = {{"data.workers", workers}, {"amp.mode", '"' + mode + '"'}}});
  }
  AskedRule asked(const std::vector<std::filesystem::path>& named, const std::string& budget = "9") const {
    AskedRule out("made_defended", {{"slow", {"data.workers=1", "amp.mode=tf32"}},
                                    {"times", {"2"}},
                                    {"within", {"1"}},
                                    {"budget", {budget}}});
    for (const auto& run : named) out.made(run);
    return out;
  }

  MadeRuns runs;
  std::filesystem::path slow, fast, no_workers, no_mode;
};

}  // namespace

TEST_CASE("a faster run is defended by a run for each change that takes it back") {
  Defended good(1.5, 1.4);
  const Truth truth = good.asked({good.no_mode, good.slow, good.fast, good.no_workers}).truth();
  CHECK(truth.accepted == Keys{"yes"});
  CHECK_THAT(truth.text, says("2.10 times"));
  CHECK(truth.figures.at("runs") == "9");
  CHECK_THAT(truth.figures.at("report"),
             says("data.workers = 2: 1.50 times") && says("amp.mode = none: 1.40 times"));
  const auto lacks = [](const Truth& told) {
    CHECK(told.cannot == "");
    CHECK(told.accepted.empty());
    return told.text;
  };
  CHECK_THAT(lacks(good.asked({good.slow, good.fast, good.no_mode}).truth()),
             says("no run takes back data.workers = 2"));
  CHECK_THAT(lacks(good.asked({good.slow, good.fast, good.no_mode, good.no_workers}, "8").truth()),
             says("9 runs were made, 8 at most"));
  Defended idle(2.1, 1);
  CHECK_THAT(lacks(idle.asked({idle.slow, idle.fast, idle.no_mode, idle.no_workers}).truth()),
             says("amp.mode = none is worth nothing beyond the spread"));
  Defended little(1.2, 1.3);
  CHECK_THAT(lacks(little.asked({little.slow, little.fast, little.no_mode, little.no_workers}).truth()),
             says("but 2 times is required"));
  const auto worse = good.add("e-worse", "2", "bf16", 0.9, 1.1);
  const auto worse_workers = good.add("f-worse", "1", "bf16", 1.4, 1.1);
  CHECK_THAT(lacks(good.asked({good.slow, worse, worse_workers, good.no_mode}, "99").truth()),
             says("% apart"));
}

TEST_CASE("what is no defence is not judged") {
  Defended runs(1.5, 1.4);
  const auto both = runs.add("g-both", "4", "bf16", 1.2);
  CHECK_THAT(runs.asked({runs.slow, runs.fast}).cannot(), says("one for each change are needed"));
  CHECK_THAT(runs.asked({runs.no_mode, runs.fast, runs.no_workers}).cannot(), says("the slow run"));
  CHECK_THAT(runs.asked({runs.slow, runs.fast, both}).cannot(),
             says("`g-both1` differs from the fast run in amp.mode, data.workers"));
  const auto further = runs.add("h-further", "8", "none", 1.3);
  CHECK_THAT(runs.asked({runs.slow, runs.fast, further}).cannot(), says("to what the slow run has"));
  const auto once =
      runs.runs.add("i-once", {.factor = 1.4, .keys = {{"data.workers", "2"}, {"amp.mode", "\"tf32\""}}});
  CHECK(runs.asked({runs.slow, runs.fast, once}).truth().cannot == "");  // with d-mode it is one of four
}

}  // namespace isobar::test_rules_made
