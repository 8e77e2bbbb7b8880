// The demo with stand-ins for its two lessons: what it trains, and that what it says comes from their runs.
#include "cli/noting.h"
#include "core/text.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace isobar;

namespace {

/// A stand-in that leaves a whole run of 24 steps: `load_us` of reading, or `slow_us` from a slow disk, and
/// 10 ms of computing; repeats lie some 0.1 % apart.
std::string trains(const std::string& lesson, int load_us, int slow_us) {
  const LeavesRun out{
      .arguments = "run.repeat=*) repeat=${1#*=} ;; data.throttle_mb_per_s=*) throttle=${1#*=} load=$slow ;;",
      .then = "t=$((load + 10000 + 10 * repeat))",
      .config = "lesson = \"" + lesson +
                "\"\\n[data]\\nthrottle_mb_per_s = '$throttle'\\n[run]\\nrepeat = '$repeat'\\n",
      .run = R"("lesson":")" + lesson + R"(","device":"cpu","preset":"cpu_micro","wanted_steps":24)",
      .steps = 24,
      .step = R"("t_us":'$((n * t))',"samples":4,"loss":0.5,"load_us":'$load',"step_us":'$t')"};
  return "throttle=0 load=" + std::to_string(load_us) + " slow=" + std::to_string(slow_us) + "\n" +
         out.script();
}

/// Both, by what they read a step on this disk and on a slow one.
class Demo : public Noting {
 public:
  Demo(int load_us, int ahead_us, int slow_us, int slow_ahead_us)
      : Noting(trains("01_baseline", load_us, slow_us)) {
    script("02_workers", trains("02_workers", ahead_us, slow_ahead_us));
  }
};

std::string after(const std::string& text, const std::string& mark) {
  const std::size_t at = text.find(mark);
  return at == std::string::npos ? "" : text.substr(at);
}

}  // namespace

TEST_CASE("the demo trains two lessons on two disks, each repeat in turn, and says what it saw") {
  const Demo noting(1000, 1000, 40'000, 20'000);
  const ProcessResult result = noting.run({"demo"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  const std::vector<std::string> calls = noting.calls();
  REQUIRE(calls.size() == 12);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    CHECK_THAT(calls[i], says(i % 2 == 0 ? " 01_baseline " : " 02_workers ") && says("--preset cpu_micro"));
    CHECK((calls[i].find("data.throttle_mb_per_s=40") != std::string::npos) == (i % 4 >= 2));
    CHECK_THAT(calls[i], says("run.repeat=" + std::to_string(i / 4)) && says("run.measure=none"));
  }
  CHECK_THAT(result.out, says("one small model 12 times") && says("takes about 5 min"));
  CHECK(result.out.find("12 times") < result.out.find("run 1 of 12"));
  const std::string seen = after(result.out, "What was seen");
  CHECK_THAT(seen, says("On this disk: 02_workers is as fast as 01_baseline"));
  CHECK_THAT(seen, says("At 40 MB/s: 02_workers is faster than 01_baseline: 1.67 times as fast"));
  CHECK_THAT(seen, says("What a fast disk is worth: 01_baseline on this disk is faster than at 40"));
  CHECK_THAT(seen,
             says("try: how many threads are enough?") && says("sweep 02_workers data.workers=1,2,4,8"));
  CHECK_THAT(result.out, says("On this disk: ./isobar compare 01_baseline-"));
  const std::string svg = after(seen, "picture: ").substr(9);
  const std::string picture = read_text_file(noting.work() / svg.substr(0, svg.find('\n')), 1 << 20);
  CHECK_THAT(picture, says("<svg") && says("02_workers on a slow disk") && says("133"));
}

TEST_CASE("what the demo says is what its runs say, whatever was expected") {
  const std::string helps = Demo(30'000, 10'000, 40'000, 40'000).run({"demo"}).out;
  CHECK_THAT(helps, says("On this disk: 02_workers is faster") && says("At 40 MB/s: 02_workers is as fast") &&
                        says("./isobar quartet 02_workers"));
  const std::string once = Demo(1000, 1000, 40'000, 20'000).run({"demo", "--repeats", "1"}).out;
  CHECK_THAT(once, says("4 times") &&
                       says("At 40 MB/s: Whether 02_workers is faster than 01_baseline cannot be told") &&
                       says("try: once more"));
  CHECK_THAT(once, says("4.5 times as fast (from one run each"));  // 11 ms and 50 ms a step lie far apart
}

TEST_CASE("the demo ends with the run that fails") {
  Noting noting("echo 'error: the disk is full' >&2; exit 1");
  noting.script("02_workers", "exit 0");
  const ProcessResult failed = noting.run({"demo"});
  CHECK(failed.code == 1);
  CHECK_THAT(failed.err, says("the disk is full"));
  CHECK_THAT(failed.out, !says("What was seen"));
}
