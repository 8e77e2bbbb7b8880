// Rules of times and rates: what a step is made of, and which run is faster.
#include "asked_rule.h"
#include "core/json.h"
#include "core/processors.h"
#include "support/errors.h"
#include "support/made_runs.h"
#include "support/says.h"

using namespace isobar;

namespace {

/// 20.5 ms a step, 3 of them load and 1 copy; 195 samples/s. Runs with the same number repeat each other.
MadeSteps with_workers(const std::string& workers) { return {.keys = {{"data.workers", workers}}}; }

/// The same with another time to load.
MadeSteps loading(double ms, const std::string& workers) {
  MadeSteps out = with_workers(workers);
  out.stage_ms["load"] = ms;
  return out;
}

AskedRule share_of_step(const std::vector<std::string>& fields) {
  return AskedRule("value", {{"run", {"slow"}}, {"of", fields}, {"over", {"step_us"}}}, "%");
}

AskedRule share_of(const std::filesystem::path& run) {
  return share_of_step({"load_us", "copy_us"}).run("slow", run);
}

AskedRule best(const std::vector<std::pair<std::string, std::filesystem::path>>& runs,
               const std::string& field = "samples_per_s") {
  AskedRule out("best", {{"of", {field}}}, "workers");
  for (const auto& [name, folder] : runs) out.run(name, folder);
  return out;
}

}  // namespace

TEST_CASE("a share is the mean of some fields over that of the step, and lies within what the repeats show") {
  MadeRuns runs;
  const Truth truth = share_of(runs.add_three("one", with_workers("0"))).truth();
  CHECK(truth.number == Approx(100 * 4.0 / 20.5));
  CHECK(truth.low == Approx(truth.number));  // all times of the repeats differ by one factor
  CHECK(truth.figures.at("value") == "20");
  CHECK(truth.figures.at("part_ms") == "4");
  CHECK(truth.figures.at("whole_ms") == "20.5");
  CHECK(truth.source == "measured here");
  runs.add("other1", loading(2, "1"));
  runs.add("other2", loading(4, "1"));
  const Truth spread = share_of(runs.add("other3", loading(3, "1"))).truth();
  CHECK(spread.low == Approx(100 * 3.0 / 19.5));
  CHECK(spread.high == Approx(100 * 5.0 / 21.5));
}

TEST_CASE("a run that is not fit for times is named, with what is wrong with it") {
  MadeRuns runs;
  const auto cannot = [&](const std::string& name, MadeSteps made) {
    made.keys = {{"data.workers", "\"" + name + "\""}};
    return share_of(runs.add(name, made)).cannot("slow");
  };
  CHECK(share_of(runs.add("fit", with_workers("0"))).truth().cannot == "");
  CHECK(share_of_step({"load_us"}).missing("slow").cannot("slow") ==
        "the run `slow` of 01_baseline is not there");
  CHECK(cannot("stopped", {.steps = 12, .end = "stopped"}) == "`slow` was stopped after 12 of 12 steps");
  CHECK(cannot("failed", {.end = "failed", .reason = "the disk is full"}) ==
        "`slow` failed after 30 of 30 steps: the disk is full");
  CHECK(cannot("died", {.end = "", .pid = 999'999'999}) == "`slow` died after 30 of 30 steps");
  CHECK(cannot("one step", {.steps = 1}) == "`slow` has 0 steps after its warm-up, 5 are needed");
  CHECK_THAT(cannot("crowded", {.processor_wait = 0.36}),
             says("while `slow` ran (it waited 36 % of the time)"));
  CHECK(cannot("other lesson", {.lesson = "02_workers"}) ==
        "`slow` is a run of 02_workers, one of 01_baseline is needed");
}

TEST_CASE("processors that a run's own threads fight for are no other programs") {
  MadeRuns runs;
  const auto of_threads = [&](int threads) {
    MadeSteps made{.processor_wait = 0.5, .keys = {{"environment.threads", std::to_string(threads)}}};
    return share_of(runs.add("threads" + std::to_string(threads), made)).truth().cannot;
  };
  CHECK(of_threads(4 * usable_cores()) == "");
  CHECK_THAT(of_threads(1), says("other programs were using the processors"));
}

