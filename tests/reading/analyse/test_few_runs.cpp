// Runs compared of which there are few: what is told of them, what is advised, and what is said of all at
// once.

#include "analyse/case_warnings.h"
#include "analyse/run_comparison.h"
#include "cli/case_text.h"
#include "cli/report.h"
#include "core/files.h"
#include "support/catch.h"
#include "support/made_runs.h"
#include "support/says.h"
#include "support/temp_folder.h"

namespace isobar::test_few_runs {

namespace fs = std::filesystem;

namespace {

RunComparison compared(const fs::path& base, const fs::path& other) {
  const std::vector<RunCase> cases = read_cases({base, other});
  return compare_runs(cases[0], cases[1]);
}

std::string text_of(const std::vector<fs::path>& runs) {
  return compare_report(read_cases(runs), 76, 80).json.text();
}

const MadeSteps kWorkers = {.keys = {{"data.workers", "2"}}};

}  // namespace

TEST_CASE("single runs that lie far apart have a factor, and how many runs it is from") {
  MadeRuns runs;
  const fs::path base = runs.add("base", {});
  MadeSteps slow = kWorkers;
  slow.stage_ms["load"] += 164;
  const fs::path other = runs.add("slow", slow);
  const RunComparison found = compared(base, other);
  REQUIRE(found.speed);
  CHECK(found.speed->is_of_few);
  CHECK(runs_missing(found, 1) == 0);
  const std::string sentence = comparison_sentence(found, "A", "B");
  CHECK_THAT(
      sentence,
      says("B is slower than A: 0.11 times as fast (from one run each, and repeats of one setting were "
           "recorded at most 1.60 times apart); most likely cause: load"));
  CHECK_THAT(comparison_sentence(compared(other, base), "A", "B"),
             says("B is faster than A: 9.0 times as fast"));
  CHECK(versus_text(found) == "about x0.11");
  CHECK_THAT(text_of({base, other}),
             says(R"("of_few_repeats":true,"base_repeats":1,"other_repeats":1)") && says("\"ratio\""));
  slow.processor_wait = 0.5;
  slow.keys["data.workers"] = "3";
  CHECK_FALSE(compared(base, runs.add("busy", slow)).speed->is_told());
}

TEST_CASE("runs of two lessons repeat nothing, and recorded runs repeat recorded ones") {
  MadeRuns runs;
  const fs::path fused = runs.add("fused", {.lesson = "05_fusion"});
  CHECK_FALSE(compared(fused, runs.add("graph", {.lesson = "08_cuda_graphs"})).repeats);
  const MadeSteps recorded = {.provenance = "recorded", .lesson = "05_fusion"};
  for (const char* name : {"recorded-1", "recorded-2", "recorded-3"}) runs.add(name, recorded);
  const fs::path imported = runs.add("imported", recorded);
  std::string stream = stream_of(recorded);
  stream.insert(stream.find("\"provenance\""), "\"source\":\"lightning\",");
  write_file_whole(imported / "rank-0000.jsonl", std::string_view(stream));
  CHECK(read_cases({runs.path() / "recorded-1"}).front().repeats.size() == 3);
  CHECK(read_cases({imported}).front().repeats.size() == 1);
  CHECK(read_cases({fused}).front().repeats.size() == 1);
}

TEST_CASE("of single runs that lie near no factor is given, but how to get one") {
  MadeRuns runs;
  const fs::path base = runs.add("base", {});
  MadeSteps slow = kWorkers;
  slow.stage_ms["load"] += 20;
  const fs::path other = runs.add("slow", slow);
  const RunComparison found = compared(base, other);
  REQUIRE(found.speed);
  CHECK(found.speed->direction == Direction::unknown);
  CHECK(runs_missing(found, 1) == 2);
  const std::string sentence = comparison_sentence(found, "A", "B");
  CHECK_THAT(sentence, says("cannot be told: 3 runs of each are needed, A has 1 and B has 1") &&
                           says("in these runs main cause: load"));
  CHECK_THAT(sentence, !says("times"));
  const std::string json = text_of({base, other});
  CHECK_THAT(json, says(R"("direction":"unknown")") && !says("\"ratio\""));
}

TEST_CASE("repeats are advised only where this tree can make them") {
  MadeRuns runs;
  const auto command = [&](const MadeSteps& one, MadeSteps two) {
    static int count = 0;
    const std::string name = std::to_string(++count);
    two.stage_ms["load"] += 5;
    two.keys["data.workers"] = "2";
    const auto cases = read_cases({runs.add("one" + name, one), runs.add("two" + name, two)});
    return repeats_command(cases[0], cases[1], compare_runs(cases[0], cases[1]));
  };
  const MadeSteps here = {.lesson = "02_workers"};
  const MadeSteps recorded = {.provenance = "recorded", .lesson = "02_workers"};
  CHECK_THAT(command(here, here), says("for i in $(seq 2); do ./isobar run 02_workers --config "));
  CHECK(command(recorded, recorded).empty());
  CHECK(command({.lesson = "tutorial"}, here).empty());
  CHECK(command(here, {.keys = {{"data.nothing", "1"}}, .lesson = "02_workers"}).empty());
}

TEST_CASE("what is to be known of several runs is said once, with their letters") {
  MadeRuns runs;
  std::vector<fs::path> folders;
  for (const char* const measure : {"io", "none", "io", "io", "io", "full"})
    folders.push_back(runs.add("run" + std::to_string(folders.size()), {.measure = measure}));
  folders.push_back(runs.add("failed", {.end = "failed", .reason = "no memory is left"}));
  const std::vector<std::string> said = case_warnings(read_cases(folders));
  const auto count = [&](const char* line) { return std::count(said.begin(), said.end(), line); };
  CHECK(count("A, C to E: measures io") == 1);
  CHECK(count("F: measures full") == 1);
  CHECK(count("G: failed after 30 steps: no memory is left") == 1);
  for (const std::string& line : said) CHECK_FALSE(line.starts_with("B: measures"));
  // What all of them have in common is one line, and how noisy each is, one of all.
  const TempFolder other;
  std::vector<fs::path> recorded;
  for (const char* const lesson : {"01_baseline", "05_fusion"}) {
    MadeSteps made = {.measure = "synthetic", .provenance = "recorded", .lesson = lesson};
    fs::create_directories(other / lesson);
    fs::rename(runs.add(lesson, made), other / lesson / "h200");
    recorded.push_back(other / lesson / "h200");
  }
  std::vector<RunCase> cases = read_cases(recorded);
  cases[0].repeats.front().blocks = Spread({100, 101, 102});
  cases[1].repeats.front().blocks = Spread({100, 102, 104});
  CHECK(case_warnings(cases) ==
        std::vector<std::string>{
            "A, B: recorded on cpu; measures synthetic",
            "A, B: within each run the middle half of its blocks of steps spans 1.0 to 2.0 "
            "%, which says nothing of the next run"});
  const std::vector<std::string> table = compare_report(cases, 76, kAnyColumns).texts();
  CHECK_THAT(table[1], says("01_baseline h200"));  // their folders have one name
  CHECK_THAT(table[2], says("05_fusion h200"));
  CHECK(case_warnings({}).empty());
}

}  // namespace isobar::test_few_runs
