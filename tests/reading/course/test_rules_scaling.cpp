// Rules of lesson 12: gradient noise, a target loss, runs that overfit or diverge, the largest of several
// formulas, and predictions beside published points.
#include <cmath>
#include <functional>

#include "asked_rule.h"
#include "record/json_line.h"
#include "support/errors.h"
#include "support/made_ranks.h"
#include "support/made_runs.h"
#include "support/says.h"

namespace isobar::test_rules_scaling {

namespace {

const char* const kLesson = "12_scaling";

/// 20 steps of 8 samples a rank, scored before the first and behind every fifth: after one second, two and so
/// on.
struct MadeScored {
  int ranks = 2;
  std::vector<double> valid = {1, 0.8, 0.6, 0.5, 0.4};
  std::function<double(int)> train = [](int step) { return 1.0 - 0.03 * step; };
  double local_square = 0, mean_square = 0;  ///< 0: not measured
  double seconds = 1;
  std::size_t first_step = 0;  ///< step of the first evaluation
  std::string config = "";

  std::filesystem::path write(const std::filesystem::path& folder) const {
    MadeRanks out{.world = ranks, .lesson = kLesson, .measure = "none", .config = config};
    out.notes = [this](int) {
      std::string lines;
      for (std::size_t i = 0; i < valid.size(); ++i)
        lines += JsonLine("eval")
                     .add("step", first_step + 5 * i)
                     .add("t_us", seconds * 1e6 * static_cast<double>(i + 1))
                     .add("loss", valid[i])
                     .text();
      return lines;
    };
    out.more = [this](int, int step, JsonLine& line) {
      line.add("loss", train(step));
      if (local_square > 0) line.add("local_square", local_square).add("mean_square", mean_square);
    };
    std::filesystem::create_directories(folder);
    out.write(folder);
    return folder;
  }
  /// Three repeats, 1 % apart in their times.
  std::filesystem::path write_three(const std::filesystem::path& folder, const std::string& name) const {
    MadeScored one = *this;
    one.config = "[data]\nsource = \"" + name + "\"\n";
    for (const int i : {3, 2, 1}) {
      one.seconds = seconds * (0.98 + 0.01 * i);
      one.write(folder / (name + std::to_string(i)));
    }
    return folder / (name + "1");
  }
};

std::string refused(const AskedRule& asked) {
  return error_of([&] { asked.rule().check(asked.question()); });
}

Keys noise_of(double local_square, double mean_square) {
  const TempFolder folder;
  return AskedRule("noise_beside", {{"base", {"base"}}, {"other", {"other"}}})
      .run("base", MadeScored{.local_square = 5, .mean_square = 3}.write(folder / "base"), kLesson)
      .run("other",
           MadeScored{.local_square = local_square, .mean_square = mean_square}.write(folder / "other"),
           kLesson)
      .accepted();
}

}  // namespace

TEST_CASE("gradient noise beside another is zero, less, the same or more") {
  // 8 samples a rank, 16 of both: with |G|^2 = 1 and s = 32 the squares are 1 + 4 and 1 + 2.
  CHECK(noise_of(3, 3) == Keys{"zero"});
  CHECK(noise_of(3, 2) == Keys{"less"});
  CHECK(noise_of(5.5, 3.25) == Keys{"same"});
  CHECK(noise_of(7, 4) == Keys{"more"});
  const TempFolder folder;
  const auto base = MadeScored{.local_square = 5, .mean_square = 3}.write(folder / "base");
  const auto beside = [&](const MadeScored& other) {
    return AskedRule("noise_beside", {{"base", {"base"}}, {"other", {"other"}}})
        .run("base", base, kLesson)
        .run("other", other.write(folder / "other"), kLesson);
  };
  const Truth truth = beside({.local_square = 3, .mean_square = 3}).truth();
  CHECK(truth.figures.at("base_value") == "32");
  CHECK(truth.figures.at("other_value") == "0");
  CHECK(truth.figures.at("steps") == "20");
  CHECK(truth.source == "measured here");
  CHECK_THAT(beside({}).cannot("other"), says("which train.noise_every asks for"));
  CHECK_THAT(beside({.local_square = 5, .mean_square = 2}).cannot("other"),
             says("20 measured steps of `other` do not show a gradient"));
  CHECK_THAT(refused(beside({}).choice("none", "no noise")), says("never accepts \"none\""));
  CHECK_THAT(refused(beside({}).choice("zero", "none is left")), says("no choice has the key less"));
}

namespace {

struct Targets {
  TempFolder folder;
  MadeScored one{.ranks = 1}, two{.seconds = 0.6}, third{.valid = {1, 0.9, 0.8, 0.7, 0.65}, .seconds = 0.1};

