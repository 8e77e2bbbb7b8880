// Rules of losses and scores, and of figures that a run tells of itself.
#include <cmath>

#include "asked_rule.h"
#include "record/json_line.h"
#include "support/errors.h"
#include "support/made_runs.h"
#include "support/says.h"

using namespace isobar;

namespace {

using Loss = std::function<double(int)>;

/// From 1 to about 0.2 in 30 steps.
double falls(int step) { return 0.2 + 0.8 / (1 + step); }

/// A run with this loss; runs with the same name repeat each other.
MadeSteps with_loss(const std::string& name, const Loss& loss) {
  return {.keys = {{"data.workers", "\"" + name + "\""}}, .loss = loss};
}

class Curves {
 public:
  AskedRule beside(const std::string& name, MadeSteps fault, const std::string& curve = "train/loss") {
    if (fault.keys.empty()) fault.keys = {{"data.workers", "\"" + name + "\""}};
    return AskedRule("curve", {{"healthy", {"healthy"}}, {"fault", {"fault"}}, {"curve", {curve}}})
        .run("healthy", healthy_)
        .run("fault", runs_.add(name, fault));
  }
  Keys shape(const std::string& name, const Loss& loss) {
    return beside(name, with_loss(name, loss)).accepted();
  }
  MadeRuns& runs() { return runs_; }

 private:
  MadeRuns runs_;
  std::filesystem::path healthy_ = runs_.add("healthy", with_loss("healthy", falls));
};

}  // namespace

TEST_CASE("a curve beside a healthy one has one of six shapes") {
  Curves curves;
  CHECK(curves.shape("equal", falls) == Keys{"same"});
  CHECK(curves.shape("rounding", [](int step) { return falls(step) * 1.00005; }) == Keys{"same"});
  CHECK(curves.shape("unseen", [](int step) { return falls(step) + 0.02; }) == Keys{"same"});
  CHECK(curves.shape("slower", [](int step) { return 0.5 + 0.5 / (1 + step); }) == Keys{"slower"});
  CHECK(curves.shape("flat", [](int step) { return 0.97 + 0.03 / (1 + step); }) == Keys{"flat"});
  CHECK(curves.shape("constant", [](int) { return 1.0; }) == Keys{"flat"});
  CHECK(curves.shape("rises", [](int step) { return 1 + 0.1 * step; }) == Keys{"rises"});
  CHECK(curves.shape("explodes", [](int step) { return std::pow(4.0, step); }) == Keys{"rises"});
  CHECK(curves.shape("overflows", [](int step) { return step < 20 ? falls(step) : std::nan(""); }) ==
        Keys{"rises"});
  CHECK(curves.shape("lower", [](int step) { return 0.05 + 0.95 / (1 + step); }) == Keys{"lower"});
}

TEST_CASE("a curve that lies higher by what batches do is the same, and one that always does is not") {
  Curves curves;
  const auto noisy = [](int step) { return falls(step) + 0.05 + (step % 2 == 0 ? 0.12 : -0.12); };
  CHECK(curves.shape("noisy", noisy) == Keys{"same"});
  CHECK(curves.shape("always", [](int step) { return falls(step) + 0.05; }) == Keys{"slower"});
}

TEST_CASE("a curve tells where both begin and end") {
  Curves curves;
  const Truth truth =
      curves.beside("slower", with_loss("slower", [](int step) { return step == 0 ? 1.25 : 0.5; })).truth();
  CHECK(truth.figures.at("start") == "1");
  CHECK(truth.figures.at("fault_start") == "1.25");
  CHECK(truth.figures.at("fault_end") == "0.5");
  CHECK(truth.figures.at("healthy_end") == "0.23");
  CHECK(truth.source == "measured here");
}

