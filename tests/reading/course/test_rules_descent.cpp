// Rules of lesson 00: of paths, of the gradients along them, of ranks, and of what a step costs.
#include "asked_rule.h"
#include "made_descent.h"
#include "support/errors.h"
#include "support/made_runs.h"
#include "support/says.h"

namespace isobar::test_rules_descent {

namespace {

constexpr const char* kSgd = "00_sgd";

AskedRule asked_of(const std::string& rule, With with, const std::string& unit = "") {
  AskedRule out(rule, std::move(with), unit);
  out.of_lesson(kSgd);
  return out;
}

std::string batch_of(int samples) { return "train.global_batch=" + std::to_string(samples); }

/// The batches of the lesson at its own rate, or at a small one.
struct Batches {
  MadeDescents runs;
  std::filesystem::path b1 = runs.add("b1", {.sets = {batch_of(1)}});
  std::filesystem::path b100 = runs.add("b100", {.sets = {batch_of(100)}});
  std::filesystem::path b1000 = runs.add("b1000", {.sets = {batch_of(1000)}});

  AskedRule best(const std::string& what, With more = {}) const {
    more["what"] = {what};
    AskedRule out = asked_of("descent_best", std::move(more));
    out.run("b1", b1, kSgd).run("b100", b100, kSgd).run("b1000", b1000, kSgd);
    return out;
  }
  AskedRule spread(const std::filesystem::path& base, const std::filesystem::path& other,
                   const std::string& unit) const {
    AskedRule out = asked_of("gradient_spread", {{"base", {"base"}}, {"other", {"other"}}}, unit);
    out.run("base", base, kSgd).run("other", other, kSgd);
    return out;
  }
};

struct Ranks {
  MadeDescents runs;
  std::filesystem::path one = runs.add("one");

