// `scale` as a process, with a stand-in for the lesson: what it refuses, what it starts and in which order,
// what it makes of the streams, and what a failure and an interrupt leave. With a real lesson:
// tests/lessons/test_scale.cpp.
#include <signal.h>

#include <algorithm>
#include <sstream>

#include "cli/noting.h"
#include "core/files.h"
#include "core/json.h"
#include "support/catch.h"
#include "support/errors.h"

namespace isobar::test_scale {

namespace {

/// Each rank leaves ten steps of 10 ms, and 4 ms more for each further rank; synthetic ones take 1 ms less,
/// without communication 3 ms less. Whole runs score 0.5 after two steps and 0.3 at the end. `first` runs
/// before that.
std::string leaves_ranks(const std::string& first = "") {
  const LeavesRun out{
      .arguments =
          "run.measure=*) kind=${1#*=} ;; comm.sync=none) alone=1 ;; "
          "train.global_batch=*) batch=${1#*=} ;;",
      .then = R"(world=${WORLD_SIZE:-1} rank=${RANK:-0}
t=$((6000 + 4000 * world))
[ $kind != synthetic ] || t=$((t - 1000))
[ -z "$alone" ] || t=$((t - 2000)))",
      .config = " ",
      .run = R"("lesson":"06_ddp","device":"cpu","rank":'$rank',"world":'$world',"measure":"'$kind'")",
      .steps = 10,
      .steps_per_epoch = 4,
      .each =
          R"([ $n$kind != 2none ] || echo '{"kind":"eval","step":2,"t_us":20000000,"loss":0.5,"rmse_u10m":0.4}')",
      .step = R"("samples":'$((batch / world))',"t_us":'$((n * t))',"comm_us":1000,"step_us":'$t')",
      .last =
          R"([ $kind != none ] || echo '{"kind":"eval","step":10,"t_us":60000000,"loss":0.3,"rmse_u10m":0.4}')",
      .rank = "$rank"};
  return first + "\nbatch=4\n" + out.script();
}

std::vector<std::string> scale(const std::vector<std::string>& more) {
  std::vector<std::string> words = {"scale", "06_ddp", "--preset", "cpu_micro"};
  words.insert(words.end(), more.begin(), more.end());
  return with_data(words);
}

const Json& point(const Json& told, const std::string& line, int ranks) {
  for (const Json& one : told["points"].values()) {
    if (one["line"] == line && one["ranks"] == ranks) return one;
  }
  FAIL("no point " + line);
  return told;
}

}  // namespace

TEST_CASE("every point is measured in turn, with its batch and the same threads, and compared") {
  const Noting noting(leaves_ranks(), "06_ddp");
  const ProcessResult result =
      noting.run(scale({"--ranks", "2,1", "--repeat", "2", "--steps", "7", "--json"}));
  REQUIRE(result.code == 0);
  const std::vector<std::string> calls = noting.calls();
  REQUIRE(calls.size() == 2 * 3 * (1 + 2));
  const std::vector<std::string> lines = {"real", "synthetic", "no-comm"};
  for (std::size_t i = 0; i < 3; ++i) CHECK_THAT(calls[i], says("run.point=" + lines[i] + " ranks=1"));
  CHECK_THAT(calls[0], says("run.measure=full") && says("run.ranks=1") && says("train.global_batch=4 ") &&
                           says("train.steps=10 ") && says("run.repeat=0"));
  CHECK_THAT(calls[2], says("run.measure=synthetic --set comm.sync=none"));
  CHECK_THAT(calls[3], says("run.ranks=2") && says("train.global_batch=8 "));
  CHECK_THAT(calls[9], says("run.point=real ranks=1") && says("run.repeat=1"));

  const Json told = Json::parse(result.out);
  const auto threads = told["threads_per_rank"].as_integer();
  CHECK(threads == std::max<std::int64_t>(1, told["processors"].as_integer() / 2));
  for (const std::string& call : calls)
    CHECK_THAT(call, says("run.threads=" + std::to_string(threads) + " "));
  CHECK(told["law"] == "weak");
  CHECK(told["points"].values().size() == 6);
  // 10 and 14 ms; synthetic 9 and 13; without communication 7 and 11.
  CHECK(point(told, "real", 2)["efficiency"].as_number() == Approx(10.0 / 14));
  CHECK(point(told, "synthetic", 2)["efficiency"].as_number() == Approx(9.0 / 13));
  CHECK(point(told, "no-comm", 2)["efficiency"].as_number() == Approx(7.0 / 11));
  CHECK(point(told, "real", 2)["samples_per_s"].as_number() == Approx(8 / 0.014));
  CHECK(point(told, "real", 2)["exposed_share"].as_number() == Approx(1.0 / 14));
  CHECK(point(told, "real", 2)["rank_hours_per_million_samples"].as_number() ==
        Approx(2 * 1e6 * 0.014 / 8 / 3600));
  CHECK(point(told, "real", 1)["runs"].values().size() == 2);
  REQUIRE(told["parts"].values().size() == 2);
  const Json& parts = told["parts"][1];
  CHECK(parts["ideal_us"].as_number() == Approx(7000));
  CHECK(parts["beside_us"].as_number() == Approx(4000));
  CHECK(parts["comm_us"].as_number() == Approx(2000));
  CHECK(parts["data_us"].as_number() == Approx(1000));
  const auto svg = noting.work() / told["svg"].as_text();
  CHECK(svg.parent_path().filename().string() == told["group"].as_text());
  CHECK_THAT(read_text_file(svg, 1 << 20),
             says("Weak scaling of 06_ddp, preset cpu_micro") && says("Weak: 4 samples a rank and step") &&
                 says("measured here") && says("Median of 2 runs") && !says("no value"));
  const ProcessResult listed = noting.run({"runs"});
  CHECK_THAT(listed.out, says("12 runs"));  // the folder of the picture is none
  const ProcessResult held = noting.run(scale({"--ranks", "1,2", "--repeat", "1", "--steps", "7", "--json"}),
                                        {.environment = {"OMP_NUM_THREADS=3"}});
  CHECK(Json::parse(held.out)["threads_per_rank"] == 3);
  CHECK_THAT(noting.calls().back(), says("run.threads=3 "));
}

