// The commands that measure, as processes: what they refuse before anything runs, and what they do when a run
// fails or somebody interrupts. With real lessons: tests/lessons/test_measure.cpp.
#include <signal.h>

#include <chrono>
#include <thread>

#include "cli/noting.h"
#include "core/json.h"
#include "core/text.h"
#include "support/catch.h"
#include "support/errors.h"

namespace isobar::test_measure {

namespace {

/// A stand-in that leaves a run of seven steps, of `io`, `synthetic` or `full` us each.
std::string leaves_runs(int io_us, int synthetic_us, int full_us) {
  return LeavesRun{.arguments = "run.measure=*) kind=${1#*=} ;;",
                   .then = "case $kind in io) t=" + std::to_string(io_us) + " ;; synthetic) t=" +
                           std::to_string(synthetic_us) + " ;; *) t=" + std::to_string(full_us) + " ;; esac",
                   .run = R"("lesson":"02_workers","device":"cpu","measure":"'"$kind"'")",
                   .step = R"("t_us":'$((n * t))',"samples":4,"load_us":9,"copy_us":1,"step_us":'"$t"')"}
      .script();
}

/// A stand-in for a lesson of several ranks: each leaves its stream of ten steps. Steps take 100 ms, 70
/// without communication; rank `slow` comes last by 40 ms, where there is one.
std::string leaves_ranks(int slow) {
  return LeavesRun{
      .arguments = "run.measure=*) kind=${1#*=} ;; comm.sync=none) kind=none ;;",
      .then = R"(case $kind in io) t=1000 ;; none) t=70000 ;; *) t=100000 ;; esac
comm=50000; [ "$RANK" = )" +
              std::to_string(slow) + R"( ] && comm=10000
[ "$kind" = io ] && comm=0)",
      .run = R"("lesson":"06_ddp","device":"cpu","rank":'$RANK',"world":'$WORLD_SIZE',"measure":"'$kind'")",
      .steps = 10,
      .step = R"("samples":4,"backward_us":'$((t - comm))',"comm_us":'$comm',"step_us":'$t')",
      .rank = "$RANK"}
      .script();
}

/// n values, "1,2,...".
std::string many(int n) {
  std::string out;
  for (int i = 1; i <= n; ++i) out += (i > 1 ? "," : "") + std::to_string(i);
  return out;
}

}  // namespace

TEST_CASE("a sweep of more points than anybody waits for is refused") {
  const Noting noting("exit 0");
  CHECK_THAT(noting.run({"sweep", "01_baseline", "train.seed=" + many(40), "data.seed=" + many(26)}).err,
             says("more than 1000 points"));
  CHECK(noting.calls().empty());
}

TEST_CASE("help of the commands that measure names what they take") {
  const auto help = [](const std::string& command) {
    return run_process({ISOBAR_CLI, command, "--help"}).out;
  };
  CHECK_THAT(help("quartet"), says("--trials"));
  CHECK_THAT(help("sweep"), says("--whole") && says("key=a,b,c"));
  CHECK_THAT(help("scale"), says("--strong") && says("--target-loss"));
  CHECK_THAT(help("ladder"), says("--lessons") && says("--list") && says("--repeats"));
  CHECK_THAT(help("demo"), says("about five minutes") && says("--repeats"));
}

TEST_CASE("a lesson that cannot run here is refused in words") {
  Noting noting("exit 0");
  std::filesystem::remove(noting.programs().folder() / "01_baseline");
  const ProcessResult missing = noting.run(with_data({"quartet", "01_baseline"}));
  CHECK(missing.code == 1);
  CHECK_THAT(missing.err, says("not built") && says("./isobar setup"));
  if (std::filesystem::exists("/dev/nvidiactl")) return;
  const std::filesystem::path home = noting.programs().folder() / "home";
  std::filesystem::create_directories(home / "lessons/09_gpu");
  std::filesystem::copy(project_home() / "lessons/base.toml", home / "lessons/base.toml");
  std::filesystem::copy(project_home() / "lessons/presets", home / "lessons/presets");
  write_file_whole(home / "lessons/09_gpu/lesson.toml",
                   std::string_view("title = \"t\"\nneeds = \"cuda\"\nintroduces = [\"run.measure\", "
                                    "\"train.steps\"]\n"));
  const ProcessResult refused =
      noting.run({"quartet", "09_gpu"}, {.environment = {"ISOBAR_HOME=" + home.string()}});
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, says("needs an NVIDIA GPU"));
}

