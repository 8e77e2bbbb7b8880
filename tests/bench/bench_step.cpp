// ./isobar bench step: our training step beside PyTorch's, with the same weights, batches, threads and form
// of Adam. Equality first; then blocks of steps in turn, one side asleep while the other is timed.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <thread>

#include "bench/bench_report.h"
#include "bench/case_sheet.h"
#include "bench/peers.h"
#include "bench/worker.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/text.h"
#include "formula/vit_counts.h"
#include "support/bin_folder.h"
#include "support/temp_folder.h"
#include "support/tolerance_values.h"

using namespace isobar;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

constexpr int kPatience_s = 300;  // for one answer of a worker, on a slow machine
constexpr int kWarmUp = 2;        // first steps of a block: the caches hold the other side's data
constexpr double kBlock_s = 0.6;
constexpr std::int64_t kCase_us = 180'000'000;  // a busy machine gets fewer pairs, not hours
constexpr int kFewestPairs = 3;
constexpr const char* kParts[] = {"forward", "backward", "optimize"};

struct Options {
  std::vector<std::string> cases;
  std::string device = "cpu";
  int threads = static_cast<int>(std::thread::hardware_concurrency());  // as the affinity mask allows
  int pairs = 20;
};

/// Both sides of one case, each in a process of its own, so that its peak memory is its own too.
struct Sides {
  Sides(const fs::path& folder, const fs::path& peers)
      : ours("our side", {bin_folder(ISOBAR_BIN) + "/bench_step_worker", folder.string()}, {},
             folder / "ours.log", kPatience_s),
        peer("PyTorch's side", peer_command(folder), peer_environment(peers), folder / "peer.log",
             kPatience_s) {}

  static std::vector<std::string> peer_command(const fs::path& folder) {
    std::vector<std::string> words = peer_words("step_peer.py");
    words.push_back(folder.string());
    return words;
  }

  Worker ours;
  Worker peer;
};

/// Medians of one block's steps and parts, in milliseconds.
std::map<std::string, double> block(Worker& worker, int steps) {
  // Idle OpenMP threads of the other side spin for some milliseconds before they sleep.
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  const nlohmann::json times = worker.ask(fmt::format("run {}", kWarmUp + steps), kPatience_s);
  std::map<std::string, double> out;
  for (const auto& [part, values] : times.items()) {
    const std::vector<double> all = values;
    out[part] = median({all.begin() + kWarmUp, all.end()}) * 1e-3;
  }
  return out;
}

/// Ten steps from the same weights must give the same losses, or a comparison of speed means nothing.
double largest_difference(Sides& sides, const Json& sheet, const std::string& form) {
  sides.ours.ask("reset", kPatience_s);
  sides.peer.ask("reset " + form, kPatience_s);
  const std::vector<double> ours = sides.ours.ask("losses 10", kPatience_s)["losses"];
  const std::vector<double> peer = sides.peer.ask("losses 10", kPatience_s)["losses"];
  double worst = 0;
  for (std::size_t i = 0; i < 10; ++i) {
    const double difference = std::abs(ours.at(i) - peer.at(i));
    worst = std::isfinite(difference) ? std::max(worst, difference) : INFINITY;
  }
  if (worst > (sheet["tf32"] ? kLossTf32 : kLoss)) {
    throw Error(fmt::format("the losses of ten steps differ by {:.3g}; nothing was timed", worst),
                fmt::format("ours: {:.9g}; PyTorch's: {:.9g}", fmt::join(ours, " "), fmt::join(peer, " ")),
                "./build/bin/test_train compares the parts with PyTorch's", Exit::failed);
  }
  return worst;
}

/// PyTorch offers its plain Adam as a loop over the tensors and as operations over lists of them: the one
/// that is quicker here is the peer.
std::string better_form(Sides& sides, int steps) {
  std::map<std::string, std::vector<double>> times;
  for (int repeat = 0; repeat < 3; ++repeat) {
    for (const char* form : {"loop", "foreach"}) {
      sides.peer.ask(fmt::format("reset {}", form), kPatience_s);
      times[form].push_back(block(sides.peer, steps)["step"]);
    }
  }
  return median(times["loop"]) < median(times["foreach"]) ? "loop" : "foreach";
}