TEST_CASE("a field that no step has cannot be told, and a stage that was never entered takes nothing") {
  MadeRuns runs;
  MadeSteps made = with_workers("0");
  made.stage_ms.erase("copy");
  const auto run = runs.add("one", made);
  CHECK(share_of(run).truth().number == Approx(100 * 3.0 / 19.5));
  CHECK(share_of_step({"stall_us"}).run("slow", run).cannot("slow") == "`slow` recorded no stall_us");
}

TEST_CASE("a question whose unit is of something else is wrong, and so is one of a run that it has not") {
  MadeRuns runs;
  const auto run = runs.add("one", with_workers("0"));
  const With with = {{"run", {"slow"}}, {"of", {"load_us"}}, {"over", {"step_us"}}};
  CHECK_THAT(
      error_of([&] { AskedRule("value", with, "ms").run("slow", run).truth(); }),
      says("the rule value does not give ms") && says("questions.toml:3:1") && says("it gives a share"));
  CHECK_THAT(error_of([&] { AskedRule("value", with, "%").run("slowly", run).truth(); }),
             says("the question has no run \"slow\"") && says("did you mean slowly?"));
}

TEST_CASE("a share of two runs goes up, down, or stays the same where no plot would show it") {
  MadeRuns runs;
  const auto base = runs.add_three("base", with_workers("0"));
  const auto direction = [&](const std::filesystem::path& other) {
    return AskedRule("direction",
                     {{"base", {"a"}}, {"other", {"b"}}, {"of", {"load_us"}}, {"over", {"step_us"}}})
        .run("a", base)
        .run("b", other);
  };
  CHECK(direction(runs.add_three("more", loading(9, "1"))).accepted() == Keys{"up"});
  CHECK(direction(runs.add_three("less", loading(0, "2"))).accepted() == Keys{"down"});
  CHECK(direction(runs.add_three("same", loading(3.1, "3"))).accepted() == Keys{"same"});
  const Truth truth = direction(runs.path() / "more1").truth();
  CHECK(truth.figures.at("base_value") == "15");
  CHECK(truth.figures.at("other_value") == "34");
  CHECK(direction(runs.add("single", loading(9, "4"))).cannot("b") ==
        "`b` has 1 run, 3 are needed to distinguish a difference from noise");
}

TEST_CASE("means, and what is left of a step without them, are in the unit that is asked for") {
  MadeRuns runs;
  const auto run = runs.add_three("one", with_workers("0"));
  const With with = {{"run", {"r"}}, {"of", {"forward_us", "backward_us"}}};
  const With less = {{"run", {"r"}}, {"of", {"step_us"}}, {"less", {"forward_us", "backward_us"}}};
  CHECK(AskedRule("value", with, "ms").run("r", run).truth().number == Approx(14));
  CHECK(AskedRule("value", with, "us").run("r", run).truth().number == Approx(14000));
  CHECK(AskedRule("value", with, "s").run("r", run).truth().figures.at("value") == "14");  // ms in texts
  const Truth left = AskedRule("value", less, "ms").run("r", run).truth();
  CHECK(left.number == Approx(6.5));
  CHECK(left.low == Approx(6.5 * 0.99));
  CHECK(left.high == Approx(6.5 * 1.01));
  CHECK(left.figures.at("whole_ms") == "20.5");
  CHECK(left.figures.at("value") == "6.50");
  const auto stopped = runs.add("stopped", {.end = "stopped", .keys = {{"data.workers", "1"}}});
  CHECK_THAT(AskedRule("value", with, "ms").run("r", stopped).cannot("r"), says("was stopped"));
  CHECK_THAT(AskedRule("value", less, "ms").run("r", stopped).cannot("r"), says("was stopped"));
}

TEST_CASE("repeats that differ much do not make all answers right") {
  MadeRuns runs;
  for (const int load_ms : {1, 4, 16}) runs.add("load" + std::to_string(load_ms), loading(load_ms, "1"));
  const With with = {{"run", {"r"}}, {"of", {"load_us"}}};
  const Truth truth = AskedRule("value", with, "ms").run("r", runs.path() / "load4").truth();
  CHECK(truth.number == Approx(4));
  CHECK(truth.low == Approx(4 / 1.5));
  CHECK(truth.high == Approx(4 * 1.5));
}