  AskedRule asked(const std::string& loss, const std::string& of) {
    return AskedRule("to_target", {{"runs", {"one", "two", "third"}}, {"loss", {loss}}, {"of", {of}}})
        .run("one", one.write_three(folder.path(), "one"), kLesson)
        .run("two", two.write_three(folder.path(), "two"), kLesson)
        .run("third", third.write_three(folder.path(), "third"), kLesson);
  }
};

}  // namespace

TEST_CASE("a target loss is reached first by time, by cost, by samples, or never") {
  Targets targets;
  const Truth time = targets.asked("0.6", "time").truth();
  CHECK(time.accepted == Keys{"two"});
  CHECK(time.figures.at("one_value") == "2 s");
  CHECK(time.figures.at("two_value") == "1.20 s");
  CHECK(time.figures.at("third_value") == "never");
  CHECK(time.figures.at("best") == "two");
  CHECK(time.figures.at("value") == "1.20 s");
  CHECK(time.figures.at("loss") == "0.6");
  CHECK(targets.asked("0.6", "cost").accepted() == Keys{"one"});
  CHECK(targets.asked("0.6", "cost").truth().figures.at("two_value") == "2.40 rank-seconds");
  CHECK(targets.asked("0.8", "time").accepted() == Keys{"third"});
  CHECK(targets.asked("0.1", "time").accepted() == Keys{"never"});
  targets.two.seconds = 1.005;  // within the spread
  CHECK(targets.asked("0.6", "time").accepted() == Keys{"one", "two"});
  targets.two.first_step = 1;  // the time before the first step is not known
  CHECK(targets.asked("0.6", "time").cannot("two") == "the scores of `two` have no time");
}

TEST_CASE("a run reaches a target loss where each of its repeats does") {
  const TempFolder folder;
  const MadeScored good;
  MadeScored other = good;
  const auto one = good.write_three(folder.path(), "one"), two = good.write_three(folder.path(), "two");
  const auto value_of_two = [&] {
    return AskedRule("to_target", {{"loss", {"0.6"}}, {"of", {"time"}}})
        .run("one", one, kLesson)
        .run("two", two, kLesson)
        .truth()
        .figures.at("two_value");
  };
  CHECK(value_of_two() == "2 s");
  other.config = "[data]\nsource = \"two\"\n";
  other.valid = {1, 0.9, 0.8};
  other.write(folder / "two3");
  CHECK(value_of_two() == "never");
}

TEST_CASE("samples until a target loss are counted, and equal counts are both right") {
  MadeRuns runs;
  const auto named = [](const std::string& name) { return MadeSteps{.keys = {{"data.source", name}}}; };
  MadeSteps twice = named("3");  // 4 samples a step, scored every 10 steps
  twice.samples = 8;
  AskedRule asked("to_target", {{"loss", {"0.25"}}, {"of", {"samples"}}});
  asked.run("one", runs.add("one", named("1"))).run("two", runs.add("two", named("2")));
  const Truth truth = asked.run("twice", runs.add("twice", twice)).truth();
  CHECK(truth.accepted == Keys{"one", "two"});
  CHECK(truth.figures.at("one_value") == "80 samples");
  CHECK(truth.figures.at("twice_value") == "160 samples");
  CHECK_FALSE(asked.rule().is_timed(asked.question()));
  const auto of_time = asked.with("of", {"time"});
  CHECK(of_time.rule().is_timed(of_time.question()));
  CHECK_THAT(of_time.cannot("one"), says("has 1 run, 3 are needed"));
  MadeSteps bare = named("4");
  bare.scored = false;
  CHECK_THAT(asked.run("bare", runs.add("bare", bare)).cannot("bare"), says("was never scored"));
}

TEST_CASE("a question of a target loss has a cost, a loss, and a choice for each run and for never") {
  const auto asked = [](const std::string& of, const std::string& loss, const Keys& keys) {
    AskedRule out("to_target", {{"loss", {loss}}, {"of", {of}}});
    out.missing("one").missing("two");
    for (const std::string& key : keys) out.choice(key, "the run " + key);
    return out;
  };
  const Keys all = {"one", "two", "never"};
  const AskedRule good = asked("cost", "0.6", all);
  CHECK_NOTHROW(good.rule().check(good.question()));
  CHECK_THAT(refused(asked("money", "0.6", all)), says("time, cost, samples"));
  CHECK_THAT(refused(asked("cost", "low", all)), says("a loss above 0"));
  CHECK_THAT(refused(asked("cost", "0.6", {"one", "two"})), says("no choice has the key never"));
  CHECK_THAT(refused(asked("cost", "0.6", {"one", "two", "both", "never"})), says("never accepts \"both\""));
  CHECK_THAT(refused(asked("cost", "0.6", all).with("runs", {"one"})), says("two runs or more"));
}

namespace {

Truth overfits(const std::vector<double>& valid, const MadeScored& made = {}, const Keys& keeps = {}) {
  const TempFolder folder;
  MadeScored one = made;
  one.valid = valid;
  return AskedRule("made_overfits", {{"keeps", keeps}})
      .of_lesson(kLesson)
      .made(one.write(folder / "mine"))
      .truth();
}

}  // namespace

TEST_CASE("a run overfits whose validation loss rises three times in a row while its training loss falls") {
  const Truth truth = overfits({1, 0.5, 0.51, 0.53, 0.56});
  CHECK(truth.accepted == Keys{"yes"});
  CHECK(truth.figures.at("best") == "0.5");
  CHECK(truth.figures.at("last") == "0.56");
  CHECK(truth.figures.at("train_first") == "0.88");  // step 4, the last before the least one
  CHECK(truth.figures.at("train_last") == "0.43");   // step 19
  CHECK(truth.figures.at("evaluations") == "5");
  CHECK_THAT(truth.text, says("after 20 steps, higher three times in a row"));
  CHECK(overfits({0.5, 0.51, 0.53, 0.56, 0.4}).accepted == Keys{"yes"});  // it did, until it was mended
  const auto is_none = [](const Truth& one) { return one.cannot.empty() && one.accepted.empty(); };
  CHECK(is_none(overfits({1, 0.8, 0.6, 0.5, 0.4})));
  CHECK(is_none(overfits({1, 0.5, 0.52, 0.51, 0.56})));     // not each time
  CHECK(is_none(overfits({1, 0.5, 0.503, 0.506, 0.509})));  // by less than 2 %
  CHECK(is_none(overfits({0.4, 0.3, 0.31, NAN, 0.5})));
  CHECK(is_none(overfits({1, 0.5, 0.51, 0.53, 0.56}, {.train = [](int step) { return 0.1 * step; }})));
  CHECK_THAT(overfits({0.5, 0.6, 0.7}).cannot, says("has 3 evaluations, 4 are needed"));
  CHECK_THAT(overfits({1, 0.5, 0.51, 0.53, 0.56}, {}, {"run.ranks=4"}).cannot,
             says("no run with run.ranks=4"));
  const auto rarely = [](int step) { return step == 0 ? 1.0 : NAN; };
  CHECK(is_none(overfits({1, 0.5, 0.51, 0.53, 0.56}, {.train = rarely})));
  CHECK_THAT(refused(AskedRule("made_overfits", {{"keeps", {"ranks=4"}}})), says("is no setting"));
  const TempFolder folder;
  const auto theirs = MadeScored().write(folder / "theirs");
  CHECK_THAT(AskedRule("made_overfits").made(theirs).cannot(), says("one of 01_baseline is needed"));
}

namespace {

/// A run of 40 steps with these training losses.
Truth diverges(const std::function<double(int)>& loss, MadeSteps made = {}, const Keys& keeps = {}) {
  MadeRuns runs;
  made.steps = 40;
  made.loss = loss;
  return AskedRule("made_diverges", {{"keeps", keeps}}).made(runs.add("mine", made)).truth();
}

Truth failed(const std::string& reason, const Keys& keeps = {}) {
  return diverges([](int) { return 1.0; }, {.end = "failed", .reason = reason}, keeps);
}

}  // namespace

TEST_CASE("a run diverges that ends above where it began, or in values that are not finite") {
  const Truth above = diverges([](int step) { return step < 20 ? 1.0 : 1.1; });
  CHECK(above.accepted == Keys{"yes"});
  CHECK(above.figures.at("how") == "above where it began");
  CHECK(above.figures.at("start") == "1");
  CHECK(above.figures.at("end") == "1.1");
  CHECK(above.figures.at("steps") == "40");
  const Truth infinite = diverges([](int step) { return step < 35 ? 1.0 : NAN; });
  CHECK(infinite.accepted == Keys{"yes"});
  CHECK(infinite.figures.at("how") == "not finite");
  const Truth noise = diverges([](int) { return 1.0; });  // a rate at which nothing happens
  CHECK(noise.cannot.empty());
  CHECK(noise.accepted.empty());
  CHECK(noise.figures.at("how") == "not above where it began");
  CHECK(diverges([](int step) { return step < 5 ? 1.0 : 1.01; }).accepted.empty());
  CHECK(diverges([](int step) { return step == 35 ? 0.9 : 2.0 - 1.0 / (1 + step); }).accepted.empty());
  CHECK(diverges([](int step) { return step == 20 ? 50.0 : 1.0 / (1 + step); }).accepted.empty());
}

TEST_CASE("a run that failed diverged where a loss or gradient was not finite, else it is not judged") {
  const Truth truth =
      failed("error: a gradient is not a finite number (59 of 70 tensors)\n  where: step 2, pos_embed");
  CHECK(truth.accepted == Keys{"yes"});
  CHECK(truth.figures.at("end") == "not finite");
  CHECK(truth.text == "training loss from 1 to not finite in 40 steps");
  for (const char* const reason : {"a weight is not a finite number", "gradients were not finite numbers",
                                   "gradients are not finite numbers on some rank, and their mean on none",
                                   "the loss is not a finite number: values overflowed in the forward pass",
                                   "the loss is nan and training cannot continue",
                                   "20 steps in a row were skipped because gradients overflowed"})
    CHECK(failed(std::string("error: ") + reason + "\n  where: step 4").accepted == Keys{"yes"});
  CHECK_THAT(failed("error: 3 values were not finite numbers on the device").cannot,
             says("failed after 40 of"));
  CHECK_THAT(failed("error: rank 1 was killed\n  hint: the loss is not a finite number").cannot,
             says("failed"));
  CHECK_THAT(failed("error: a weight is not a finite number", {"data.workers=4"}).cannot,
             says("no run with data.workers=4"));
  const auto constant = [](int) { return 1.0; };
  CHECK_THAT(diverges(constant, {.end = "stopped"}).cannot, says("was stopped"));
  CHECK_THAT(diverges(constant, {.fault = "no_zero_grad"}).cannot, says("has the fault"));
  CHECK_THAT(refused(AskedRule("made_diverges", {{"keeps", {"lr=1"}}})), says("is no setting"));
}

TEST_CASE("the largest of several formulas is right, and two that are as large are refused") {
  const auto asked = [](const Keys& of) {
    AskedRule out("largest", {{"of", of}});
    for (const char* const key : {"latency", "bandwidth", "jitter"}) out.choice(key, "a term");
    return out;
  };
  const Keys formulas = {"latency 2 * (64 - 1) * 14 / 1000", "bandwidth 4 * 1.5", "jitter 3"};
  const Truth truth = asked(formulas).truth();
  CHECK(truth.accepted == Keys{"bandwidth"});
  CHECK(truth.figures.at("latency") == "1.76");
  CHECK(truth.figures.at("jitter") == "3");
  CHECK(truth.figures.at("largest") == "bandwidth");
  CHECK(truth.figures.at("value") == "6");
  CHECK(truth.figures.at("second") == "jitter");
  CHECK(truth.figures.at("second_value") == "3");
  CHECK(truth.source == "by formula");
  const AskedRule good = asked(formulas);
  CHECK_NOTHROW(good.rule().check(good.question()));
  CHECK_THAT(refused(asked({"latency 3", "bandwidth 3.02", "jitter 1"})), says("the same within 1 %"));
  CHECK_THAT(refused(asked({"latency 3", "bandwidth 0", "jitter"})), says("cannot be worked out"));
  CHECK_THAT(refused(asked({"latency 3"})), says("two formulas or more"));
  CHECK_THAT(refused(asked({"latency 3", "bandwidth 2"})), says("never accepts \"jitter\""));
  CHECK_THAT(refused(asked({"latency 3", "bandwidth 2", "jitter 1", "reading 4"})),
             says("no choice has the key reading"));
}

}  // namespace isobar::test_rules_scaling
