// ./isobar bench rungs: the steps of lessons 01, 04, 05 and 08 beside PyTorch's counterparts, eager, with AMP
// and compiled: time to the first step, to step 128, and a step in the long run.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <thread>

#include "bench/bench_report.h"
#include "bench/case_sheet.h"
#include "bench/peers.h"
#include "bench/step_sides.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "support/bin_folder.h"
#include "support/temp_folder.h"
#include "support/tolerance_values.h"

using namespace isobar;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

constexpr double kBlock_ms = 600;
constexpr int kCompared = 10;  // losses that must agree before anything is timed

struct Options {
  std::string preset;
  std::vector<std::int64_t> batches;
  std::vector<std::string> only;
  std::string device = "cpu";
  std::string attention = "auto";
  int threads = static_cast<int>(std::thread::hardware_concurrency());
  int pairs = 10;
  int until = 128;
  bool compile = true;
};

/// One of our rungs beside one form of PyTorch's.
struct Pair {
  std::string name;
  std::string rung;
  std::string mode;
  std::string form;
  std::string peer_name;
  double least_ratio = 0;  ///< of a step in the long run

  bool compiles() const { return form != "eager"; }
  bool needs_cuda() const { return rung == "08" || mode == "tf32" || form == "reduce-overhead"; }
};

/// The quick ones that matter most first: a short slot on a device may end before the last.
const std::vector<Pair>& all_pairs() {
  static const std::vector<Pair> kPairs = {
      {"04-amp", "04", "bf16", "eager", "PyTorch eager, AMP bf16, fused Adam", 1},
      {"05-eager", "05", "bf16", "eager", "PyTorch eager, AMP bf16, fused Adam", 0},
      {"08-eager", "08", "bf16", "eager", "PyTorch eager, AMP bf16, fused Adam", 0},
      {"05-compile", "05", "bf16", "default", "torch.compile, AMP bf16, fused Adam", 1},
      {"08-reduce", "08", "bf16", "reduce-overhead", "torch.compile reduce-overhead, AMP bf16, fused Adam",
       1},
      {"05-autotune", "05", "bf16", "max-autotune", "torch.compile max-autotune, AMP bf16, fused Adam", 1},
      {"01-tf32", "01", "tf32", "eager", "PyTorch eager, TF32", 0},
      {"01-fp32", "01", "none", "eager", "PyTorch eager, fp32", 0},
  };
  return kPairs;
}

std::vector<Pair> chosen_pairs(const Options& options) {
  std::vector<Pair> out;
  for (const Pair& pair : all_pairs()) {
    const bool asked = std::find(options.only.begin(), options.only.end(), pair.name) != options.only.end();
    if (!options.only.empty() && !asked) continue;
    if (asked && pair.needs_cuda() && options.device == "cpu") {
      throw Error(pair.name + " needs a CUDA device", "--only", "--device cuda, or another pair");
    }
    if (pair.needs_cuda() && options.device == "cpu") continue;
    if (pair.compiles() && !options.compile && !asked) continue;
    out.push_back(pair);
  }
  for (const std::string& name : options.only) {
    const auto known = [&](const Pair& pair) { return pair.name == name; };
    if (std::any_of(all_pairs().begin(), all_pairs().end(), known)) continue;
    std::vector<std::string> names;
    for (const Pair& pair : all_pairs()) names.push_back(pair.name);
    throw Error("there is no pair \"" + printable(name, 40) + "\"", "--only", joined(names));
  }
  return out;
}

struct Sides {
  Sides(const fs::path& folder, const Json& sheet, const fs::path& peers)
      : ours("our side", our_command(folder, sheet), {}, folder / "ours.log", kStepPatience_s),
        peer("PyTorch's side", peer_command(folder), peer_environment(peers), folder / "peer.log",
             kStepPatience_s) {}

  static std::vector<std::string> our_command(const fs::path& folder, const Json& sheet) {
    write_file_whole(folder / "case.json", sheet.dump());
    return {bin_folder(ISOBAR_BIN) + "/bench_rungs_worker", folder.string()};
  }
  static std::vector<std::string> peer_command(const fs::path& folder) {
    std::vector<std::string> words = peer_words("rungs_peer.py");
    words.push_back(folder.string());
    return words;
  }

  Worker ours;
  Worker peer;
};

double tolerance(const std::string& mode) {
  if (mode == "bf16") return kLossBf16;
  return mode == "tf32" ? kLossTf32 : kLossFused;
}