TEST_CASE("what one stage gains is in per cent of the slower run's step") {
  MadeRuns runs;
  const auto fused = runs.add_three("fused", with_workers("0"));
  MadeSteps made = with_workers("1");
  made.stage_ms["optimize"] = 4;
  const auto gain = [&](const std::filesystem::path& plain) {
    return AskedRule("gain", {{"base", {"fused"}}, {"other", {"plain"}}, {"of", {"optimize_us"}}}, "%")
        .run("fused", fused)
        .run("plain", plain);
  };
  const Truth truth = gain(runs.add_three("plain", made)).truth();
  CHECK(truth.number == Approx(100 * 2.0 / 22.5));
  CHECK(truth.low == Approx(100 * (4 * 0.99 - 2 * 1.01) / 22.5));
  CHECK(truth.high == Approx(100 * (4 * 1.01 - 2 * 0.99) / 22.5));
  CHECK(truth.figures.at("gain_ms") == "2");
  CHECK(truth.figures.at("step_ms") == "22.5");
  made.keys["data.workers"] = "3";
  made.stage_ms["optimize"] = 1;  // no share below 0 can be typed
  const Truth loss = gain(runs.add_three("loss", made)).truth();
  CHECK(loss.number == 0);
  CHECK(loss.low == 0);
  CHECK(loss.figures.at("gain_ms") == "-1");
  made.keys["data.workers"] = "2";
  CHECK_THAT(gain(runs.add("single", made)).cannot("plain"), says("`plain` has 1 run, 3 are needed"));
}

TEST_CASE("the ratio of two speeds comes with its interval, and inside the spread it is one") {
  MadeRuns runs;
  const auto base = runs.add_three("base", with_workers("0"));
  const auto ratio = [&](const std::filesystem::path& other) {
    return AskedRule("ratio", {{"base", {"a"}}, {"other", {"b"}}}, "x").run("a", base).run("b", other);
  };
  MadeSteps fast = with_workers("1");
  fast.factor = 0.5;
  const Truth truth = ratio(runs.add_three("fast", fast)).truth();
  CHECK(truth.number == Approx(2).epsilon(0.001));
  CHECK(truth.low > 1.9);
  CHECK(truth.high < 2.1);
  CHECK(truth.low < truth.number);
  CHECK(truth.figures.at("ratio") == "2.00");
  CHECK(truth.figures.at("base_value") == "195");
  CHECK(truth.figures.at("other_value") == "390");
  MadeSteps alike = with_workers("2");
  alike.factor = 1.015;
  const Truth same = ratio(runs.add_three("alike", alike)).truth();
  CHECK(same.number == 1);
  CHECK(same.figures.at("ratio") == "1.00");
  CHECK_THAT(same.text, says("the same"));
  CHECK(same.high >= 1);
}

TEST_CASE("runs of two sources make no ratio, and a prediction needs no repeats") {
  MadeRuns runs;
  const auto add = [&](const std::string& name, const std::string& provenance, double factor) {
    return runs.add(
        name, {.factor = factor, .keys = {{"data.workers", "\"" + name + "\""}}, .provenance = provenance});
  };
  const auto ratio = [&](const std::filesystem::path& base, const std::filesystem::path& other) {
    return AskedRule("ratio", {{"base", {"a"}}, {"other", {"b"}}}, "x").run("a", base).run("b", other);
  };
  const auto predicted = add("predicted", "predicted", 1), faster = add("faster", "predicted", 0.5);
  CHECK(ratio(predicted, add("measured", "", 1)).cannot() ==
        "`a` is predicted by model for cpu, `b` is measured here: they are not compared");
  const Truth truth = ratio(predicted, faster).truth();
  CHECK(truth.number == Approx(2));
  CHECK(truth.low == Approx(2));
  CHECK(truth.source == "predicted by model for cpu");
  CHECK_THAT(ratio(add("recorded", "recorded", 1), add("recorded2", "recorded", 0.5)).cannot("a"),
             says("`a` has 1 run, 3 are needed"));
}

TEST_CASE("predicted runs beside lesson 08 say what a graph gains there") {
  const auto home = project_home() / "lessons/08_cuda_graphs/recorded/predicted-h200";
  const auto ratio = [&](const std::string& batch) {
    return AskedRule("ratio", {{"base", {"launched"}}, {"other", {"graph"}}}, "x")
        .run("launched", home / (batch + "-launched"), "08_cuda_graphs")
        .run("graph", home / (batch + "-graph"), "08_cuda_graphs")
        .truth();
  };
  CHECK(ratio("cpu_tiny").number == Approx(5.43).epsilon(0.01));
  CHECK(ratio("batch-16").number == 1);
  CHECK(ratio("cpu_tiny").source == "predicted by model for H200");
}