TEST_CASE("strong scaling divides one batch, and the table says what was done") {
  const Noting noting(leaves_ranks(), "06_ddp");
  const ProcessResult result =
      noting.run(scale({"--ranks", "1,2", "--strong", "--repeat", "1", "--steps", "7", "--lines", "real",
                        "--set", "run.threads=3", "--svg", "here.svg"}));
  REQUIRE(result.code == 0);
  const std::vector<std::string> calls = noting.calls();
  REQUIRE(calls.size() == 3);
  for (const std::string& call : calls)
    CHECK_THAT(call, !says("train.global_batch") && says("--set run.threads=3 "));
  CHECK_THAT(result.out, says("Strong scaling of 06_ddp") && says("Strong: 4 samples a step, divided") &&
                             says("picture: here.svg") && says("3 threads each at every point") &&
                             says("35.7 %"));  // 10 of 2 x 14 ms
}

TEST_CASE("single runs have no spread, and what is lost in the noise has no number") {
  Noting noting("exit 0");
  noting.programs().script("06_ddp", leaves_ranks());
  const ProcessResult once = noting.run(scale({"--ranks", "1,2", "--repeats", "1", "--steps", "4"}));
  INFO(once.out << once.err);
  REQUIRE(once.code == 0);
  std::istringstream lines(once.out);
  int points = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find(" real   ") != std::string::npos) {
      ++points;
      CHECK_THAT(line, !says(" to "));
    }
    CHECK_THAT(line, !says("(noise)"));
  }
  CHECK(points == 2);
  const ProcessResult twice = noting.run(scale({"--ranks", "1,2", "--repeats", "2", "--steps", "4"}));
  CHECK_THAT(twice.out, says(" to "));
}

TEST_CASE("models of several ranks scale by models") {
  const Noting noting(leaves_ranks(), "07_tensor_parallel");
  std::vector<std::string> words =
      scale({"--ranks", "2,4", "--repeat", "1", "--steps", "7", "--lines", "real", "--set", "mesh.tp=2"});
  words[1] = "07_tensor_parallel";
  const ProcessResult weak = noting.run(words);
  INFO(weak.err);
  REQUIRE(weak.code == 0);
  CHECK_THAT(noting.calls().back(), says("train.global_batch=8 "));
  CHECK_THAT(weak.out, says("Weak: 4 samples a model of 2 ranks and step"));
  *std::find(words.begin(), words.end(), "2,4") = "1,2";
  CHECK_THAT(noting.run(words).err, says("1 ranks do not make models of 2 ranks each"));
}

TEST_CASE("without one rank the fewest are the base, and crowded processors are said") {
  const Noting noting(leaves_ranks(), "06_ddp");
  const ProcessResult result = noting.run(scale(
      {"--ranks", "2,4", "--repeat", "1", "--steps", "7", "--lines", "real", "--set", "run.threads=4096"}));
  REQUIRE(result.code == 0);
  CHECK_THAT(result.out, says("efficiency is against 2 ranks, the fewest") && says("E = T(2) / T(N)"));
  CHECK_THAT(result.out, says("2, 4 ranks of 4096 threads share") && says("is no measure of a network"));
  CHECK_THAT(result.out, says("63.6 %"));  // 14 of 22 ms
}