TEST_CASE("a fault that ends the run on purpose stops, and one that was not to end it cannot be told") {
  Curves curves;
  const MadeSteps fault{.steps = 9, .end = "failed", .reason = "the loss is no number"};
  const Truth stops = curves.beside("stops", fault).that_fails().truth();
  CHECK(stops.accepted == Keys{"stops"});
  CHECK(stops.text == "the run ends with an error after 9 steps: the loss is no number");
  CHECK_THAT(curves.beside("breaks", fault).cannot("fault"), says("`fault` failed after 9 of 9 steps"));
  CHECK_THAT(curves.beside("stopped", {.end = "stopped"}).that_fails().cannot("fault"), says("was stopped"));
  const MadeSteps killed{.steps = 9, .end = "", .pid = 999'999'999};
  CHECK(curves.beside("killed", killed).that_fails("137").accepted() == Keys{"stops"});
  CHECK_THAT(curves.beside("died", killed).that_fails().cannot("fault"), says("died"));
}

TEST_CASE("a curve cannot be told beside one that does not fall, or without values") {
  Curves curves;
  const MadeSteps fault = with_loss("fault", falls);
  CHECK_THAT(curves.beside("none", fault, "valid/acc").cannot("healthy"),
             says("has 0 values of valid/acc, 2 are needed"));
  AskedRule flat("curve", {{"healthy", {"h"}}, {"fault", {"f"}}});
  flat.run("h", curves.runs().add("h", with_loss("h", [](int) { return 1.0; })))
      .run("f", curves.runs().add("f", fault));
  CHECK_THAT(flat.cannot("h"), says("does not fall, from 1 to 1"));
  CHECK(curves.beside("valid", fault, "valid/loss").accepted() == Keys{"same"});
  const MadeSteps early{.steps = 8, .loss = falls, .score_every = 2};  // before the healthy one has two
  CHECK_THAT(curves.beside("early", early, "valid/loss").cannot("healthy"),
             says("of valid/loss in the steps that both runs made, 2 are needed"));
}

TEST_CASE("skill is a headline RMSE below persistence at the epoch that is asked for") {
  MadeRuns runs;
  MadeSteps made{.steps = 32, .persistence = 0.23, .score_every = 16};
  const auto run = runs.add("one", made);  // 0.247 after 16 steps, 0.224 after 32
  const auto skill = [&](const std::string& epoch) {
    return AskedRule("skill", {{"run", {"r"}}, {"epoch", {epoch}}}).run("r", run);
  };
  CHECK(skill("1").accepted() == Keys{"no"});
  CHECK(skill("2").accepted() == Keys{"yes"});
  CHECK(skill("2").truth().figures.at("rmse") == "0.224");
  CHECK(skill("2").truth().figures.at("persistence") == "0.23");
  CHECK(skill("2").truth().figures.at("epoch") == "2");
  CHECK(skill("3").cannot("r") ==
        "`r` was not scored after epoch 3 (step 48): it was scored after steps 0, 16, 32");
  made.persistence = 0;
  CHECK_THAT(AskedRule("skill", {{"run", {"r"}}}).run("r", runs.add("bare", made)).cannot("r"),
             says("no score of persistence"));
  CHECK_THAT(error_of([&] { skill("soon").truth(); }), says("wants a number for epoch"));
}

TEST_CASE("a recorded run says where it was recorded") {
  const auto run = project_home() / "lessons/01_baseline/recorded/a100-2023";
  const RunView view = read_cases({run}).front().view();
  REQUIRE(view.scores.size() > 2);
  CHECK(view.provenance == "recorded");
  const AskedRule asked = AskedRule("loss_direction", {{"base", {"a"}}, {"other", {"b"}}, {"at", {"end"}}})
                              .run("a", run)
                              .run("b", run);
  CHECK(asked.accepted() == Keys{"same"});
  CHECK_THAT(asked.truth().source, says("recorded on"));
}