TEST_CASE("repeats that equal runs really made are the same") {
  const Json all =
      Json::parse(read_text_file(project_home() / "tests/reading/analyse/equal_runs.json", 1 << 20));
  std::vector<double> rates;
  for (const Json& rate : all.at(all.keys().back()).values()) rates.push_back(rate.as_number());
  REQUIRE(rates.size() >= 6);
  MadeRuns runs;
  for (std::size_t i = 0; i < 6; ++i) {
    MadeSteps made = with_workers(i % 2 == 0 ? "0" : "1");
    made.factor = 4e3 / 20.5 / rates[i];
    runs.add((i % 2 == 0 ? "a" : "b") + std::to_string(i), made);
  }
  const AskedRule asked = AskedRule("direction", {{"base", {"a"}}, {"other", {"b"}}})
                              .run("a", runs.path() / "a0")
                              .run("b", runs.path() / "b1");
  CHECK(asked.accepted() == Keys{"same"});
}

TEST_CASE("a speed goes up, down, or stays, also against the best of the others") {
  MadeRuns runs;
  const auto of = [&](const std::string& workers, double factor) {
    MadeSteps made = with_workers(workers);
    made.factor = factor;
    return runs.add_three("w" + workers + "-", made);
  };
  const auto slow = of("0", 1), best = of("4", 0.5), crowded = of("16", 0.6);
  const auto direction = [&](const std::string& base, const std::string& other) {
    return AskedRule("direction", {{"base", {base}}, {"other", {other}}})
        .run("w0", slow)
        .run("w4", best)
        .run("w16", crowded);
  };
  CHECK(direction("w0", "w16").accepted() == Keys{"up"});
  CHECK(direction("best", "w16").accepted() == Keys{"down"});
  CHECK(direction("best", "w16").truth().figures.at("base") == "w4");
  CHECK(direction("w4", "w4").accepted() == Keys{"same"});
  CHECK_THAT(direction("best", "w16").missing("w8").cannot("w8"), says("`w8` of 01_baseline is not there"));
}

TEST_CASE("as good as the best is what is the same, and the numbers between are right") {
  MadeRuns runs;
  const auto of = [&](const std::string& workers, double factor) {
    MadeSteps made = with_workers(workers);
    made.factor = factor;
    made.more = {{"read_cpu_us", 1000 * factor}};
    return std::pair{"w" + workers, runs.add_three("w" + workers + "-", made)};
  };
  const auto none = of("0", 1), two = of("2", 0.505), four = of("4", 0.5), eight = of("8", 0.51),
             many = of("16", 0.7);
  const Truth truth = best({none, two, four, eight, many}).truth();
  CHECK(truth.number == 4);
  CHECK(truth.low == 2);
  CHECK(truth.high == 8);
  CHECK(truth.accepted == Keys{"2", "4", "8"});
  CHECK(truth.figures.at("best") == "4");
  CHECK(truth.figures.at("worst") == "0");
  CHECK(truth.figures.at("best_value") == "390");
  CHECK(truth.figures.at("as_good") == "2, 4, 8");
  const Truth smallest = best({none, two, four, eight, many}).with("take", {"smallest"}).truth();
  CHECK(smallest.accepted == Keys{"2"});
  CHECK((smallest.low == 2 && smallest.high == 2));
  CHECK(smallest.figures.at("as_good") == "2, 4, 8");
  const Truth alone = best({none, four, many}).truth();
  CHECK(alone.low == 4);
  CHECK(alone.high == 4);
  CHECK(best({none, four}).kind(AnswerKind::choice).accepted() == Keys{"w4"});
  CHECK(best({none, four, many}, "read_cpu_us").truth().number == 4);
  CHECK_THAT(best({none, four}).missing("w1").cannot("w1"), says("is not there"));
  CHECK_THAT(best({none, {"w5", runs.add("single", with_workers("5"))}}).cannot("w5"),
             says("`w5` has 1 run"));
  CHECK_THAT(error_of([&] { best({{"none", none.second}, four}).truth(); }), says("no number in its name"));
  CHECK_THAT(error_of([&] { best({four}).truth(); }), says("two or more"));
}

