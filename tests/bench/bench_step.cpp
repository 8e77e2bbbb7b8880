// ./isobar bench step: our training step beside PyTorch's, with the same weights, batches, threads and form
// of Adam. Equality first; then blocks of steps in turn, one side asleep while the other is timed.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "bench/bench_report.h"
#include "bench/case_sheet.h"
#include "bench/peers.h"
#include "bench/step_sides.h"
#include "core/clock.h"
#include "core/error.h"
#include "formula/vit_counts.h"
#include "support/temp_folder.h"

using namespace isobar;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

constexpr double kBlock_s = 0.6;
constexpr std::int64_t kCase_us = 180'000'000;  // a busy machine gets fewer pairs, not hours
constexpr int kFewestPairs = 3;
constexpr const char* kParts[] = {"forward", "backward", "optimize"};

struct Options {
  std::vector<std::string> cases;
  std::string device = "cpu";
  int threads = static_cast<int>(std::thread::hardware_concurrency());  // as the affinity mask allows
  int pairs = 20;
  int beside = 0;
  bool waits = false;
};

/// Other programs: threads that never wait for anything.
class BusyLoops {
 public:
  explicit BusyLoops(int count) {
    for (int i = 0; i < count; ++i)
      loops_.emplace_back([this] {
        while (!is_over_.load(std::memory_order_relaxed)) {
        }
      });
  }
  ~BusyLoops() { is_over_ = true; }

 private:
  std::atomic<bool> is_over_ = false;
  std::vector<std::jthread> loops_;
};

/// Our own step, whose threads wait for one another in one way from beginning to end.
struct FixedWait {
  const char* name;
  const char* variable;
  double least_quiet;   ///< the ratio asked for where nothing else runs; 0 = nothing
  double least_beside;  ///< beside other programs
};
constexpr FixedWait kFixedWaits[] = {{"spinning as OpenMP does by default", "GOMP_SPINCOUNT=300000", 0.97, 0},
                                     {"sleeping at once", "OMP_WAIT_POLICY=passive", 0, 0.8}};

/// Their losses are ours, bit for bit: it is one computation.
std::vector<std::unique_ptr<Worker>> fixed_waits(const fs::path& folder, const Json& sheet,
                                                 StepSides& sides) {
  std::vector<std::unique_ptr<Worker>> out;
  const auto losses = [](Worker& worker) {
    worker.ask("reset", kStepPatience_s);
    return worker.ask("losses 10", kStepPatience_s)["losses"];
  };
  for (const FixedWait& wait : kFixedWaits) {
    const fs::path own = folder / std::to_string(out.size());
    fs::create_directory(own);
    out.emplace_back(new Worker(our_step(own, sheet, {wait.variable})));
    if (losses(*out.back()) != losses(sides.ours))
      throw Error("how threads wait has changed the losses", wait.variable, "nothing was timed",
                  Exit::failed);
  }
  return out;
}

PairedRow peak_memory(StepSides& sides) {
  const auto of = [](Worker& side) {
    return std::vector{side.ask("peak", kStepPatience_s)["bytes"].get<double>() * 1e-6};
  };
  PairedRow out;
  out.ours = of(sides.ours);
  out.peer = of(sides.peer);
  return out;
}

