// The list of runs: what it shows where a terminal is narrow, and that the runs of one command are one line.
#include <fmt/format.h>

#include "cli/programs.h"
#include "cli/report.h"
#include "core/files.h"
#include "support/catch.h"
#include "support/says.h"

using namespace isobar;

namespace {

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

TEST_CASE("a table fits its terminal, and what matters most goes last") {
  const std::string name = "01_baseline-20261124-101500-3f2a";
  Table table = {
      .columns = {"run", {"preset", 1}, {"size", 2}, "note"}, .cut = 0, .kept = 36, .words_last = true};
  table.add({name, "cpu_micro", "12.3 MB", "the first of many"});
  table.add({"short", "", "1 kB", ""});
  const auto lines = [&](std::size_t columns) {
    Report out;
    out.table(table, columns);
    return out.texts();
  };
  CHECK_THAT(lines(kAnyColumns)[1], says(name + "  cpu_micro  12.3 MB  the first of many"));
  for (const std::size_t columns : {100U, 80U, 72U, 64U, 50U, 44U}) {
    INFO(columns);
    CHECK(widest(lines(columns)) <= columns);
  }
  CHECK_THAT(lines(72)[0], !says("preset") && says("size") && says("note"));
  CHECK_THAT(lines(60)[1], says(name + "  the first of many"));
  CHECK_THAT(lines(44)[1], says("01_base") && says("...") && says("3f2a  the first of many"));
  CHECK(lines(80)[2].back() != ' ');
}

TEST_CASE("values of a row are printed and told once, and a column that no row knows is left out") {
  std::vector<Row> rows(3);
  rows[0]
      .add("name", "point", "one", "one")
      .add("step_us", "step ms", Quantity::time, 1500)
      .cell("stall", "-");
  rows[1].cell("point", "two").add("step_us", "step ms", Quantity::time, std::nullopt).cell("more", "yes");
  rows[2].cell("point", "three").end("failed: no memory");
  Report out;
  out.rows("points", rows);
  CHECK(out.texts() == std::vector<std::string>{"  point  step ms  more", "  one       1.50     -",
                                                "  two          -   yes", "  three  failed: no memory"});
  CHECK(out.json.text() == R"({"points":[{"name":"one","step_us":1500.0},{"step_us":null},{}]})");
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
  CHECK_THAT(folded, says("\n  one ") && says("lone ") && !says("p1 ") && says("6 runs,"));
  // The best and the median of 200, 400 and 800 samples/s; reading alone is no training.
  CHECK_THAT(folded,
             says(sweep + "  4 runs") && says("800.0 (400.0)") && says("sweep of 02_workers, 1 running"));
  CHECK_THAT(folded, says("[measures full at 02_workers] [ladder-20261124-111500-aaaa]") &&
                         says("./isobar runs GROUP"));
  const std::string of_group = listed({sweep}).out;
  CHECK_THAT(of_group, says("p1 ") && says("[measures full at data.workers=4]\n") && !says("\n  one ") &&
                           !says("[" + sweep));
  const std::string all = listed({"--all"}).out;
  CHECK_THAT(all, says("p1 ") && says("\n  one ") && says("[" + sweep) && !says("4 runs") && !says("GROUP"));
  CHECK_THAT(listed({"runs", "--all"}).out, says("p1 "));
  const ProcessResult unknown = listed({"sweep-20261124-101500-3f2b"});
  CHECK(unknown.code == 2);
  CHECK_THAT(unknown.err, says("no group of runs") && says("mean " + sweep + "?"));
  CHECK(listed({"delete"}).code == 2);
}

TEST_CASE("a line of a summary that is too long goes on below what it says") {
  const std::string line =
      "  throughput   150.0 samples/s without the first 20 steps, MFU 47.8 % of 235 GFLOP/s";
  const auto labelled = [&](std::size_t columns) {
    Report out;
    out.labelled(line, columns);
    return out.texts();
  };
  CHECK(labelled(200) == std::vector<std::string>{line});
  CHECK(labelled(60) == std::vector<std::string>{"  throughput   150.0 samples/s without the first 20 steps,",
                                                 "               MFU 47.8 % of 235 GFLOP/s"});
  CHECK(labelled(10) == std::vector<std::string>{line});
}