TEST_CASE("a number that is worse than its neighbours ends what is as good") {
  MadeRuns runs;
  const auto of = [&](const std::string& workers, double factor) {
    MadeSteps made = with_workers(workers);
    made.factor = factor;
    return std::pair{"w" + workers, runs.add_three("w" + workers + "-", made)};
  };
  const Truth truth = best({of("1", 0.5), of("2", 1), of("4", 0.5)}).truth();
  CHECK(truth.low == truth.number);
  CHECK(truth.high == truth.number);
}

TEST_CASE("the piece whose absence costs most is the largest gain, and none where nothing is told") {
  MadeRuns runs;
  const auto of = [&](const std::string& name, double factor, const std::string& workers) {
    MadeSteps made = with_workers(workers);
    made.factor = factor;
    return runs.add_three(name, made);
  };
  const auto all = of("all", 1, "0"), adam = of("adam", 1.2, "1"), gelu = of("gelu", 1.5, "2"),
             qkv = of("qkv", 1.005, "3");
  const auto gain = [&](const std::vector<std::pair<std::string, std::filesystem::path>>& without) {
    AskedRule out("largest_gain", {{"base", {"all"}}});
    out.run("all", all);
    for (const auto& [name, folder] : without) out.run(name, folder);
    return out;
  };
  const Truth truth = gain({{"adam", adam}, {"gelu", gelu}, {"qkv", qkv}}).truth();
  CHECK(truth.accepted == Keys{"gelu"});
  CHECK(truth.figures.at("largest") == "gelu");
  CHECK(truth.figures.at("gain_percent") == "50");
  const Truth nothing = gain({{"qkv", qkv}}).truth();
  CHECK(nothing.accepted == Keys{"none"});
  CHECK(nothing.figures.at("gain_percent") == "0");
  CHECK(gain({{"gelu", gelu}, {"alike", of("alike", 1.505, "4")}}).accepted().size() == 2);
  CHECK_THAT(gain({{"adam", adam}}).missing("gelu").cannot("gelu"), says("is not there"));
}

TEST_CASE("what bounds a run is what the verdict says") {
  MadeRuns runs;
  const auto bound = [&](const std::filesystem::path& run) {
    return AskedRule("bound_by", {{"run", {"r"}}}).run("r", run);
  };
  CHECK(bound(runs.add("computing", with_workers("0"))).accepted() == Keys{"compute"});
  const Truth data = bound(runs.add("reading", loading(60, "1"))).truth();
  CHECK(data.accepted == Keys{"data"});
  CHECK_THAT(data.figures.at("sentence"), says("bound by data: the loop waits 60.0 of 77.5 ms"));
  CHECK(data.figures.at("share") == "77");
  MadeSteps copying = with_workers("2");
  copying.stage_ms["copy"] = 60;
  CHECK(bound(runs.add("copying", copying)).accepted() == Keys{"contention"});
  MadeSteps idle = with_workers("3");
  idle.rest_ms = 60;
  CHECK(bound(runs.add("launching", idle)).accepted() == Keys{"launch"});
  MadeSteps sending = with_workers("4");
  sending.stage_ms["comm"] = 60;
  CHECK(bound(runs.add("sending", sending)).accepted() == Keys{"communication"});
  CHECK_THAT(bound(runs.add("short", {.steps = 2, .keys = {{"data.workers", "5"}}})).cannot("r"),
             says("5 are needed"));
}

TEST_CASE("how many devices one thread feeds is the step over the host's time in it") {
  MadeRuns runs;
  MadeSteps made = with_workers("0");
  made.more = {{"forward_host_us", 1500}, {"backward_host_us", 2500}, {"optimize_host_us", 1000}};
  const Truth truth =
      AskedRule("feedable", {{"run", {"r"}}}, "devices").run("r", runs.add("one", made)).truth();
  CHECK(truth.number == 4);
  CHECK(truth.low == 3);
  CHECK(truth.high == 5);
  CHECK(truth.figures.at("host_ms") == "5");
  CHECK(truth.figures.at("step_ms") == "20.5");
  CHECK(AskedRule("feedable", {{"run", {"r"}}}, "devices")
            .run("r", runs.add("none", with_workers("1")))
            .cannot("r") == "`r` recorded no time of the host");
  MadeSteps predicted = with_workers("2");
  predicted.provenance = "predicted";
  predicted.more = {{"step_host_us", 4100}};
  CHECK(AskedRule("feedable", {{"run", {"r"}}}, "devices")
            .run("r", runs.add("predicted", predicted))
            .truth()
            .number == 5);
}