TEST_CASE("whole runs train on as many samples everywhere, and say when they came to a loss") {
  const Noting noting(leaves_ranks(), "06_ddp");
  const ProcessResult result =
      noting.run(scale({"--ranks", "1,2", "--repeat", "1", "--steps", "7", "--target-loss", "0.4", "--set",
                        "train.steps=9", "--json"}));
  REQUIRE(result.code == 0);
  const std::vector<std::string> calls = noting.calls();
  CHECK_THAT(calls[0], says("run.measure=none") && says("run.ranks=1") && says("--set train.steps=9 ") &&
                           !says("train.steps=10"));
  CHECK_THAT(calls[1], says("run.measure=synthetic") && says("--set train.steps=10 "));
  CHECK_THAT(calls[3], says("run.measure=none") && says("run.ranks=2") && says("--set train.steps=5 "));
  const Json told = Json::parse(result.out);
  const Json& two = point(told, "real", 2)["to_target"];
  CHECK(two["s"] == 60);
  CHECK(two["samples"] == 80);
  CHECK(two["rank_hours"].as_number() == Approx(2 * 60 / 3600.0));
  CHECK(two["reached"] == 1);
  CHECK_FALSE(point(told, "synthetic", 2).contains("to_target"));
  const ProcessResult never = noting.run(
      scale({"--ranks", "1,2", "--repeat", "1", "--steps", "7", "--target-loss", "0.2", "--lines", "real"}));
  CHECK_THAT(never.out, says("s to 0.2") && says("0 of 1"));
}