TEST_CASE("a validation loss is above, below, or the same within two per cent") {
  MadeRuns runs;
  const auto add = [&](const std::string& name, double factor, int steps = 30) {
    return runs.add(name,
                    {.steps = steps, .loss_factor = factor, .keys = {{"data.workers", "\"" + name + "\""}}});
  };
  const auto base = add("base", 1);
  const auto direction = [&](const std::filesystem::path& other, const std::string& at = "samples") {
    return AskedRule("loss_direction", {{"base", {"a"}}, {"other", {"b"}}, {"at", {at}}})
        .run("a", base)
        .run("b", other);
  };
  CHECK(direction(add("more", 1.1)).accepted() == Keys{"up"});
  CHECK(direction(add("less", 0.9)).accepted() == Keys{"down"});
  CHECK(direction(add("alike", 1.015)).accepted() == Keys{"same"});
  const auto longer = add("longer", 1.05, 60);
  CHECK(direction(longer).accepted() == Keys{"up"});           // at equal samples
  CHECK(direction(longer, "end").accepted() == Keys{"same"});  // 0.2244 and 0.2238
  CHECK(direction(add("nan", std::nan(""))).cannot("b") ==
        "`a` and `b` were not scored twice while they trained on the same samples");
  CHECK(direction(runs.path() / "nan", "end").accepted() == Keys{"up"});
  CHECK(direction(base, "end").truth().figures.at("base_loss") == "0.226");
  const auto unscored = runs.add("unscored", {.scored = false, .keys = {{"data.workers", "9"}}});
  CHECK(direction(unscored, "end").cannot("b") == "`b` was never scored");
  CHECK_THAT(error_of([&] { direction(base, "noon").truth(); }),
             says("at = \"noon\"") && says("samples or end"));
}

TEST_CASE("runs that skipped steps are named, or none, or both") {
  MadeRuns runs;
  const auto add = [&](const std::string& name, double skipped) {
    return runs.add(name, {.keys = {{"data.workers", "\"" + name + "\""}}, .more = {{"skipped", skipped}}});
  };
  const auto skipping = add("fp16", 3), whole = add("bf16", 0);
  const auto skips = [](const std::filesystem::path& one, const std::filesystem::path& two) {
    return AskedRule("skips").run("fp16", one).run("bf16", two);
  };
  CHECK(skips(skipping, whole).accepted() == Keys{"fp16"});
  CHECK(skips(skipping, whole).truth().figures.at("fp16_skipped") == "3");
  CHECK(skips(skipping, whole).truth().figures.at("bf16_skipped") == "0");
  CHECK(skips(whole, whole).accepted() == Keys{"none"});
  CHECK(skips(skipping, skipping).accepted() == Keys{"both"});
  CHECK_THAT(skips(skipping, whole).missing("tf32").cannot("tf32"), says("is not there"));
  const auto recorded = runs.add("recorded", {.provenance = "recorded"});
  CHECK_THAT(skips(skipping, recorded).cannot(), says("they are not compared"));
  const AskedRule three = skips(skipping, whole).missing("tf32");
  CHECK_THAT(error_of([&] { three.rule().check(three.question()); }), says("compares two runs"));
}

TEST_CASE("a figure that a run tells is in the unit that is asked for") {
  MadeRuns runs;
  MadeSteps made{.more = {{"read_bytes", 4.5e6}, {"launches", 1500}, {"comm_calls", 5}, {"wire_bytes", 2e6}}};
  const auto run = runs.add_three("one", made);
  const auto figure = [&](const std::string& name, const std::string& unit) {
    return AskedRule("value", {{"run", {"r"}}, {"of", {name}}}, unit).run("r", run).truth().number;
  };
  CHECK(figure("steps_per_epoch", "steps") == 16);
  CHECK(figure("epochs", "epochs") == Approx(30.0 / 16));
  CHECK(figure("launches", "") == 1500);
  CHECK(figure("comm_calls", "messages") == 5);
  CHECK(figure("read_mb_per_step", "MB") == Approx(4.5));
  CHECK(figure("wire_mb_per_step", "MB") == Approx(2));
  CHECK(figure("between_mb_per_step", "MB") == Approx(2));
  CHECK(figure("samples_per_s", "samples/s") == Approx(4e3 / 20.5));
  CHECK_THAT(error_of([&] { figure("step", "ms"); }), says("the rule value takes no \"step\""));
  CHECK_THAT(error_of([&] { figure("epochs", "ms"); }), says("the rule value does not give ms"));
  made.more["node_wire_bytes"] = 1.5e6;
  made.keys["data.workers"] = "3";
  const auto grouped = runs.add("grouped", made);
  CHECK(AskedRule("value", {{"run", {"r"}}, {"of", {"between_mb_per_step"}}}, "MB")
            .run("r", grouped)
            .truth()
            .number == Approx(0.5));
  const auto bare = runs.add("bare", {.keys = {{"data.workers", "1"}}});
  const AskedRule unknown = AskedRule("value", {{"run", {"r"}}, {"of", {"launches"}}}, "GPUs").run("r", bare);
  CHECK(unknown.cannot("r") == "`r` reports no launches");
}

