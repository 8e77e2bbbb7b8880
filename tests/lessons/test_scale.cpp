// Scaling of a real lesson on ranks of this machine: what the command says against what its streams say.
#include <algorithm>
#include <numeric>

#include "lessons/rank_run.h"
#include "support/bin_folder.h"
#include "support/catch.h"
#include "support/made_rates.h"
#include "support/says.h"

using namespace isobar;

namespace {

/// A folder of kept rates: what was measured on the machine of the tests may be slower than an emulated link.
const std::string& made_prefix() {
  static const TempFolder folder;
  static const std::string path = [] {
    write_file_whole(folder / "rates.toml", std::string_view(to_toml(made_rates())));
    return folder.path().string();
  }();
  return path;
}

ProcessResult scale(std::vector<std::string> more, const std::filesystem::path& folder) {
  std::vector<std::string> words = {"scale", "06_ddp", "--preset", "cpu_micro"};
  words.insert(words.end(), more.begin(), more.end());
  for (const std::string& set :
       {std::string("amp.mode=none"), std::string("comm.timeout_s=300"), "data.root=" + data().string()})
    words.insert(words.end(), {"--set", set});
  return run_launcher("06_ddp", words,
                      {.environment = {"ISOBAR_PREFIX=" + made_prefix()}, .folder = folder.string()});
}

/// Mean step behind the three of warm-up, of the slowest rank.
double step_us(const std::filesystem::path& run, int ranks) {
  double slowest = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::vector<Json> steps = of_kind(stream_of(run, rank), "step");
    double sum = 0;
    for (std::size_t i = 3; i < steps.size(); ++i) sum += steps[i]["step_us"].as_number();
    slowest = std::max(slowest, sum / static_cast<double>(steps.size() - 3));
  }
  return slowest;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// By line and number of ranks: the median of the times in the streams of its runs.
double step_us(const Json& told, const std::string& line, int ranks, const std::filesystem::path& folder) {
  for (const Json& point : told["points"].values()) {
    if (point["line"] != line || point["ranks"] != ranks) continue;
    std::vector<double> times;
    for (const Json& run : point["runs"].values()) times.push_back(step_us(folder / run.as_text(), ranks));
    return median(times);
  }
  return 0;
}

}  // namespace

TEST_CASE("efficiency by either law is what the streams say, to three digits") {
  const std::string law = GENERATE("--weak", "--strong");
  const std::string repeats = law == "--strong" ? "3" : "1";
  const TempFolder folder;
  const std::string lines = law == "--strong" ? "real,no-comm" : "real,no-comm,synthetic";
  const ProcessResult result =
      scale({"--ranks", "1,2", law, "--repeat", repeats, "--steps", "4", "--lines", lines, "--json"},
            folder.path());
  INFO(result.err);
  REQUIRE(result.code == 0);
  const Json told = Json::parse(result.out);
  REQUIRE(told["points"].values().size() == (law == "--strong" ? 4 : 6));
  for (const Json& point : told["points"].values()) {
    const int ranks = static_cast<int>(point["ranks"].as_integer());
    const std::string line = point["line"].as_text();
    const double base_us = step_us(told, line, 1, folder.path());
    const double here_us = step_us(told, line, ranks, folder.path());
    const double expected = base_us / here_us / (law == "--strong" ? ranks : 1);
    INFO(point.text());
    CHECK(point["efficiency"].as_number() == Approx(expected).margin(0.0005));
    CHECK(point["step_us"].as_number() == Approx(here_us).epsilon(1e-6));
    CHECK(point["batch"] == (law == "--strong" ? 4 : 4 * ranks));
    CHECK(point["samples_per_s"].as_number() ==
          Approx(point["batch"].as_number() / here_us * 1e6).epsilon(0.05));
    CHECK(point["runs"].values().size() == std::stoul(repeats));
    for (const Json& run : point["runs"].values()) {
      const Json first = stream_of(folder / run.as_text(), 0).front();
      CHECK(first["threads"] == told["threads_per_rank"]);
      CHECK(first["world"] == ranks);
      CHECK(first["group"] == told["group"]);
      CHECK(first["measure"] == (line == "real" ? "full" : "synthetic"));
    }
  }
  const std::string svg = read_text_file(folder / told["svg"].as_text(), 1 << 20);
  CHECK_THAT(svg, says("ideal") && says("no-comm") &&
                      says(law == "--strong" ? "Median of 3 runs" : "Weak scaling") &&
                      says("measured here") && says("gradients by ring") && !says("no value"));
}