void measure(const std::string& preset, const Options& options, const fs::path& peers, BenchReport& report) {
  const TempFolder folder;
  const Json sheet = case_sheet(preset, options.device, options.threads);
  write_file_whole(folder / "case.json", sheet.dump());
  Sides sides(folder.path(), peers);
  const double worst = largest_difference(sides, sheet, "loop");
  largest_difference(sides, sheet, "foreach");
  const double about_ms = block(sides.ours, 3)["step"];
  const int steps = report.quick() ? 3 : std::clamp(static_cast<int>(kBlock_s * 1e3 / about_ms), 4, 40);
  const std::string form = better_form(sides, steps);
  const std::string peer_name = "PyTorch 2.11.0 eager, Adam " + form;
  report.say(fmt::format("{}: {} threads, losses of ten steps agree to {:.1g}; {} pairs of {} steps; {}",
                         preset, options.threads, worst, options.pairs, steps, peer_name));
  sides.peer.ask("reset " + form, kPatience_s);
  std::map<std::string, PairedRow> rows;
  const std::int64_t begin_us = steady_us();
  for (int pair = 0; pair < options.pairs; ++pair) {
    if (pair >= kFewestPairs && steady_us() - begin_us > kCase_us) {
      report.say(fmt::format("{}: {} pairs within the time that a case has", preset, pair));
      break;
    }
    for (const auto& [part, ms] : block(sides.ours, steps)) rows[part].ours.push_back(ms);
    for (const auto& [part, ms] : block(sides.peer, steps)) rows[part].peer.push_back(ms);
  }
  const auto add = [&](PairedRow row, const std::string& name, const std::string& unit) {
    row.name = name;
    row.unit = unit;
    row.peer_name = peer_name;
    report.add(row);
  };
  if (options.device == "cpu") rows["step"].floor = sides.ours.ask("floor", kPatience_s)["ms"];
  rows["step"].least_ratio = 1;
  add(rows["step"], preset, "ms");
  for (const char* part : kParts) add(rows[part], preset + ", " + part, "ms");
  PairedRow memory;
  memory.ours = {sides.ours.ask("peak", kPatience_s)["bytes"].get<double>() * 1e-6};
  memory.peer = {sides.peer.ask("peak", kPatience_s)["bytes"].get<double>() * 1e-6};
  add(memory, preset + ", peak memory", "MB");
}

int run(int argc, char** argv) {
  Options options;
  CLI::App parser("Our training step beside PyTorch's: same weights, batches, threads and form of Adam",
                  "./isobar bench step");
  BenchReport report("step", parser);
  parser.add_option("--case", options.cases, "preset, again and again; cpu_tiny, cpu_small and cpu_micro");
  parser.add_option("--device", options.device, "cpu, or cuda (then --case base)");
  parser.add_option("--threads", options.threads, "of tensor operations, on both sides")
      ->check(CLI::Range(1, 1024));
  CLI::Option* pairs =
      parser.add_option("--pairs", options.pairs, "blocks of each side")->check(CLI::Range(1, 1000));
  if (!parse_bench(parser, "step", argc, argv)) return 0;
  if (options.cases.empty() && options.device == "cpu")
    options.cases = {"cpu_tiny", "cpu_small", "cpu_micro"};
  if (options.cases.empty()) options.cases = {"base"};
  if (report.quick() && pairs->count() == 0) options.pairs = 3;
  for (const std::string& preset : options.cases)
    case_sheet(preset, options.device, options.threads);  // refuse before any work
  const fs::path peers = require_peers("step");
  const MachineWatch watch;
  for (const std::string& preset : options.cases) measure(preset, options, peers, report);
  report.finish(watch);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("isobar bench step", [&] { return run(argc, argv); });
}