TEST_CASE("a ratio of counted figures needs no repeats") {
  MadeRuns runs;
  const auto add = [&](const std::string& name, double launches) {
    MadeSteps made{.keys = {{"data.workers", "\"" + name + "\""}}};
    if (launches >= 0) made.more = {{"launches", launches}};
    return runs.add(name, made);
  };
  const auto base = add("fused", 400), other = add("plain", 700);
  const auto ratio = [&](const std::filesystem::path& one, const std::filesystem::path& two,
                         const std::string& name) {
    return AskedRule("ratio", {{"base", {"a"}}, {"other", {"b"}}, {"of", {name}}}, "x")
        .run("a", one)
        .run("b", two);
  };
  const Truth truth = ratio(base, other, "launches").truth();
  CHECK(truth.number == Approx(1.75));
  CHECK(truth.figures.at("base_value") == "400");
  CHECK(truth.figures.at("other_value") == "700");
  CHECK(truth.figures.at("ratio") == "1.75");
  CHECK(ratio(base, add("untold", -1), "launches").cannot("b") == "`b` reports no launches");
  CHECK(ratio(add("zero", 0), other, "launches").cannot("a") == "launches of `a` is 0");
  CHECK_THAT(ratio(base, other, "samples_per_s").cannot("a"), says("`a` has 1 run, 3 are needed"));
}

TEST_CASE("other programs change a figure of speed and no other") {
  MadeRuns runs;
  const auto crowded = runs.add("crowded", {.processor_wait = 0.4});
  const auto figure = [&](const std::string& name, const std::string& unit) {
    return AskedRule("value", {{"run", {"r"}}, {"of", {name}}}, unit).run("r", crowded).truth().cannot;
  };
  CHECK(figure("steps_per_epoch", "steps") == "");
  CHECK_THAT(figure("samples_per_s", "samples/s"), says("other programs were using the processors"));
}

TEST_CASE("a ratio of planned memory is one by formula") {
  MadeRuns runs;
  const auto add = [&](const std::string& name, std::int64_t activations) {
    JsonLine note("note");
    note.add("text", "memory").add("weights_bytes", std::int64_t{1} << 20);
    if (activations > 0) note.add("activations_bytes", activations);
    return runs.add(name, {.keys = {{"data.workers", "\"" + name + "\""}}, .notes = note.text()});
  };
  const auto wide = add("wide", 1'000'000'000);
  const auto ratio = [&](const std::filesystem::path& other) {
    return AskedRule("ratio", {{"base", {"a"}}, {"other", {"b"}}, {"of", {"activations_bytes"}}}, "x")
        .run("a", wide)
        .run("b", other);
  };
  const Truth truth = ratio(add("narrow", 600'000'000)).truth();
  CHECK(truth.number == Approx(0.6));
  CHECK(truth.figures.at("base_value") == "1000");
  CHECK(truth.figures.at("other_value") == "600");
  CHECK(truth.source == "by formula");
  CHECK(ratio(add("none", 0)).cannot("b") == "`b` reports no activations_bytes");
}