TEST_CASE("a run that fails ends the quartet with its error and its code, and leaves no empty folder") {
  const Noting noting("echo 'error: the disk is full' >&2; exit 1");
  const ProcessResult result = noting.run(with_data({"quartet", "01_baseline", "--preset", "cpu_micro"}));
  CHECK(result.code == 1);
  CHECK_THAT(result.err, says("io failed:") && says("error: the disk is full"));
  CHECK(result.out.find("verdict") == std::string::npos);
  REQUIRE(noting.calls().size() == 1);
  CHECK_THAT(noting.calls()[0], says("--preset cpu_micro") && says("--set train.steps=53 ") &&
                                    says("--set data.root=x --set run.measure=io") &&
                                    says("--set run.point=io --set run.repeat=0") &&
                                    says("--run-dir runs/01_baseline-"));
  CHECK(noting.runs() == 0);
  const ProcessResult json = noting.run(with_data({"quartet", "01_baseline", "--json"}));
  CHECK(json.code == 1);
  CHECK(json.out.empty());
}

TEST_CASE("whole rounds of the workers are measured, since their batches come in rounds") {
  Noting noting("exit 0");
  noting.programs().script("02_workers", "echo \"$*\" >&2; exit 1");
  const auto steps_of = [&](const std::string& workers, const std::string& steps) {
    const std::string said =
        noting.run(with_data({"quartet", "02_workers", "--steps", steps, "--set", "data.workers=" + workers}))
            .err;
    const std::string key = "train.steps=";
    return std::stoi(said.substr(said.find(key) + key.size()));
  };
  CHECK(steps_of("4", "50") == 52 + 3);
  CHECK(steps_of("0", "50") == 50 + 3);
  CHECK(steps_of("1", "50") == 50 + 3);
  CHECK(steps_of("32", "50") == 64 + 3);
}