TEST_CASE("over an emulated link the continuation is that of the link, from the step of one rank") {
  const TempFolder folder;
  const ProcessResult result =
      scale({"--ranks", "1,2", "--repeat", "1", "--steps", "4", "--lines", "synthetic", "--json", "--set",
             "comm.link.gbit_per_s=1", "--set", "comm.link.latency_us=50", "--set", "comm.sync=at_end"},
            folder.path());
  INFO(result.err);
  REQUIRE(result.code == 0);
  const Json told = Json::parse(result.out);
  CHECK(told["points"].values().size() == 2);
  const auto stream = stream_of(folder / told["points"][1]["runs"][0].as_text(), 0);
  double bytes = 0;
  for (const Json& note : of_kind(stream, "note"))
    if (note["text"] == "plan") bytes = 4 * note["parameters"].as_number();
  std::vector<std::int64_t> own;
  for (const Json& point : told["simulated"].values()) {
    const double ranks = point["ranks"].as_number();
    if (point["shares_processors"] == false) own.push_back(point["ranks"].as_integer());
    // 2 (n - 1) (a + S / n B), all of it behind the backward pass
    CHECK(point["comm_us"].as_number() == Approx(2 * (ranks - 1) * (50 + bytes / ranks / 125)).epsilon(1e-6));
    if (point["error"] != Json())
      CHECK(point["error"].as_number() ==
            Approx(point["step_us"].as_number() / told["points"][1]["step_us"].as_number() - 1));
  }
  CHECK(own == std::vector<std::int64_t>{2, 4, 8, 16});
}

TEST_CASE("a number of ranks that the data are too few for is a gap in table and picture") {
  const TempFolder folder;
  // Four samples are a batch for one rank, and none for two that have four each.
  const ProcessResult result = scale({"--ranks", "1,2", "--repeat", "1", "--steps", "3", "--lines",
                                      "real,no-comm", "--set", "data.limit_train=4", "--svg", "gap.svg"},
                                     folder.path());
  CHECK(result.code == 2);
  CHECK_THAT(result.err, says("real ranks=2 failed"));
  CHECK_THAT(result.out, says("  real, 2 ranks") && says(": a gap: rank ") && says("100.0 %") &&
                             says("picture: gap.svg"));
  const std::string svg = read_text_file(folder / "gap.svg", 1 << 20);
  CHECK_THAT(svg, says("no value"));
}

TEST_CASE("whole runs say when the validation loss first was where it should be") {
  const TempFolder folder;
  const ProcessResult result = scale({"--ranks", "1,2", "--repeat", "1", "--steps", "3", "--lines", "real",
                                      "--set", "train.steps=16", "--target-loss", "0.99", "--json"},
                                     folder.path());
  INFO(result.err);
  REQUIRE(result.code == 0);
  const Json told = Json::parse(result.out);
  for (const Json& point : told["points"].values()) {
    const int ranks = static_cast<int>(point["ranks"].as_integer());
    const std::vector<Json> lines = stream_of(folder / point["runs"][0].as_text(), 0);
    CHECK(of_kind(lines, "step").size() == static_cast<std::size_t>(16 / ranks));
    const std::vector<Json> scores = of_kind(lines, "eval");
    const auto first = std::find_if(scores.begin(), scores.end(),
                                    [](const Json& at) { return at["loss"].as_number() <= 0.99; });
    INFO(point.text());
    const Json& to = point["to_target"];
    CHECK(to["reached"] == (first == scores.end() ? 0 : 1));
    if (first == scores.end()) {
      CHECK(to["s"] == Json());
      continue;
    }
    const double time_s = (*first)["t_us"].as_number() * 1e-6;
    CHECK(to["s"].as_number() == Approx(time_s));
    CHECK(to["samples"] == 4 * ranks * (*first)["step"].as_integer());
    CHECK(to["rank_hours"].as_number() == Approx(ranks * time_s / 3600));
  }
  CHECK(told["points"][0]["to_target"]["reached"] == 1);
  CHECK_THAT(told["protocol"].text(),
             says("A whole run on 1 rank: ") && says("training steps and a validation"));
}