/// Starts both on the pair and compares their first losses; rows of the time to the first step.
PairedRow begin(const Pair& pair, const Options& options, Sides& sides) {
  const Json ours =
      sides.ours.ask(fmt::format("start {} {} {}", pair.rung, pair.mode, options.attention), kStepPatience_s);
  const Json peer =
      sides.peer.ask(fmt::format("start {} {} {}", pair.form, pair.mode, options.attention), kStepPatience_s);
  const std::string more = fmt::format("losses {}", kCompared - 1);
  std::vector<double> mine = sides.ours.ask(more, kStepPatience_s)["losses"];
  std::vector<double> theirs = sides.peer.ask(more, kStepPatience_s)["losses"];
  mine.insert(mine.begin(), ours["loss"].get<double>());
  theirs.insert(theirs.begin(), peer["loss"].get<double>());
  for (std::size_t i = 0; i < mine.size(); ++i) {
    const double difference = std::abs(mine[i] - theirs[i]);
    if (difference <= tolerance(pair.mode)) continue;
    throw Error(fmt::format("{}: losses differ by {:.3g} after {} steps; nothing was timed", pair.name,
                            difference, i + 1),
                fmt::format("ours: {:.7g}; PyTorch's: {:.7g}", fmt::join(mine, " "), fmt::join(theirs, " ")),
                "./build/bin/test_train compares the parts with PyTorch's", Exit::failed);
  }
  PairedRow row;
  row.unit = "s";
  row.ours = {ours["s"].get<double>()};
  row.peer = {peer["s"].get<double>()};
  if (pair.compiles()) row.least_ratio = 10;
  return row;
}

void measure(const Pair& pair, const std::string& label, const Options& options, Sides& sides,
             BenchReport& report) {
  const auto add = [&](PairedRow row, const std::string& what) {
    row.name = label + ", " + pair.name + ", " + what;
    row.peer_name = pair.peer_name;
    report.add(row);
  };
  add(begin(pair, options, sides), "first step");
  const std::string until = fmt::format("until {}", options.until);
  const Json ours = sides.ours.ask(until, kStepPatience_s);
  PairedRow whole;
  whole.unit = "s";
  whole.ours = {ours["s"].get<double>()};
  whole.peer = {sides.peer.ask(until, kStepPatience_s)["s"].get<double>()};
  add(whole, fmt::format("to step {}", options.until));
  if (const std::int64_t kernels = ours["kernels"]; kernels > 0)
    report.say(fmt::format("{}, {}: {} kernels in the graph", label, pair.name, kernels));

  const double about_ms = sides.ours.ask("run 3", kStepPatience_s)["ms"];
  const int steps = report.quick() ? 3 : std::clamp(static_cast<int>(kBlock_ms / about_ms), 4, 200);
  PairedRow step, host;
  step.unit = host.unit = "ms";
  for (int i = 0; i < options.pairs; ++i) {
    for (auto [worker, row, host_row] :
         {std::tuple(&sides.ours, &step.ours, &host.ours), std::tuple(&sides.peer, &step.peer, &host.peer)}) {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));  // threads of the other side go to sleep
      worker->ask("run 2", kStepPatience_s);
      const Json times = worker->ask(fmt::format("run {}", steps), kStepPatience_s);
      row->push_back(times["ms"]);
      host_row->push_back(times["host_ms"]);
    }
  }
  step.least_ratio = pair.least_ratio;
  add(step, "step");
  if (options.device != "cpu") add(host, "host time of a step");
}

int run(int argc, char** argv) {
  Options options;
  OptionParser parser("Steps of lessons 01, 04, 05 and 08 beside PyTorch eager, with AMP and compiled",
                      "./isobar bench rungs");
  BenchReport report("rungs", parser);
  parser.add("--preset", options.preset, "size of the model and its fields; base on cuda, else cpu_tiny");
  parser.add("--batch", options.batches, "samples a step, again and again; 16, 1, 2 and 4")
      .in_range(1, 1 << 20);
  parser.add("--only", options.only, "pairs, again and again: 01-fp32, 04-amp, 05-compile, 08-reduce, ...");
  parser.add("--device", options.device, "cpu, or cuda");
  parser.add("--attention", options.attention, "of both sides")
      .one_of({"auto", "math", "flash", "efficient", "cudnn"});
  parser.add("--threads", options.threads, "of tensor operations, on both sides").in_range(1, 1024);
  const OptionParser::Option pairs =
      parser.add("--pairs", options.pairs, "blocks of each side").in_range(1, 1000);
  const OptionParser::Option until =
      parser.add("--until", options.until, "the step to which the time from the start is measured")
          .in_range(kCompared, 1'000'000);
  parser.flag("!--no-compile", options.compile, "leave out what PyTorch compiles: a minute and more each");
  if (!report.parse(argc, argv)) return 0;
  if (options.preset.empty()) options.preset = options.device == "cpu" ? "cpu_tiny" : "base";
  if (options.batches.empty()) options.batches = {16, 1, 2, 4};
  if (report.quick() && !pairs.given()) options.pairs = 3;
  if (report.quick() && !until.given()) options.until = kCompared;
  Json sheet = case_sheet(options.preset, options.device, options.threads);  // refuses before any work
  const std::vector<Pair> chosen = chosen_pairs(options);
  const fs::path peers = require_peers("rungs");
  report.begin();
  for (const std::int64_t batch : options.batches) {
    const TempFolder folder;
    sheet["batch"] = batch;
    const std::string label = fmt::format("{} x {}", options.preset, batch);
    std::optional<Sides> sides;
    for (const Pair& pair : chosen) {
      if (!sides) sides.emplace(folder.path(), sheet, peers);
      try {
        measure(pair, label, options, *sides, report);
      } catch (const Error& error) {
        report.refuse(label + ", " + pair.name, pair.peer_name, error);
        sides.reset();  // one of them may have ended
      }
    }
  }
  return report.finish();
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("isobar bench rungs", [&] { return run(argc, argv); });
}
