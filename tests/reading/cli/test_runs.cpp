// The list of runs: what it shows where a terminal is narrow, and that the runs of one command are one line.
#include <fmt/format.h>

#include "cli/programs.h"
#include "cli/report.h"
#include "cli/runs_table.h"
#include "core/files.h"
#include "support/catch.h"
#include "support/says.h"

using namespace isobar;

namespace {

const RunsRow kPlain = {"01_baseline-20261124-101500-3f2a",
                        "done",
                        "cpu_micro",
                        "128/128",
                        "0.3932",
                        "137.0",
                        "12.3 MB",
                        "the first of many"};

std::size_t widest(const std::vector<std::string>& lines) {
  std::size_t out = 0;
  for (const std::string& line : lines) out = std::max(out, line.size());
  return out;
}

/// A run of seven steps of `ms` each.
void make_run(const std::filesystem::path& folder, const std::string& group, const std::string& point, int ms,
              const std::string& measure = "full", bool ended = true) {
  std::filesystem::create_directories(folder);
  std::string text = fmt::format(
      "{{\"kind\":\"run\",\"schema\":1,\"lesson\":\"02_workers\",\"device\":\"cpu\",\"preset\":\"cpu_micro\","
      "\"wanted_steps\":7,\"group\":\"{}\",\"point\":\"{}\",\"measure\":\"{}\"}}\n"
      "{{\"kind\":\"note\",\"steps_per_epoch\":8}}\n",
      group, point, measure);
  for (int n = 0; n < 7; ++n)
    text += fmt::format("{{\"kind\":\"step\",\"step\":{},\"t_us\":{},\"samples\":4,\"step_us\":{}}}\n", n,
                        n * ms * 1000, ms * 1000);
  if (ended) text += "{\"kind\":\"end\",\"status\":\"done\",\"reason\":\"\"}\n";
  write_file_whole(folder / "rank-0000.jsonl", text);
  write_file_whole(folder / "run.toml", std::string_view("lesson = \"02_workers\"\n"));
}

}  // namespace

TEST_CASE("a list of runs fits its terminal, and what matters most goes last") {
  const std::vector<RunsRow> rows = {kPlain, {"short", "died", "", "3/7", "-", "-", "1 kB", ""}};
  const std::vector<std::string> whole = runs_table(rows);
  REQUIRE(whole.size() == 3);
  CHECK_THAT(whole[0], says("run ") && says("preset") && says("RMSE") && says("note"));
  CHECK_THAT(whole[1], says(kPlain.name + "  done ") && says("  the first of many"));
  CHECK(whole[2].back() != ' ');
  for (const std::size_t columns : {110U, 100U, 90U, 80U, 72U, 64U, 50U, 44U}) {
    INFO(columns);
    const std::vector<std::string> lines = runs_table(rows, columns);
    CHECK(widest(lines) <= columns);
    CHECK_THAT(lines[1], says("done") && says("137.0"));
    if (columns >= 72) CHECK_THAT(lines[1], says(kPlain.name));
  }
  const std::vector<std::string> usual = runs_table(rows, 80);
  CHECK_THAT(usual[0], !says("preset") && says("note") && says("size"));
  CHECK_THAT(usual[1], says("the first of"));
  RunsRow long_name = kPlain;
  long_name.name = std::string(60, 'a') + "-3f2a";
  CHECK_THAT(runs_table({long_name}, 80)[1], says("aaa...aaa") && says("-3f2a  done"));
  CHECK(runs_table({}, 80).size() == 1);
}

TEST_CASE("a text is cut in its middle, where names differ least") {
  CHECK(cut_in_middle("01_baseline-20261124-3f2a", 25) == "01_baseline-20261124-3f2a");
  CHECK(cut_in_middle("01_baseline-20261124-3f2a", 15) == "01_bas...4-3f2a");
  CHECK(cut_in_middle("abcdef", 3) == "...");
}

TEST_CASE("the runs of one command are one line, until they are asked for") {
  const Programs programs;
  const std::filesystem::path runs = programs.folder() / "runs";
  const std::string sweep = "sweep-20261124-101500-3f2a";
  make_run(runs / "one", "", "", 10);
  make_run(runs / "p1", sweep, "data.workers=1", 20);
  make_run(runs / "p2", sweep, "data.workers=2", 10);
  make_run(runs / "p4", sweep, "data.workers=4", 5);
  make_run(runs / "io", sweep, "io", 1, "io", /*ended=*/false);
  make_run(runs / "lone", "ladder-20261124-111500-aaaa", "02_workers", 10);
  const auto listed = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "runs");
    return programs.run(words, {.folder = programs.folder().path().string()});
  };
  const std::string folded = listed({}).out;
  CHECK_THAT(folded, says("\none ") && says("lone ") && !says("p1 ") && says("6 runs,"));
  // The best and the median of 200, 400 and 800 samples/s; reading alone is no training.
  CHECK_THAT(folded,
             says(sweep + "  4 runs") && says("800.0 (400.0)") && says("sweep of 02_workers, 1 running"));
  CHECK_THAT(folded, says("[measures full at 02_workers] [ladder-20261124-111500-aaaa]") &&
                         says("./isobar runs GROUP"));
  const std::string of_group = listed({sweep}).out;
  CHECK_THAT(of_group, says("p1 ") && says("[measures full at data.workers=4]\n") && !says("\none ") &&
                           !says("[" + sweep));
  const std::string all = listed({"--all"}).out;
  CHECK_THAT(all, says("p1 ") && says("\none ") && says("[" + sweep) && !says("4 runs") && !says("GROUP"));
  CHECK_THAT(listed({"runs", "--all"}).out, says("p1 "));
  const ProcessResult unknown = listed({"sweep-20261124-101500-3f2b"});
  CHECK(unknown.code == 2);
  CHECK_THAT(unknown.err, says("no group of runs") && says("mean " + sweep + "?"));
  CHECK(listed({"delete"}).code == 2);
}

TEST_CASE("a line of a summary that is too long goes on below what it says") {
  const std::string line =
      "  throughput   150.0 samples/s without the first 20 steps, MFU 47.8 % of 235 GFLOP/s";
  CHECK(hung(line, 200) == std::vector<std::string>{line});
  CHECK(hung(line, std::string::npos) == std::vector<std::string>{line});
  CHECK(hung(line, 60) ==
        std::vector<std::string>{"  throughput   150.0 samples/s without the first 20 steps,",
                                 "               MFU 47.8 % of 235 GFLOP/s"});
  CHECK(hung(line, 10) == std::vector<std::string>{line});
  CHECK(hung("short", 3) == std::vector<std::string>{"short"});
}
