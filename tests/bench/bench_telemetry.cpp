// ./isobar bench telemetry: what it costs to record a step, beside the step that is recorded.
#include <fmt/format.h>

#include "bench/bench_report.h"
#include "bench/worker.h"
#include "core/error.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

constexpr int kPatience_s = 300;
constexpr double kMostShare_percent = 1;

void measure(BenchReport& report, int repeats, int steps) {
  const TempFolder folder;
  Worker worker("the recorded run",
                {std::string(ISOBAR_BIN) + "/bench_telemetry_worker", folder.path().string()}, {},
                folder / "worker.log", kPatience_s);
  BenchRow share{"share of a step of cpu_tiny", "%", {}, kMostShare_percent};
  BenchRow cost{"recording a step, between steps of cpu_tiny", "us", {}, 0};
  BenchRow begin{"  begin_step", "us", {}, 0};
  BenchRow enter{"  five times enter", "us", {}, 0};
  BenchRow finish{"  finish: stream line, summary, board", "us", {}, 0};
  BenchRow step{"the step, with it", "ms", {}, 0};
  BenchRow alone{"recording a step, one after the other", "us", {}, 0};
  BenchRow processor{"processor time of it, writing included", "us", {}, 0};
  worker.ask(fmt::format("training {}", steps), kPatience_s);  // warm-up
  worker.ask("alone 100", kPatience_s);
  for (int repeat = 0; repeat < repeats; ++repeat) {
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
  CLI::App parser("What it costs to record a step", "./isobar bench telemetry");
  BenchReport report("telemetry", parser);
  int repeats = 15;
  CLI::Option* option =
      parser.add_option("--repeats", repeats, "blocks of steps")->check(CLI::Range(1, 1000));
  if (!parse_bench(parser, "telemetry", argc, argv)) return 0;
  if (report.quick() && option->count() == 0) repeats = 3;
  const MachineWatch watch;
  measure(report, repeats, report.quick() ? 10 : 40);
  report.finish(watch);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("isobar bench telemetry", [&] { return run(argc, argv); });
}