void measure(const std::string& preset, const Options& options, const fs::path& peers, BenchReport& report) {
  const TempFolder folder;
  const Json sheet = case_sheet(preset, options.device, options.threads);
  StepSides sides(folder.path(), sheet, peers);
  const double worst = sides.largest_difference("loop");
  sides.largest_difference("foreach");
  const double about_ms = step_block(sides.ours, 3)["step"];
  const int steps = report.quick() ? 3 : std::clamp(static_cast<int>(kBlock_s * 1e3 / about_ms), 4, 40);
  const std::string form = sides.better_form(steps);
  const std::string peer_name = "PyTorch 2.11.0 eager, Adam " + form;
  const std::string name = options.beside > 0 ? fmt::format("{} beside {}", preset, options.beside) : preset;
  std::vector<std::unique_ptr<Worker>> fixed;
  if (options.waits) fixed = fixed_waits(folder.path(), sheet, sides);
  std::vector<PairedRow> fixed_rows(fixed.size());
  report.say(fmt::format("{}: {} threads, losses of ten steps agree to {:.1g}; {} pairs of {} steps; {}",
                         preset, options.threads, worst, options.pairs, steps, peer_name));
  sides.peer.ask("reset " + form, kStepPatience_s);
  std::map<std::string, PairedRow> rows;
  const double floor_ms = sides.ours.ask("floor", kStepPatience_s)["ms"];
  std::vector<std::function<void()>> turns = {[&] {
                                                for (const auto& [part, ms] : step_block(sides.ours, steps))
                                                  rows[part].ours.push_back(ms);
                                              },
                                              [&] {
                                                for (const auto& [part, ms] : step_block(sides.peer, steps))
                                                  rows[part].peer.push_back(ms);
                                              }};
  for (std::size_t i = 0; i < fixed.size(); ++i)
    turns.emplace_back([&, i] { fixed_rows[i].peer.push_back(step_block(*fixed[i], steps)["step"]); });
  const BusyLoops others(options.beside);
  const std::int64_t begin_us = steady_us();
  for (int pair = 0; pair < options.pairs; ++pair) {
    if (pair >= kFewestPairs && steady_us() - begin_us > kCase_us) {
      report.say(fmt::format("{}: {} pairs within the time that a case has", preset, pair));
      break;
    }
    // Who follows a side that sleeps much finds a slower processor: each begins in its turn.
    for (std::size_t i = 0; i < turns.size(); ++i)
      turns[(i + static_cast<std::size_t>(pair)) % turns.size()]();
  }
  const auto add = [&](PairedRow row, const std::string& of, const std::string& unit) {
    row.name = name + of;
    row.unit = unit;
    if (row.peer_name.empty()) row.peer_name = peer_name;
    report.add(row);
  };
  for (std::size_t i = 0; i < fixed.size(); ++i) {
    fixed_rows[i].ours = rows["step"].ours;
    fixed_rows[i].peer_name = fmt::format("our step, {}", kFixedWaits[i].name);
    fixed_rows[i].least_ratio = options.beside > 0 ? kFixedWaits[i].least_beside : kFixedWaits[i].least_quiet;
    add(fixed_rows[i], fmt::format(", {}", kFixedWaits[i].name), "ms");
  }
  rows["step"].floor = floor_ms;
  rows["step"].least_ratio = 1;
  add(rows["step"], "", "ms");
  for (const char* part : kParts) add(rows[part], fmt::format(", {}", part), "ms");
  add(peak_memory(sides), ", peak memory", "MB");
}

int run(int argc, char** argv) {
  Options options;
  OptionParser parser("Our training step beside PyTorch's: same weights, batches, threads and form of Adam",
                      "./isobar bench step");
  BenchReport report("step", parser);
  parser.add("--case", options.cases, "preset, again and again; cpu_tiny, cpu_small and cpu_micro");
  parser.add("--device", options.device, "cpu, or cuda (then --case base)");
  parser.add("--threads", options.threads, "of tensor operations, on both sides").in_range(1, 1024);
  const OptionParser::Option pairs =
      parser.add("--pairs", options.pairs, "blocks of each side").in_range(1, 1000);
  parser.add("--beside", options.beside, "threads of another program that compute all the time")
      .in_range(0, 1024);
  parser.flag("--waits", options.waits,
              "also beside our own step with threads that always spin, or always sleep, where they wait for "
              "one another");
  if (!report.parse(argc, argv)) return 0;
  if (options.cases.empty() && options.device == "cpu")
    options.cases = {"cpu_tiny", "cpu_small", "cpu_micro"};
  if (options.cases.empty()) options.cases = {"base"};
  if (report.quick() && !pairs.given()) options.pairs = 3;
  for (const std::string& preset : options.cases)
    case_sheet(preset, options.device, options.threads);  // refuse before any work
  const fs::path peers = require_peers("step");
  report.begin();
  for (const std::string& preset : options.cases) measure(preset, options, peers, report);
  return report.finish();
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("isobar bench step", [&] { return run(argc, argv); });
}