TEST_CASE("what is simulated stands by itself, beside what was measured") {
  const Noting noting(leaves_ranks(), "06_ddp");
  const std::vector<std::string> words =
      scale({"--ranks", "1,2", "--repeat", "1", "--steps", "7", "--lines", "synthetic", "--set",
             "comm.link.gbit_per_s=1", "--set", "comm.link.latency_us=50"});
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = words;
    all.insert(all.end(), more.begin(), more.end());
    return noting.run(all);
  };
  const Json told = Json::parse(with({"--up-to", "8", "--json", "--svg", "far.svg"}).out);
  CHECK(told["points"].values().size() == 2);
  std::vector<std::int64_t> own;
  for (const Json& one : told["simulated"].values()) {
    double sum_us = 0;
    for (const Json& us : one["terms_us"].values()) sum_us += us.as_number();
    CHECK(one["step_us"].as_number() == Approx(sum_us));
    if (one["shares_processors"] == false) own.push_back(one["ranks"].as_integer());
    if (one["error"] != Json())
      CHECK(one["error"].as_number() == Approx(one["step_us"].as_number() / 13'000 - 1));
  }
  CHECK(own == std::vector<std::int64_t>{2, 4, 8});
  CHECK_THAT(read_text_file(noting.work() / "far.svg", 1 << 20),
             says("simulated, not measured") && says("Simulated, not measured: computing takes"));
  CHECK_THAT(with({}).out, says("simulated, not measured:") && says("an emulated link (1 Gb/s, 50 us)") &&
                               says("Known error of such"));
  const Json none = Json::parse(with({"--up-to", "0", "--json"}).out);
  CHECK(none["simulated"].values().empty());
  const ProcessResult single = with({"--set", "comm.sync=per_parameter"});
  CHECK(single.code == 0);
  CHECK_THAT(single.out, says("Nothing is simulated beyond what was measured, since messages of single"));
}

TEST_CASE("gradient noise needs several ranks, and is left out where nothing is learnt") {
  const Noting noting(leaves_ranks(), "12_scaling");
  const auto with = [&](const std::string& ranks) {
    std::vector<std::string> words =
        scale({"--ranks", ranks, "--repeat", "1", "--steps", "7", "--set", "train.noise_every=2"});
    words[1] = "12_scaling";
    return noting.run(words);
  };
  const ProcessResult one = with("1,2");
  CHECK(one.code == 2);
  CHECK_THAT(one.err, says("gradient noise compares") && says("one point has 1 rank") && says("--ranks 2,4"));
  CHECK(noting.calls().empty());
  CHECK(with("2,4").code == 0);
  for (const std::string& call : noting.calls()) {
    const bool learns = call.find("run.point=real") != std::string::npos;
    CHECK((call.find("--set train.noise_every=0") == std::string::npos) == learns);
  }
}

TEST_CASE("a loss that was reached has two speed-ups and an energy, one that was not has none") {
  const Noting noting(leaves_ranks(), "06_ddp");
  const auto with = [&](const std::string& loss, const std::vector<std::string>& more) {
    std::vector<std::string> words =
        scale({"--ranks", "1,2", "--repeat", "1", "--steps", "7", "--lines", "real", "--target-loss", loss});
    words.insert(words.end(), more.begin(), more.end());
    return noting.run(words);
  };
  const Json told = Json::parse(with("0.4", {"--watts", "250", "--json"}).out);
  const Json& two = point(told, "real", 2);
  CHECK(two["speedup_samples"].as_number() == Approx(2 * 10.0 / 14));
  CHECK(two["speedup_target"] == 1);  // both were there after 60 s
  CHECK(two["to_target"]["watt_hours"].as_number() == Approx(250 * 2 * 60 / 3600.0));
  const ProcessResult never = with("0.2", {"--watts", "250"});
  CHECK(never.code == 0);
  CHECK_THAT(never.out, says("0 of 1") && says("no run recorded power") && says("x to target: of the time"));
  CHECK_THAT(with("0.4", {}).out, !says("Wh"));
  CHECK_THAT(noting.run(scale({"--ranks", "1,2", "--watts", "9"})).err, says("--target-loss 0.3 sets one"));
}

TEST_CASE("a point whose run fails is a gap, the others go on, and the exit code says so") {
  const Noting noting(
      leaves_ranks("[ \"$WORLD_SIZE\" = 2 ] && { echo 'error: the disk is full' >&2; exit 1; }"), "06_ddp");
  const ProcessResult result =
      noting.run(scale({"--ranks", "1,2,4", "--repeat", "2", "--steps", "7", "--lines", "real", "--json"}));
  CHECK(result.code == 1);
  CHECK_THAT(result.err, says("real ranks=2 failed") && says("the disk is full"));
  const Json told = Json::parse(result.out);
  const Json& gap = point(told, "real", 2);
  CHECK_FALSE(gap.contains("samples_per_s"));
  CHECK_FALSE(gap.contains("efficiency"));
  CHECK_THAT(gap["missing"].as_text(), says("failed first"));
  CHECK(point(told, "real", 4)["efficiency"].as_number() == Approx(10.0 / 22));
  CHECK(point(told, "real", 4)["runs"].values().size() == 2);
  const std::string svg = read_text_file(noting.work() / told["svg"].as_text(), 1 << 20);
  CHECK_THAT(svg,
             says("no value") && !says("#0072b2\" stroke-width=\"1.8\"") && says("real, 2 ranks: a gap"));
}

TEST_CASE("Ctrl-C ends all runs at once, and what there is is shown with its gaps") {
  const Noting noting(leaves_ranks("[ \"$WORLD_SIZE\" != 2 ] || exec sleep 3600"), "06_ddp");
  const ProcessResult result = noting.run(scale({"--ranks", "1,2", "--repeat", "1", "--steps", "7"}),
                                          {.interrupt_when = [&] { return noting.calls().size() == 5; }});
  CHECK(result.code == 130);
  CHECK_THAT(result.err, says("stopped"));
  CHECK_THAT(result.out,
             says("real, 2 ranks; synthetic, 2 ranks; no-comm, 2 ranks: a gap: stopped before the") &&
                 says("400.0") && says("no-comm        2") && says("scaling.svg"));
  for (const std::string& call : noting.calls()) CHECK(kill(std::stoi(call), 0) != 0);
  const Noting first("exec sleep 3600", "06_ddp");
  const ProcessResult nothing =
      first.run(scale({"--ranks", "1,2"}),
                {.signal = SIGTERM, .interrupt_when = [&] { return !first.calls().empty(); }});
  CHECK(nothing.code == 143);
  CHECK(nothing.out.find("samples/s") == std::string::npos);
}

TEST_CASE("a picture that cannot be written costs no table, and the exit code says so") {
  // The folder goes away while the runs go on.
  const Noting noting(leaves_ranks("rm -rf gone"), "06_ddp");
  std::filesystem::create_directories(noting.work() / "gone");
  const ProcessResult result = noting.run(
      scale({"--ranks", "1,2", "--repeat", "1", "--steps", "7", "--lines", "real", "--svg", "gone/x.svg"}));
  CHECK(result.code != 0);
  CHECK_THAT(result.out, says("71.4 %") && !says("picture:"));
  CHECK_THAT(result.err, says("gone/x.svg"));
}

}  // namespace isobar::test_scale
