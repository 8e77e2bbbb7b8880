// Rules of lesson 13: what brings a model below so many GiB, the largest category of a peak, and what a
// change of settings does to bytes sent and bytes held.
#include <limits>
#include <map>

#include "asked_rule.h"
#include "record/json_line.h"
#include "support/errors.h"
#include "support/made_memory.h"
#include "support/made_runs.h"
#include "support/says.h"

namespace isobar::test_rules_zero {

namespace {

const char* const kLesson = "13_zero";

With fitting(const std::string& samples, const std::string& gib) {
  return {{"preset", {"mp"}}, {"ranks", {"8"}},      {"samples", {samples}},
          {"gib", {gib}},     {"lesson", {kLesson}}, {"set", {"amp.mode=none"}}};
}

Keys fitted_by(const std::string& samples, const std::string& gib) {
  return AskedRule("fits_by", fitting(samples, gib)).accepted();
}

std::string refused(const AskedRule& asked) {
  return error_of([&] { asked.rule().check(asked.question()); });
}

/// Runs of the lesson that recorded their memory; each has settings of its own, so that none repeats another.
struct MadeShares {
  MadeRuns runs;
  int made = 0;

  std::filesystem::path add(const std::string& name, double wire_mb, const MadeMemory& memory,
                            std::map<std::string, std::string> keys = {}) {
    if (keys.empty()) keys = {{"data.seed", std::to_string(++made)}};
    MadeSteps steps{.keys = keys, .lesson = kLesson};
    if (wire_mb > 0) steps.more = {{"wire_bytes", wire_mb * 1e6}};
    const std::filesystem::path out = runs.add(name, steps);
    write_memory(out, made_memory(memory));
    return out;
  }
};

}  // namespace

TEST_CASE("what fits is told by the plan, as it is, with shared states and with half the samples") {
  const AskedRule large("fits_by", fitting("16", "40"));
  const Truth truth = large.truth();
  CHECK(truth.accepted == Keys{"samples"});
  CHECK(truth.source == "by formula");
  CHECK_THAT(truth.text, says("GiB as it is") && says("with half the samples"));
  CHECK(std::stod(truth.figures.at("activations_gib")) > 10 * std::stod(truth.figures.at("state_gib")));
  CHECK(std::stod(truth.figures.at("shared_gib")) < std::stod(truth.figures.at("value")));
  CHECK(fitted_by("16", "20") == Keys{"neither"});
  CHECK_THAT(error_of([] { fitted_by("2", "80"); }), says("it fits as it is"));
  const std::string just = truth.figures.at("halved_gib");
  CHECK_THAT(error_of([&] { fitted_by("16", just); }), says("within 3 % of the limit"));
  CHECK_THAT(error_of([] { fitted_by("one", "20"); }),
             says("samples = \"one\" is no whole number from 2 on"));
  CHECK_THAT(refused(AskedRule("fits_by", fitting("16", "40")).choice("both", "both")),
             says("never accepts \"both\"") && says("states, samples, either, neither"));
}

TEST_CASE("the owner of a peak is the largest category of the model at it") {
  MadeShares made;
  const auto asked = [&](const std::filesystem::path& run) {
    return AskedRule("peak_owner", {{"run", {"r"}}}).run("r", run, kLesson);
  };
  const Truth full = asked(made.add("full", 1, {.weights = 2'000'000, .kept = 3'000'000})).truth();
  CHECK(full.accepted == Keys{"activations"});
  CHECK(full.figures.at("activations") == "12");
  CHECK(full.figures.at("moments") == "4");
  CHECK(full.figures.at("stage") == "backward");
  CHECK(asked(made.add("few", 1, {.weights = 9'000'000})).accepted() == Keys{"moments"});
  CHECK_THAT(asked(made.runs.add("bare", {.lesson = kLesson})).cannot("r"), says("`r`: "));
  CHECK_THAT(refused(asked(made.add("other", 1, {})).choice("program", "the program")),
             says("never accepts \"program\""));
}

TEST_CASE("bytes sent and bytes held go their own ways") {
  MadeShares made;
  const auto base = made.add("base", 3, {.weights = 2'000'000});
  const auto beside = [&](const std::filesystem::path& other) {
    return AskedRule("sends_and_holds", {{"base", {"base"}}, {"other", {"other"}}})
        .run("base", base, kLesson)
        .run("other", other, kLesson);
  };
  CHECK(beside(made.add("a", 2, {.weights = 3'000'000})).accepted() == Keys{"less_more"});
  CHECK(beside(made.add("b", 3, {.weights = 2'000'100})).accepted() == Keys{"same_same"});
  const Truth truth = beside(made.add("c", 4.5, {.weights = 1'000'000})).truth();
  CHECK(truth.accepted == Keys{"more_less"});
  CHECK(truth.figures.at("other_wire") == "4.50");
  CHECK_THAT(truth.text, says("3 and 4.50 MB sent a step"));
  CHECK_THAT(beside(made.add("silent", 0, {})).cannot("other"), says("counts no bytes that it sends"));
  CHECK_THAT(refused(beside(base).choice("up_down", "x")), says("never accepts \"up_down\""));
}

TEST_CASE("two runs of the learner's have peaks so many times apart, by mesh.zero alone") {
  MadeShares made;
  const auto add = [&](const std::string& zero, std::uint64_t weights) {
    return made.add("zero" + zero, 1, {.weights = weights}, {{"mesh.zero", zero}});
  };
  const auto high = add("0", 10'000'000), near = add("1", 1'200'000), low = add("3", 1'000'000);
  const auto pair = [&](const std::filesystem::path& one, const std::filesystem::path& two) {
    return AskedRule("made_peak", {{"times", {"2"}}, {"differ", {"mesh.zero"}}})
        .of_lesson(kLesson)
        .made(one)
        .made(two);
  };
  const Truth truth = pair(high, low).truth();
  CHECK(truth.cannot == "");
  CHECK(truth.accepted == Keys{"yes"});
  CHECK_THAT(truth.text, says("the peak without the program: 18.5 MB in `zero3`, 54.5 MB in `zero0`"));
  CHECK(pair(near, low).accepted().empty());
  const auto seeded = made.add("seeded", 1, {}, {{"mesh.zero", "0"}, {"data.seed", "7"}});
  CHECK_THAT(pair(high, seeded).cannot(), says("mesh.zero is to differ, and nothing else"));
}

namespace {

/// A run whose ranks were so far apart at steps 0, 10, 20, ...
Keys apart(const std::vector<double>& distances) {
  MadeShares made;
  MadeSteps steps{.lesson = kLesson};
  for (std::size_t i = 0; i < distances.size(); ++i)
    steps.notes +=
        JsonLine("note").add("text", "replicas").add("step", 10 * i).add("apart", distances[i]).text();
  const Truth truth = AskedRule("apart_since_update", {{"run", {"r"}}})
                          .run("r", made.runs.add("run", steps), kLesson)
                          .truth();
  return truth.cannot.empty() ? truth.accepted : Keys{truth.cannot};
}

}  // namespace

TEST_CASE("the distance of ranks is asked from the first update on") {
  CHECK(apart({0, 5e-4, 7e-4}) == Keys{"stays"});
  CHECK(apart({0, 0, 0}) == Keys{"zero"});
  CHECK(apart({0, 1e-3, 4e-3}) == Keys{"grows"});
  CHECK(apart({0, 1e-3, 4e-4}) == Keys{"shrinks"});
  CHECK_THAT(apart({0, 1e-3}).front(), says("fewer than twice"));
  CHECK_THAT(apart({0, 1e-3, std::numeric_limits<double>::quiet_NaN()}).front(), says("no numbers"));
}

}  // namespace isobar::test_rules_zero
