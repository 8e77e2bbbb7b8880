// Rules of lesson 09: of the messages of a ring, its sums, its times over sizes, and the model of its link.
#include "asked_rule.h"
#include "made_all_reduce.h"
#include "support/errors.h"
#include "support/made_runs.h"
#include "support/says.h"

namespace isobar::test_rules_all_reduce {

namespace {

constexpr const char* kAllReduce = "09_all_reduce";

AskedRule asked_of(const std::string& rule, With with, const std::string& unit = "") {
  AskedRule out(rule, std::move(with), unit);
  out.of_lesson(kAllReduce);
  return out;
}

AskedRule pair_of(const std::string& rule, const std::filesystem::path& base,
                  const std::filesystem::path& other, const std::string& unit = "") {
  AskedRule out = asked_of(rule, {{"base", {"base"}}, {"other", {"other"}}}, unit);
  out.run("base", base, kAllReduce).run("other", other, kAllReduce);
  return out;
}

AskedRule owner(const std::filesystem::path& run, const std::string& rank) {
  AskedRule out = asked_of("chunk_owner", {{"run", {"run"}}, {"rank", {rank}}});
  out.run("run", run, kAllReduce);
  return out;
}

AskedRule sums(const std::filesystem::path& run, With more = {}) {
  more["run"] = {"run"};
  AskedRule out = asked_of("all_reduce_sums", std::move(more));
  out.run("run", run, kAllReduce);
  return out;
}

AskedRule fit(const std::filesystem::path& run, const std::string& what, const std::string& unit) {
  AskedRule out = asked_of("link_fit", {{"run", {"run"}}, {"what", {what}}}, unit);
  out.run("run", run, kAllReduce);
  return out;
}

AskedRule quickest(const std::string& ranks, const std::string& mb, const std::string& latency_us = "5",
                   const std::string& gbit_per_s = "100") {
  return asked_of(
      "quickest_all_reduce",
      {{"ranks", {ranks}}, {"mb", {mb}}, {"latency_us", {latency_us}}, {"gbit_per_s", {gbit_per_s}}});
}

}  // namespace

TEST_CASE("the chunk that a rank has whole after the reduce phase is told by the run's messages") {
  const MadeAllReduces runs;
  const auto ring = runs.add("ring");
  CHECK(owner(ring, "1").accepted() == Keys{"chunk 2"});
  CHECK(owner(ring, "3").accepted() == Keys{"chunk 0"});
  CHECK(owner(runs.add("five", {.ranks = 5}), "4").accepted() == Keys{"chunk 0"});
  CHECK(owner(ring, "1").truth().figures.at("steps") == "3");
  CHECK_THAT(owner(ring, "4").cannot("run"), says("`run` has 4 ranks, and none of them is 4"));
  const auto tree = runs.add("tree", {.sets = {"comm.algorithm=tree"}});
  CHECK_THAT(owner(tree, "1").cannot("run"), says("the messages of `run` cannot be read"));
}

TEST_CASE("sums are right, apart or the same wrong ones, and an error names the rank or does not") {
  const MadeAllReduces runs;
  const auto ring = runs.linked("ring");
  CHECK(sums(ring).accepted() == Keys{"right"});
  AskedRule race = sums(runs.linked("race", {"run.fault=race"}), {{"base", {"base"}}});
  race.run("base", ring, kAllReduce);
  const Truth apart = race.truth();
  CHECK(apart.accepted == Keys{"apart"});
  CHECK(apart.figures.at("wrong") == "1,048,576");
  CHECK(apart.figures.at("values") == "1,048,576");
  CHECK(apart.figures.at("wrong_steps") == "42");
  CHECK(std::stod(apart.figures.at("ms")) < std::stod(apart.figures.at("base_ms")) / 5);
  const auto drop = runs.add("drop", {.sets = {"run.fault=drop_message", "run.fault_step=9"}});
  CHECK_THAT(sums(drop).cannot("run"), says("`run` failed"));  // unless the question has it so
  CHECK(sums(drop).that_fails().accepted() == Keys{"named"});
  CHECK(sums(drop).that_fails().truth().figures.at("reason") ==
        "rank 1 did not send its next message for 2 s");
  MadeRuns others;
  const auto crash =
      others.add("crash", {.end = "failed", .lesson = kAllReduce, .reason = "rank 0 did not send anything"});
  CHECK(sums(crash).that_fails().accepted() == Keys{"failed"});
  CHECK_THAT(sums(others.add("bare", {.lesson = kAllReduce})).cannot("run"), says("timed no all-reduce"));
}

TEST_CASE("sums that are wrong and the same on all ranks are told from those that differ") {
  const MadeAllReduces runs;
  const auto run = runs.add("run", {.sets = {"train.steps=7"}});
  for (int rank = 0; rank < 4; ++rank) {
    const auto file = RunFolder{run}.stream_file(rank);
    std::string text = read_text_file(file, 1 << 20);
    const std::string from = "\"wrong_values\":0", to = "\"wrong_values\":3";
    text.replace(text.find(from), from.size(), to);
    write_file_whole(file, std::string_view(text));
  }
  CHECK(sums(run).accepted() == Keys{"wrong"});
  CHECK(sums(run).truth().figures.at("wrong") == "3");
  CHECK(sums(run).truth().figures.at("wrong_steps") == "1");
}

TEST_CASE("a ratio of times is one of the largest buffer, over repeats") {
  const MadeAllReduces runs;
  const auto ring = runs.linked("ring");
  const auto ratio = [&](const std::filesystem::path& other) {
    return pair_of("all_reduce_ratio", ring, other, "x");
  };
  const Truth naive = ratio(runs.linked("naive", {"comm.algorithm=naive"})).truth();
  CHECK(naive.number == Approx(203.3 / 56.3).epsilon(0.01));
  CHECK(naive.low <= naive.number);
  CHECK(naive.number <= naive.high);
  CHECK(std::stod(naive.figures.at("other_small_ms")) == Approx(2.05).epsilon(0.02));
  CHECK(ratio(runs.linked("slow", {"run.fault=slow_link"})).truth().number == Approx(10).epsilon(0.02));
  const Truth order = ratio(runs.linked("order", {"run.fault=rank_order"})).truth();
  CHECK(order.number == Approx(106.7 / 56.3).epsilon(0.01));
  CHECK(order.figures.at("small_ratio") == "1.00");  // latency is not shared
  CHECK(ratio(runs.linked("eight", {}, 8)).truth().number == Approx(72.7 / 56.3).epsilon(0.02));
  CHECK(ratio(ring).truth().number == Approx(1));
  CHECK_THAT(ratio(runs.add("single", {.sets = {"comm.algorithm=tree"}})).cannot("other"),
             says("`other` has 1 run, 3 are needed"));
  CHECK_THAT(ratio(runs.linked("short", {"comm.bench_bytes=65536"})).cannot("other"),
             says("4 MiB") && says("64 KiB"));
  MadeRuns others;
  CHECK_THAT(ratio(others.add_three("other", {.lesson = "06_ddp"})).cannot("other"), says("06_ddp"));
}

TEST_CASE("of the two bandwidths the ring's own one stays when ranks are added") {
  const MadeAllReduces runs;
  const std::vector<std::string> quick = {"comm.link.latency_us=100"};
  const auto two = runs.linked("two", quick, 2), eight = runs.linked("eight", quick, 8);
  const auto falls = [&](const std::filesystem::path& base, const std::filesystem::path& other) {
    return pair_of("bandwidth_falls", base, other).accepted();
  };
  CHECK(falls(two, eight) == Keys{"algbw"});
  CHECK(falls(eight, two) == Keys{"neither"});
  CHECK(falls(two, runs.linked("slow", {"comm.link.latency_us=100", "run.fault=slow_link"}, 2)) ==
        Keys{"both"});
  const auto slower = runs.linked("slower", {"comm.link.latency_us=100", "comm.link.gbit_per_s=0.6"}, 2);
  CHECK(falls(eight, slower) == Keys{"busbw"});
  const Truth truth = pair_of("bandwidth_falls", two, eight).truth();
  CHECK(std::stod(truth.figures.at("base_busbw")) == Approx(125).epsilon(0.03));
  CHECK(std::stod(truth.figures.at("other_algbw")) == Approx(125 / 1.75).epsilon(0.05));
  CHECK_THAT(error_of([&] {
               pair_of("bandwidth_falls", two, eight)
                   .choice("wirebw", "x")
                   .rule()
                   .check(pair_of("bandwidth_falls", two, eight).choice("wirebw", "x").question());
             }),
             says("never accepts \"wirebw\""));
}

TEST_CASE("latency and bandwidth are those of the link that made the times, of each algorithm") {
  const MadeAllReduces runs;
  for (const char* const algorithm : {"ring", "tree", "naive"}) {
    const auto run = runs.linked(algorithm, {std::string("comm.algorithm=") + algorithm});
    INFO(algorithm);
    CHECK(fit(run, "latency", "ms").truth().number == Approx(1).epsilon(0.02));
    CHECK(fit(run, "latency", "us").truth().number == Approx(1000).epsilon(0.02));
    CHECK(fit(run, "bandwidth", "MB/s").truth().number == Approx(125).epsilon(0.02));
    CHECK(fit(run, "bandwidth", "GB/s").truth().number == Approx(0.125).epsilon(0.02));
  }
  CHECK_THAT(fit(runs.linked("size", {"comm.bench_bytes=1024"}), "latency", "ms").cannot("run"),
             says("no two sizes between several ranks"));
  CHECK_THAT(fit(runs.add("one", {.ranks = 1}), "latency", "ms").cannot("run"), says("timed no all-reduce"));
  CHECK_THAT(
      fit(runs.add("unlimited", {.sets = {"comm.link.latency_us=100"}}), "bandwidth", "MB/s").cannot("run"),
      says("larger buffers take no longer"));
  const auto ring = runs.linked("again");
  CHECK_THAT(error_of([&] { fit(ring, "speed", "MB/s").truth(); }), says("a link has no \"speed\""));
  CHECK_THAT(error_of([&] { fit(ring, "latency", "MB/s").truth(); }), says("does not give MB/s"));
}

TEST_CASE("the ring overtakes the tree where the lines through their times cross") {
  const MadeAllReduces runs;
  const auto ring = runs.linked("ring"), tree = runs.linked("tree", {"comm.algorithm=tree"});
  const Truth truth = pair_of("ring_overtakes", ring, tree, "MB").truth();
  CHECK(truth.cannot == "");
  CHECK(truth.number == Approx(0.1).epsilon(0.03));
  CHECK(std::stod(truth.figures.at("ring_small_ms")) == Approx(6.01).epsilon(0.02));
  CHECK_THAT(pair_of("ring_overtakes", tree, ring, "MB").cannot(), says("a ring and a tree are needed"));
  const auto small = runs.linked("small", {"comm.bench_bytes=16384"});
  const auto small_tree = runs.linked("smalltree", {"comm.bench_bytes=16384", "comm.algorithm=tree"});
  CHECK_THAT(pair_of("ring_overtakes", small, small_tree, "MB").cannot(),
             says("is quicker at all of their sizes"));
}

TEST_CASE("the quickest all-reduce by the model depends on size, ranks and link") {
  const Truth tree = quickest("64", "0.064").truth();
  CHECK(tree.accepted == Keys{"tree"});
  CHECK(tree.figures.at("ring_us") == "640");
  CHECK(tree.figures.at("tree_us") == "121");
  CHECK(tree.figures.at("naive_us") == "655");
  CHECK(quickest("64", "100").accepted() == Keys{"ring"});
  CHECK(quickest("4", "0.0001").accepted() == Keys{"naive"});
  for (const auto& [ranks, mb, gbit] :
       {std::tuple{"1", "1", "1"}, {"2.5", "1", "1"}, {"2", "0", "1"}, {"2", "1", "0"}})
    CHECK_THAT(error_of([&] { quickest(ranks, mb, "5", gbit).truth(); }), says("make no all-reduce"));
  CHECK_THAT(error_of([] { quickest("two", "1").truth(); }), says("wants a number for ranks"));
}

TEST_CASE("messages and bytes of rings and of a root are by formula") {
  const auto value = [](const std::string& name, With with, const std::string& unit) {
    with["name"] = {name};
    return asked_of("formula", std::move(with), unit).truth().number;
  };
  CHECK(value("ring_messages", {{"ranks", {"8"}}}, "messages") == 14);
  CHECK(value("ring_messages", {{"ranks", {"2"}}}, "messages") == 2);
  CHECK(value("ring_bytes", {{"ranks", {"8"}}, {"mb", {"100"}}}, "MB") == Approx(175));
  CHECK(value("root_bytes", {{"ranks", {"8"}}, {"mb", {"100"}}}, "MB") == Approx(1400));
  CHECK_THAT(error_of([&] {
               value("ring_messages", {{"ranks", {"1"}}}, "messages");
             }),
             says("1 ranks send each other nothing"));
  CHECK_THAT(error_of([&] { value("ring_bytes", {{"ranks", {"8"}}}, "MB"); }), says("needs mb"));
}

}  // namespace isobar::test_rules_all_reduce