TEST_CASE("the next command is one that the next lesson takes") {
  Noting noting("exit 0");
  const std::vector<std::string> words = {
      "quartet",   "02_workers", "--steps",         "4",     "--trials",  "1",     "--preset",
      "cpu_micro", "--set",      "data.prefetch=4", "--set", "data.dt=2", "--set", "data.workers=4"};
  noting.programs().script("02_workers", leaves_runs(1000, 10'000, 20'000));
  const ProcessResult contention = noting.run(with_data(words));
  REQUIRE(contention.code == 0);
  CHECK_THAT(contention.out, says("verdict: copy or contention") && says("./isobar runs quartet-"));
  // data.prefetch ends with lesson 02.
  CHECK_THAT(contention.out,
             says("next: ./isobar quartet 03_gpu_loader --preset cpu_micro --set data.dt=2 --set "
                  "data.workers=4 --set data.root=x\n"));
  noting.programs().script("02_workers", leaves_runs(20'000, 10'000, 20'000));
  // What is varied is not set beside it.
  CHECK_THAT(
      noting.run(with_data(words)).out,
      says("verdict: data") && says("next: ./isobar sweep 02_workers data.workers=1,2,4,8 --preset cpu_micro "
                                    "--set data.prefetch=4 --set data.dt=2 --set data.root=x\n"));
}

TEST_CASE("runs beside other programs are said to be, below every table") {
  Noting noting("exit 0");
  std::string crowded = leaves_runs(1000, 10'000, 20'000);
  crowded.insert(crowded.find("echo '{\"kind\":\"end\""),
                 R"(  rate='"samples_per_s":'$((4000000 / t))',"step_us":'$t
  echo '{"kind":"summary","steps":7,'"$rate"',"processor_wait":0.69}'
)");
  noting.programs().script("02_workers", crowded);
  const std::vector<std::string> few = {"--steps", "4", "--preset", "cpu_micro"};
  const auto said_by = [&](std::vector<std::string> words) {
    words.insert(words.end(), few.begin(), few.end());
    return noting.run(with_data(words)).out;
  };
  const std::string nine = "processors were shared in 9 of 9 runs: the training loop waited for a";
  CHECK_THAT(said_by({"quartet", "02_workers"}), says(nine));
  CHECK_THAT(said_by({"quartet", "02_workers", "--json"}), says(R"("crowded_runs":9)"));
  CHECK_THAT(said_by({"sweep", "02_workers", "data.workers=1,2", "--repeats", "1"}),
             says("processors were shared in 2 of 2 runs"));
  noting.programs().script("02_workers", leaves_runs(1000, 10'000, 20'000));
  CHECK_THAT(said_by({"quartet", "02_workers"}), !says("processors"));
}

TEST_CASE("a sweep says how many steps each point took, and its runs are found by its name") {
  Noting noting("exit 0");
  noting.programs().script("02_workers", leaves_runs(1000, 1000, 1000));
  const ProcessResult result = noting.run(
      with_data({"sweep", "02_workers", "data.workers=1,4", "--steps", "2", "--repeats", "1", "--json"}));
  REQUIRE(result.code == 0);
  CHECK_THAT(result.out, says(R"("stopped":false)") && says(R"("steps":2,"repeats")"));
  const Json points = Json::parse(result.out)["points"];
  CHECK(points[0]["steps"] == 2);
  CHECK(points[1]["steps"] == 4);
}

TEST_CASE("a run that the system kills is said, and one that says nothing of itself is no result") {
  const Noting killed("kill -9 $$");
  const ProcessResult result = killed.run(with_data({"quartet", "01_baseline"}));
  CHECK(result.code == 137);
  CHECK_THAT(result.err, says("killed by the system"));
  const Noting silent("exit 0");
  const ProcessResult nothing = silent.run(with_data({"quartet", "01_baseline"}));
  CHECK(nothing.code == 1);
  CHECK_THAT(nothing.err, says("left no step"));
}

TEST_CASE("a point of a sweep that fails is not run again, and the others are") {
  const Noting noting("echo 'error: out of memory' >&2; exit 1");
  const ProcessResult result =
      noting.run(with_data({"sweep", "01_baseline", "train.global_batch=1,2", "data.grid=[48,96],[72,144]"}));
  CHECK(result.code == 1);
  REQUIRE(noting.calls().size() == 4);
  CHECK_THAT(noting.calls()[0], says("train.global_batch=1 --set data.grid=[48,96] "));
  CHECK_THAT(noting.calls()[1], says("train.global_batch=1 --set data.grid=[72,144] "));
  CHECK_THAT(noting.calls()[3], says("train.global_batch=2 --set data.grid=[72,144] ") &&
                                    says("run.point=train.global_batch=2 data.grid=[72,144]"));
  CHECK_THAT(result.err, says("train.global_batch=2 data.grid=[72,144] failed:"));
}

TEST_CASE("the embedded data of every point is made first, without a word where only JSON is wanted") {
  const Noting noting("exit 1");
  const std::vector<std::string> words = {"sweep", "01_baseline", "data.grid=[48,96],[72,144]", "--repeats",
                                          "1"};
  const ProcessResult result = noting.run(words);
  CHECK_THAT(result.out, says("make_fields <--grid> <48x96>") && says("make_fields <--grid> <72x144>"));
  std::vector<std::string> json = words;
  json.push_back("--json");
  CHECK(noting.run(json).out.empty());
  const ProcessResult made_up =
      noting.run({"sweep", "01_baseline", "train.global_batch=1,2", "--set", "data.source=synthetic"});
  CHECK(made_up.out.find("make_fields") == std::string::npos);
}

TEST_CASE("Ctrl-C ends a quartet and its run at once") {
  const Noting noting("exec sleep 3600");
  const ProcessResult result = noting.run(with_data({"quartet", "01_baseline"}),
                                          {.interrupt_when = [&] { return !noting.calls().empty(); }});
  CHECK(result.code == 130);
  CHECK_THAT(result.err, says("stopped"));
  REQUIRE(noting.calls().size() == 1);
  const int pid = std::stoi(noting.calls()[0]);
  CHECK(kill(pid, 0) != 0);
  CHECK(noting.runs() == 0);
  const Noting sweeps("exec sleep 3600");
  const auto began = [&] { return !sweeps.calls().empty(); };
  const ProcessResult stopped = sweeps.run(with_data({"sweep", "01_baseline", "train.global_batch=1,2"}),
                                           {.signal = SIGTERM, .interrupt_when = began});
  CHECK(stopped.code == 143);
  CHECK(sweeps.calls().size() == 1);
}

TEST_CASE("a quartet on several ranks measures without communication too, and names the one that is slow") {
  Noting noting("exit 0");
  noting.programs().script("06_ddp", leaves_ranks(-1));
  const std::vector<std::string> words = {"quartet", "06_ddp", "--ranks",  "2",
                                          "--steps", "7",      "--trials", "1"};
  const ProcessResult plain = noting.run(with_data(words));
  REQUIRE(plain.code == 0);
  CHECK_THAT(plain.out, says("verdict: communication\n  30 % of a step is communication between ranks") &&
                            says("2 ranks") && says("114.3"));  // 2 x 4 samples in 70 ms
  CHECK_THAT(plain.out, says("next: ./isobar quartet 10_buckets") && says("--set run.ranks=2"));
  noting.programs().script("06_ddp", leaves_ranks(1));
  std::vector<std::string> json = words;
  json.emplace_back("--json");
  const ProcessResult slow = noting.run(with_data(json));
  REQUIRE(slow.code == 0);
  CHECK_THAT(slow.out, says(R"("verdict":"straggler")") && says(R"("straggler":1)") && says(R"("ranks":2)") &&
                           says("rank 1 keeps the others waiting 40.0 ms a step") &&
                           says("--timeline --rank 1"));
}

TEST_CASE("a rank that fails ends the measurement and is named") {
  Noting noting("exit 0");
  noting.programs().script("06_ddp",
                           "[ $RANK = 1 ] && { echo 'error: the disk is full' >&2; exit 1; }; sleep 20");
  const ProcessResult result =
      noting.run(with_data({"quartet", "06_ddp", "--ranks", "2", "--steps", "7", "--trials", "1"}));
  CHECK(result.code == 1);
  CHECK_THAT(result.err, says("rank 1 failed first") && says("error: the disk is full"));
}

}  // namespace isobar::test_measure