  AskedRule paths(const std::filesystem::path& other) const {
    AskedRule out = asked_of("rank_paths", {{"base", {"one"}}, {"other", {"many"}}});
    out.run("one", one, kSgd).run("many", other, kSgd);
    return out;
  }
  std::filesystem::path four(const std::string& fault) const {
    return runs.add(fault, {.sets = {"run.fault=" + fault}, .ranks = 4});
  }
};

AskedRule rates_of(const std::filesystem::path& below, const std::filesystem::path& above) {
  AskedRule out = asked_of("stable_rate", {{"runs", {"below", "above"}}}, "lr");
  out.run("below", below, kSgd).run("above", above, kSgd);
  return out;
}

AskedRule overhead_of(const std::filesystem::path& small, const std::filesystem::path& large) {
  AskedRule out = asked_of("step_overhead", {{"runs", {"small", "large"}}});
  out.run("small", small, kSgd).run("large", large, kSgd);
  return out;
}

}  // namespace

TEST_CASE("of paths the one that turns most is the roughest, and those as rough count as well") {
  const Batches batches;
  CHECK(batches.best("turn").accepted() == Keys{"b1"});
  const Truth truth = batches.best("turn").truth();
  CHECK_THAT(truth.text, says(truth.figures.at("b1_turn") + " in `b1`"));
  CHECK(std::stod(truth.figures.at("b1000_turn")) < 5);
  AskedRule equal = asked_of("descent_best", {{"what", {"turn"}}});
  equal.run("b1", batches.b1, kSgd).run("again", batches.runs.add("again", {.sets = {batch_of(1)}}), kSgd);
  CHECK(equal.accepted() == Keys{"b1", "again"});
  equal.choice("same", "no difference");
  CHECK(equal.accepted() == Keys{"same"});
}

TEST_CASE("the path that comes near the least loss first is told in samples and in steps") {
  const Batches batches;
  CHECK(batches.best("samples").accepted() == Keys{"b1"});
  const Truth steps = batches.best("steps", {{"within", {"0.02"}}}).truth();
  CHECK(steps.accepted == Keys{"b100", "b1000"});  // 2 of a hundred steps apart are as good
  CHECK(steps.figures.at("b1_steps") == "never");
  CHECK(steps.figures.at("b1000_samples") == steps.figures.at("b1000_steps") + ",000");
  CHECK_THAT(batches.best("steps", {{"within", {"0"}}}).cannot(), says("no run comes within 0 %"));
  CHECK_THAT(error_of([&] { batches.best("luck").truth(); }), says("no path has a \"luck\""));
}

TEST_CASE("a run that recorded no path cannot be asked for one") {
  MadeRuns others;
  const Batches batches;
  AskedRule bare = asked_of("descent_best", {{"what", {"turn"}}});
  bare.run("b1", batches.b1, kSgd).run("bare", others.add("bare", {.lesson = kSgd}), kSgd);
  CHECK_THAT(bare.cannot("bare"), says("the path of `bare` cannot be read: the run recorded no start"));
  const auto stopped = batches.runs.add("stopped", {.sets = {batch_of(1)}, .end = "stopped"});
  CHECK_THAT(batches.spread(stopped, batches.b100, "x").cannot("base"), says("`base` was stopped"));
}

TEST_CASE("gradients of more samples stray less, as the root of their number") {
  const Batches batches;
  const std::vector<std::string> slow = {"optim.lr=0.02", "train.steps=1000"};
  const auto add = [&](int batch) {
    MadeDescent made{.sets = slow};
    made.sets.push_back(batch_of(batch));
    return batches.runs.add("slow" + std::to_string(batch), made);
  };
  const auto one = add(1), four = add(4), hundred = add(100);
  CHECK(batches.spread(one, four, "x").truth().number == Approx(2).epsilon(0.1));
  CHECK(batches.spread(one, hundred, "x").truth().number == Approx(10.5).epsilon(0.1));
  CHECK_THAT(batches.spread(one, batches.b1000, "x").cannot("other"), says("do not stray at all"));
  const auto choice = [&](const auto& base, const auto& other) {
    return batches.spread(base, other, "").kind(AnswerKind::choice).accepted();
  };
  CHECK(choice(one, hundred) == Keys{"noise"});
  CHECK(choice(one, batches.b1000) == Keys{"noise"});
  CHECK(choice(one, one) == Keys{"equal"});
  CHECK(choice(hundred, one) == Keys{"equal"});
}

TEST_CASE("the largest stable rate is 2 over the curvature, if a run on each side shows it") {
  const MadeDescents runs;
  const auto full = [&](const std::string& rate, const std::string& steps = "150") {
    return runs.add("rate" + rate + "-" + steps,
                    {.sets = {batch_of(1000), "optim.lr=" + rate, "train.steps=" + steps}});
  };
  const Truth truth = rates_of(full("0.751"), full("0.83")).truth();
  CHECK(truth.cannot == "");
  CHECK(truth.number == Approx(0.7907).epsilon(0.001));
  CHECK(truth.number == Approx(2 / std::stod(truth.figures.at("curvature"))).epsilon(0.005));
  CHECK(std::stod(truth.figures.at("above_end")) > 1e6);
  CHECK(std::stod(truth.figures.at("below_end")) < 0.01);
  CHECK_THAT(rates_of(full("0.3"), full("0.751")).cannot(), says("a run on each side of 0.7907 is needed"));
  CHECK_THAT(rates_of(full("0.751"), full("0.83", "2")).cannot("above"), says("which its rate of 0.83"));
  const auto batch = runs.add("b100", {.sets = {batch_of(100), "optim.lr=0.751"}});
  CHECK_THAT(rates_of(batch, full("0.83")).cannot("below"), says("`below` takes 100 of 1000 samples a step"));
}

TEST_CASE("ranks that average walk the path of one, and each mistake is told by its paths") {
  const Ranks ranks;
  const Truth same = ranks.paths(ranks.four("none")).truth();
  CHECK(same.accepted == Keys{"same"});
  CHECK(same.figures.at("apart") == "0");
  CHECK(std::stod(same.figures.at("from_one")) < 1e-12);
  CHECK(ranks.paths(ranks.four("no_broadcast")).accepted() == Keys{"offset"});
  CHECK(ranks.paths(ranks.four("no_average")).accepted() == Keys{"apart"});
  CHECK(ranks.paths(ranks.four("sum_not_mean")).accepted() == Keys{"diverges"});
  CHECK(ranks.paths(ranks.four("uneven_shards")).accepted() == Keys{"other"});
  CHECK(
      ranks.paths(ranks.runs.add("contiguous", {.sets = {"data.shard=contiguous"}, .ranks = 4})).accepted() ==
      Keys{"other"});
  CHECK_THAT(ranks.paths(ranks.one).cannot("many"), says("`many` is no run of several ranks"));
  const auto shorter = ranks.runs.add("shorter", {.sets = {"train.steps=100"}, .ranks = 4});
  CHECK(ranks.paths(shorter).cannot("many") == "`one` made 150 steps, `many` 100");
}

TEST_CASE("what a step costs whatever its batch is told by the time of a larger one") {
  const MadeDescents runs;
  const auto add = [&](const std::string& name, int batch, double fixed_us, double sample_us) {
    return runs.add_three(name,
                          {.sets = {batch_of(batch), "optim.lr=0.02"}, .step_us = [=](std::int64_t samples) {
                             return fixed_us + sample_us * static_cast<double>(samples);
                           }});
  };
  const Truth most = overhead_of(add("small", 1, 1, 0.02), add("large", 1000, 1, 0.02)).truth();
  CHECK(most.cannot == "");
  CHECK(most.accepted == Keys{"overhead"});
  CHECK(most.figures.at("share") == "98");
  CHECK(most.figures.at("times") == "48.6");
  const auto plain = add("plain", 10, 0, 1), more = add("more", 500, 0, 1);
  CHECK(overhead_of(plain, more).accepted() == Keys{"samples"});
  AskedRule number = asked_of("step_overhead", {{"runs", {"small", "large"}}}, "%");
  number.run("small", add("half", 20, 20, 1), kSgd).run("large", add("bulk", 400, 20, 1), kSgd);
  CHECK(number.kind(AnswerKind::number).truth().number == Approx(50).epsilon(0.02));
  CHECK(overhead_of(plain, plain).cannot() == "runs with two sizes of the batch are needed");
  const auto single = runs.add("single", {.sets = {batch_of(200)}});
  CHECK_THAT(overhead_of(plain, single).cannot("large"), says("`large` has 1 run, 3 are needed"));
}

}  // namespace isobar::test_rules_descent
