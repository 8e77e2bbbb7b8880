// The ladder as a process, with stand-ins for the lessons: what is refused, what is left out, what a failure
// and an interrupt leave. With real lessons: tests/lessons/test_ladder.cpp.
#include <signal.h>

#include <sstream>

#include "cli/noting.h"
#include "core/json.h"
#include "core/text.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace isobar;

namespace {

/// A lesson that leaves a whole run: nine steps of `step_us` each, the first epoch of 4 slower.
std::string leaves_run(int step_us, const std::string& loss) {
  return LeavesRun{
      .arguments = "run.group=*) group=${1#*=} ;;",
      .config = "[optim]\\nlr = 0.001\\n",
      .run = R"("lesson":"'"${0##*/}"'","device":"cpu","group":"'"$group"'","flops_per_sample":1e9)",
      .steps = 9,
      .steps_per_epoch = 4,
      .each = "t=" + std::to_string(step_us) + R"(; [ $n -ge 4 ] || t=$((t * 3))
extra=
[ $n != 2 ] || extra=',"launches":317,"moved_bytes":278000000,"gemm_op_us":600,"pointwise_op_us":300'
times='"t_us":'$((n * t))',"load_us":10,"forward_us":'$((t / 2))',"step_us":'$t)",
      .step = R"("samples":4,"loss":0.6,"peak_bytes":5000000,'"$times$extra"')",
      .last = R"(echo '{"kind":"eval","step":9,"loss":)" + loss +
              R"(,"rmse_u10m":0.4,"persistence_rmse_u10m":0.3}')"}
      .script();
}

/// Programs of the ladder's first lessons; those that are not built are left out.
class Ladder {
 public:
  Ladder() {
    lesson("01_baseline", 10'000, "0.5");
    lesson("02_workers", 5'000, "0.5");
  }
  void lesson(const std::string& name, int step_us, const std::string& loss) {
    programs_.script(name, leaves_run(step_us, loss));
  }
  void script(const std::string& name, const std::string& body) { programs_.script(name, body); }
  ProcessResult run(std::vector<std::string> words, const ProcessOptions& options = {}) const {
    words.insert(words.begin(), "ladder");
    return programs_.run(with_data(std::move(words)), options);
  }
  std::vector<std::string> calls() const { return programs_.calls(); }
  std::filesystem::path work() const { return programs_.work(); }

 private:
  Noting programs_;
};

}  // namespace

TEST_CASE("the list names every rung and runs none") {
  const Ladder ladder;
  const ProcessResult result = ladder.run({"--list"});
  CHECK(result.code == 0);
  CHECK_THAT(result.out,
             says("01_baseline          Baseline") && says("03_gpu_loader") && says("(not built yet)"));
  CHECK_THAT(result.out,
             !says("00_sgd") && !says("10_buckets") && !says("11_compression") &&
                 !says("12_scaling"));  // no rungs: one stands alone, three branch off
  CHECK(ladder.calls().empty());
}

TEST_CASE("lessons run in turn, with the same settings, and are put side by side") {
  const Ladder ladder;
  const ProcessResult result = ladder.run({"--repeats", "3", "--steps", "9", "--preset", "cpu_micro"});
  INFO(result.out << result.err);
  REQUIRE(result.code == 0);
  const std::vector<std::string> calls = ladder.calls();
  REQUIRE(calls.size() == 6);  // A B A B A B: a machine that drifts hits all alike
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK_THAT(calls[i], says(i % 2 == 0 ? " 01_baseline " : " 02_workers ") && says("--preset cpu_micro") &&
                             says("train.steps=9") && says("run.measure=none") && says("data.root=x") &&
                             says("run.repeat=" + std::to_string(i / 2)) && says("run.group=ladder-"));
  }
  CHECK_THAT(result.out,
             says("preset cpu_micro on cpu, 9 steps, 3 repeats in turn") && says("measured here"));
  CHECK_THAT(result.out, says("400.0") && says("800.0") && says("x2.00"));  // without the slow first epoch
  CHECK_THAT(result.out, says("bit-equal") && says("5.00 MB"));
  CHECK_THAT(result.out, says("03_gpu_loader is left out: it is not built"));
  CHECK_THAT(result.out, says("recorded there, not here") && says("9.38") && says("12.45"));
  CHECK_THAT(result.out, says("./isobar runs ladder-"));
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 80);
}

