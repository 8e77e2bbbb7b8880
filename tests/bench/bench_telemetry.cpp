// ./isobar bench telemetry: what it costs to record a step, beside the step that is recorded.
#include <fmt/format.h>

#include <algorithm>

#include "bench/bench_report.h"
#include "bench/worker.h"
#include "core/clock.h"
#include "core/error.h"
#include "support/bin_folder.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

constexpr int kPatience_s = 300;
constexpr double kMostShare_percent = 1;
constexpr std::int64_t kAll_us = 60'000'000;  // a busy machine gets fewer repeats, not hours
constexpr int kFewestRepeats = 3;
constexpr double kBlock_us = 1e6;

void measure(BenchReport& report, int repeats) {
  const TempFolder folder;
  Worker worker("the recorded run",
                {bin_folder(ISOBAR_BIN) + "/bench_telemetry_worker", folder.path().string()}, {},
                folder / "worker.log", kPatience_s);
  BenchRow share{"share of a step of cpu_tiny", "%", {}, kMostShare_percent};
  BenchRow cost{"recording a step, between steps of cpu_tiny", "us", {}, 0};
  BenchRow begin{"  begin_step", "us", {}, 0};
  BenchRow enter{"  five times enter", "us", {}, 0};
  BenchRow finish{"  finish: stream line, summary, board", "us", {}, 0};
  BenchRow step{"the step, with it", "ms", {}, 0};
  BenchRow alone{"recording a step, one after the other", "us", {}, 0};
  BenchRow processor{"processor time of it, writing included", "us", {}, 0};
  worker.ask("alone 100", kPatience_s);
  const nlohmann::json first = worker.ask("training 3", kPatience_s);  // warm-up, and how long a step takes
  const int most_steps = report.quick() ? 10 : 40;
  const int steps = std::clamp(static_cast<int>(kBlock_us / first["step"].get<double>()), 10, most_steps);
  const std::int64_t begin_us = steady_us();
  for (int repeat = 0; repeat < repeats; ++repeat) {
    if (repeat >= kFewestRepeats && steady_us() - begin_us > kAll_us) break;
    const nlohmann::json a = worker.ask(fmt::format("training {}", steps), kPatience_s);
    begin.values.push_back(a["begin"]);
    enter.values.push_back(a["enter"]);
    finish.values.push_back(a["finish"]);
    cost.values.push_back(begin.values.back() + enter.values.back() + finish.values.back());
    step.values.push_back(a["step"].get<double>() * 1e-3);
    share.values.push_back(100 * cost.values.back() / a["step"].get<double>());
    const nlohmann::json b = worker.ask(fmt::format("alone {}", 100 * steps), kPatience_s);
    alone.values.push_back(b["record"]);
    processor.values.push_back(b["processor"]);
  }
  for (const BenchRow& row : {share, cost, begin, enter, finish, step, alone, processor}) report.add(row);
}

int run(int argc, char** argv) {
  OptionParser parser("What it costs to record a step", "./isobar bench telemetry");
  BenchReport report("telemetry", parser);
  int repeats = 15;
  const OptionParser::Option option = parser.add("--repeats", repeats, "blocks of steps").in_range(1, 1000);
  if (!report.parse(argc, argv)) return 0;
  if (report.quick() && !option.given()) repeats = 3;
  report.begin();
  measure(report, repeats);
  return report.finish();
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("isobar bench telemetry", [&] { return run(argc, argv); });
}