TEST_CASE("a rung beside which other programs ran is marked") {
  Ladder ladder;
  std::string crowded = leaves_run(5'000, "0.5");
  crowded.insert(crowded.find("echo '{\"kind\":\"end\""), R"(  rate='"samples_per_s":800,"step_us":5000'
  echo '{"kind":"summary","steps":9,'"$rate"',"processor_wait":0.42}'
)");
  const std::string low = "! other programs took part of the processors: this rate is low";
  const std::vector<std::string> quick = {"--repeats", "1", "--steps", "9", "--preset", "cpu_micro"};
  CHECK_THAT(ladder.run(quick).out, !says(low));
  ladder.script("02_workers", crowded);
  const ProcessResult result = ladder.run(quick);
  CHECK_THAT(result.out, says(low) && says("800.0 !") && !says("400.0 !") && says("42 % of the time"));
  CHECK(ladder.run({"--repeats", "1", "--json"}).out.find(R"("crowded_runs":1)") != std::string::npos);
}

TEST_CASE("single runs show rates, and no factor that may be noise") {
  const Ladder ladder;
  const ProcessResult result = ladder.run({"--repeats", "1", "--steps", "9", "--preset", "cpu_micro"});
  REQUIRE(result.code == 0);
  CHECK_THAT(result.out, says("400.0") && says("800.0") && says("--repeats 3"));
  CHECK_THAT(result.out, !says("x2.00") && !says("400.0 to 400.0"));
}

TEST_CASE("without --preset all take the one that the first lesson has for this device") {
  const Ladder ladder;
  ladder.run({"--repeats", "1", "--set", "run.device=cpu"});
  REQUIRE(ladder.calls().size() == 2);
  for (const std::string& call : ladder.calls()) CHECK_THAT(call, says("--preset cpu_tiny"));
}

TEST_CASE("a rung that trains differently is marked and explained") {
  Ladder ladder;
  ladder.lesson("02_workers", 5'000, "0.7");
  const ProcessResult result = ladder.run({"--repeats", "1"});
  CHECK(result.code == 0);
  CHECK_THAT(result.out,
             says("DIFFERS +40 %") && says("! 02_workers trains differently") && says("0.7000 against"));
  const Json out = Json::parse(ladder.run({"--repeats", "1", "--json"}).out);
  CHECK(out["rungs"][0]["parity"] == "baseline");
  CHECK(out["rungs"][1]["parity"] == "differs");
  CHECK(out["rungs"][1]["trains_differently"] == true);
  CHECK(out["rungs"][1]["difference"].as_number() == Approx(0.4));
  CHECK(out["rungs"][1]["notes"].values().size() == 1);
}

TEST_CASE("a rung that fails does not lose the others") {
  Ladder ladder;
  ladder.script("01_baseline", "echo 'error: out of memory' >&2; exit 1");
  const ProcessResult result = ladder.run({"--repeats", "2"});
  CHECK(result.code == 1);
  CHECK(ladder.calls().size() == 3);  // it is not tried again
  CHECK_THAT(result.err, says("01_baseline failed") && says("out of memory"));
  CHECK_THAT(result.out,
             says("01_baseline  failed: error: out of memory") && says("800.0") && says("(the first)"));
  const Json out = Json::parse(ladder.run({"--repeats", "1", "--json"}).out);
  CHECK_THAT(out["rungs"][0]["failure"].as_text(), says("out of memory"));
  CHECK_FALSE(out["rungs"][0].contains("samples_per_s"));
  CHECK(out["rungs"][1]["samples_per_s"] == 800);
}

TEST_CASE("all that fails leaves no table") {
  Ladder ladder;
  ladder.script("01_baseline", "exit 1");
  ladder.script("02_workers", "exit 3");
  const ProcessResult result = ladder.run({"--json"});
  CHECK(result.code == 1);
  CHECK(result.out.empty());
}

TEST_CASE("Ctrl-C prints what is there") {
  Ladder ladder;
  ladder.script("02_workers", "exec sleep 3600");
  const auto second_began = [&] { return ladder.calls().size() == 2; };
  const ProcessResult result = ladder.run({"--repeats", "3"}, {.interrupt_when = second_began});
  CHECK(result.code == 130);
  CHECK_THAT(result.out, says("stopped before the end") && says("400.0") && says("02_workers  not run"));
}

TEST_CASE("JSON has each rung, what bounds it, and the published figures apart") {
  const Ladder ladder;
  const ProcessResult result = ladder.run({"--repeats", "3", "--json"});
  REQUIRE(result.code == 0);
  const Json out = Json::parse(result.out);
  CHECK(out["ladder"].as_text().rfind("ladder-", 0) == 0);
  CHECK(out["preset"] == "cpu_tiny");
  CHECK(out["device"] == "cpu");
  CHECK(out["provenance"] == "measured here");
  CHECK(out["repeats"] == 3);
  CHECK(out["stopped"] == false);
  REQUIRE(out["rungs"].values().size() == 2);
  const Json& second = out["rungs"][1];
  CHECK(second["lesson"] == "02_workers");
  CHECK(second["runs"].values().size() == 3);
  CHECK(second["samples_per_s"] == 800);
  CHECK(second["speed_up_on_previous"]["over"] == "01_baseline");
  CHECK(second["speed_up_on_baseline"]["ratio"].as_number() == Approx(2));
  CHECK(second["speed_up_on_baseline"]["direction"] == "more");
  CHECK(second["precision"] == "fp32");
  CHECK(second["bound"] == "host");  // 900 of 5000 us are operators
  CHECK(second["parts"]["GEMM"].as_number() == Approx(0.12));
  CHECK(second["peak_bytes"] == 5'000'000);
  CHECK(second["parity"] == "bit-equal");
  CHECK_FALSE(out["left_out"].empty());
  CHECK(out["published"][0]["provenance"] == "recorded");
  CHECK(out["published"][0]["years"] == Json(std::vector<int>{2023, 2024, 2025}));
}

TEST_CASE("only the lessons that are asked for run, and the first of them is the baseline") {
  const Ladder ladder;
  const ProcessResult result = ladder.run({"--repeats", "1", "--lessons", "02_workers"});
  CHECK(result.code == 0);
  REQUIRE(ladder.calls().size() == 1);
  CHECK_THAT(result.out, says("(the first)") && !says("01_baseline"));
  const ProcessResult none = ladder.run({"--lessons", "03_gpu_loader"});
  CHECK(none.code == 1);
  CHECK_THAT(none.err, says("none of the lessons can run here") && says("not built"));
}
