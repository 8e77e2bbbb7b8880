// ./isobar bench fusion: each fused operation of lesson 05 beside the same chain in PyTorch, eager and
// compiled, forward and backward. Equality first; then blocks of runs in turn, one side asleep while the
// other is timed.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

#include "bench/bench_report.h"
#include "bench/case_sheet.h"
#include "bench/fusion_step.h"
#include "bench/peers.h"
#include "bench/worker.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "fields/safetensors.h"
#include "support/bin_folder.h"
#include "support/temp_folder.h"
#include "support/tolerance_values.h"

using namespace isobar;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

constexpr int kPatience_s = 600;  // for one answer of a worker: a compiler works in it
constexpr int kWarmUp = 3;        // first runs of a block: the caches hold the other side's data
constexpr double kBlock_us = 60e3;
constexpr std::int64_t kCase_us = 60'000'000;  // a busy machine gets fewer pairs, not hours
constexpr int kFewestPairs = 3;

constexpr const char* kStep = "step";

/// What is asked of our side against eager PyTorch, and whether activations can have 16 bits.
struct Case {
  std::string name;
  double least_ratio;
  bool has_bf16;
};
const std::vector<Case> kCases = {{"adam", 1.5, false}, {"bias_gelu", 1, true},   {"residual_norm", 1, true},
                                  {"qkv", 1, true},     {"head_loss", 1.5, true}, {"grad_norm", 1, false},
                                  {kStep, 0, false}};

struct Options {
  std::vector<std::string> cases;
  std::string device = "cpu";
  std::string preset;
  int threads = static_cast<int>(std::thread::hardware_concurrency());  // as the affinity mask allows
  int pairs = 15;
  bool compiles = true;
};

std::vector<std::vector<float>> values_in(const fs::path& path) {
  const SafetensorsFile file = open_safetensors(path);
  std::vector<std::vector<float>> out(file.tensors.size());
  for (const TensorInFile& tensor : file.tensors) {
    std::vector<float>& values = out.at(static_cast<std::size_t>(std::stoi(tensor.name)));
    values.resize(tensor.bytes / sizeof(float));
    read_tensor(file, tensor, std::as_writable_bytes(std::span(values)));
  }
  return out;
}

class Bench {
 public:
  Bench(const Options& options, const fs::path& folder, const fs::path& peers, BenchReport& report)
      : options_(options), folder_(folder), peers_(peers), report_(report) {
    const auto sheet = case_sheet(options.preset, options.device, options.threads);
    tokens_ = sheet["batch"].get<double>() * sheet["height"].get<double>() * sheet["width"].get<double>() /
              (sheet["patch"].get<double>() * sheet["patch"].get<double>());
    write_file_whole(folder / "case.json", sheet.dump());
    start();
  }

  void run(const Case& wanted, const std::string& type) {
    const std::string row = type == "f32" ? wanted.name : wanted.name + "_" + type;
    try_to_compare(wanted, type, "eager", row, wanted.least_ratio);
    if (wanted.name == "adam") try_to_compare(wanted, type, "fused", row + ", fused", 0);
    if (options_.compiles) try_to_compare(wanted, type, "compiled", row + ", compiled", 0);
  }

 private:
  void start() {
    ours_ = std::make_unique<Worker>(
        "our side",
        std::vector<std::string>{bin_folder(ISOBAR_BIN) + "/bench_fusion_worker", folder_.string()},
        std::vector<std::string>{}, folder_ / "ours.log", kPatience_s);
    std::vector<std::string> words = peer_words("fusion_peer.py");
    words.push_back(folder_.string());
    std::vector<std::string> environment = peer_environment(peers_);
    // Compiled anew in every bench, and nothing is left behind.
    environment.push_back("TORCHINDUCTOR_CACHE_DIR=" + (folder_ / "compiled").string());
    peer_ = std::make_unique<Worker>("PyTorch's side", words, environment, folder_ / "peer.log", kPatience_s);
  }

  /// What cannot be compared costs no other row; a side that ended is started again.
  void try_to_compare(const Case& wanted, const std::string& type, const std::string& mode,
                      const std::string& name, double least_ratio) {
    try {
      compare(wanted, type, mode, name, least_ratio);
    } catch (const Error& error) {
      report_.refuse(name, peer_name(mode, ""), error);
      ours_.reset();
      peer_.reset();
      start();
    }
  }

  void compare(const Case& wanted, const std::string& type, const std::string& mode, const std::string& name,
               double least_ratio) {
    PairedRow row;
    row.name = name;
    row.unit = "us";
    row.least_ratio = least_ratio;
    row.moved_bytes = ours_->ask(fmt::format("prepare {} {}", wanted.name, type), kPatience_s)["moved_bytes"];
    const nlohmann::json made =
        peer_->ask(fmt::format("prepare {} {} {}", wanted.name, type, mode), kPatience_s);
    row.peer_name = peer_name(mode, made["form"]);
    const double worst = check_equality(name, type);
    if (mode == "compiled")
      report_.say(fmt::format("  {}: the first call took {:.1f} s", name, made["first_s"].get<double>()));
    const int count = block_size();
    const std::int64_t begin_us = steady_us();
    for (int pair = 0; pair < options_.pairs; ++pair) {
      if (pair >= kFewestPairs && steady_us() - begin_us > kCase_us) break;
      row.ours.push_back(block(*ours_, count));
      row.peer.push_back(block(*peer_, count));
    }
    row.floor =
        ours_->ask(fmt::format("copy {}", static_cast<std::int64_t>(row.moved_bytes)), kPatience_s)["us"];
    report_.add(row);
    report_.say(
        fmt::format("    {}; equal to {:.1g}; {} pairs of {} runs; {} moved at {:.1f} GB/s, a copy of as "
                    "much takes {:.3g} us",
                    row.peer_name, worst, row.ours.size(), count,
                    human_bytes(static_cast<std::uint64_t>(row.moved_bytes)),
                    row.moved_bytes / median(row.ours) * 1e-3, row.floor));
  }

  static std::string peer_name(const std::string& mode, const std::string& form) {
    const std::string suffix = form.empty() || mode == "fused" ? "" : ", " + form;
    if (mode == "compiled") return "torch.compile 2.11.0" + suffix;
    return "PyTorch 2.11.0 eager" + (mode == "fused" ? std::string(", fused=True") : suffix);
  }

  /// Every result and gradient of both sides, each against the largest of its tensor; the worst difference.
  double check_equality(const std::string& name, const std::string& type) {
    ours_->ask("write ours.safetensors", kPatience_s);
    peer_->ask("write peer.safetensors", kPatience_s);
    const auto ours = values_in(folder_ / "ours.safetensors");
    const auto peer = values_in(folder_ / "peer.safetensors");
    double worst = ours.size() == peer.size() && !ours.empty() ? 0 : INFINITY;
    for (std::size_t i = 0; i < ours.size() && std::isfinite(worst); ++i)
      worst = std::max(worst, difference(ours[i], peer[i]));
    // A gradient of weights is a sum over all tokens: of n products it is off by about sqrt(n) roundings
    // (Higham and Mary 2019), on each side.
    const double rounding = std::numeric_limits<float>::epsilon() / 2;
    const double allowed =
        type == "f32" ? std::max(kGradient, 2 * std::sqrt(tokens_) * rounding) : kBfloat16Chain;
    if (worst <= allowed) return worst;
    throw Error(fmt::format("results differ by {:.3g} of their largest; nothing was timed", worst),
                fmt::format("{}, asked for: {:.3g}", name, allowed),
                "./build/bin/test_model compares the fused operations with the plain ones", Exit::failed);
  }

  static double difference(const std::vector<float>& ours, const std::vector<float>& peer) {
    if (ours.size() != peer.size()) return INFINITY;
    double largest = 0;
    double worst = 0;
    for (std::size_t i = 0; i < ours.size(); ++i) {
      const auto there = static_cast<double>(peer[i]);
      const double apart = std::abs(static_cast<double>(ours[i]) - there);
      worst = std::isfinite(apart) ? std::max(worst, apart) : INFINITY;
      largest = std::max(largest, std::abs(there));
    }
    return worst == 0 ? 0 : worst / largest;
  }

  int block_size() {
    const double about_us = std::max(block(*ours_, 5), block(*peer_, 5));
    return report_.quick() ? 5 : std::clamp(static_cast<int>(kBlock_us / about_us), 5, 200);
  }

  /// Median of one block's runs, in microseconds.
  static double block(Worker& worker, int count) {
    // Idle OpenMP threads of the other side spin for some milliseconds before they sleep.
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    const std::vector<double> all = worker.ask(fmt::format("run {}", kWarmUp + count), kPatience_s)["us"];
    return median({all.begin() + kWarmUp, all.end()});
  }

  Options options_;
  double tokens_ = 0;  ///< of a batch
  fs::path folder_, peers_;
  BenchReport& report_;
  std::unique_ptr<Worker> ours_, peer_;
};

std::vector<Case> wanted_cases(const std::vector<std::string>& names) {
  if (names.empty()) return kCases;
  std::vector<Case> out;
  for (const std::string& name : names) {
    const auto at = std::find_if(kCases.begin(), kCases.end(), [&](const Case& c) { return c.name == name; });
    if (at == kCases.end()) {
      std::vector<std::string> all;
      for (const Case& c : kCases) all.push_back(c.name);
      throw Error(fmt::format("there is no case \"{}\"", name), "--case",
                  "the cases: " + fmt::format("{}", fmt::join(all, ", ")));
    }
    out.push_back(*at);
  }
  return out;
}

void measure_operations(const Options& options, const std::vector<Case>& cases, const fs::path& peers,
                        BenchReport& report) {
  const auto is_operation = [](const Case& wanted) { return wanted.name != kStep; };
  if (std::none_of(cases.begin(), cases.end(), is_operation)) return;
  const TempFolder folder;
  Bench bench(options, folder.path(), peers, report);
  for (const Case& wanted : cases) {
    if (!is_operation(wanted)) continue;
    bench.run(wanted, "f32");
    if (wanted.has_bf16) bench.run(wanted, "bf16");
  }
}

int run(int argc, char** argv) {
  Options options;
  OptionParser parser(
      "The fused operations of lesson 05 beside the same chains in PyTorch, eager and compiled",
      "./isobar bench fusion");
  BenchReport report("fusion", parser);
  parser.add("--case", options.cases, "operation, again and again; all of them");
  parser.add("--preset", options.preset, "whose sizes; cpu_tiny, on a GPU base");
  parser.add("--device", options.device, "cpu, or cuda");
  parser.add("--threads", options.threads, "of tensor operations, on both sides").in_range(1, 1024);
  const OptionParser::Option pairs =
      parser.add("--pairs", options.pairs, "blocks of each side").in_range(1, 1000);
  parser.flag("!--no-compile", options.compiles, "leave torch.compile out: its first calls take minutes");
  if (!report.parse(argc, argv)) return 0;
  if (options.preset.empty()) options.preset = options.device == "cpu" ? "cpu_tiny" : "base";
  if (report.quick() && !pairs.given()) options.pairs = 3;
  const std::vector<Case> cases = wanted_cases(options.cases);
  case_sheet(options.preset, options.device, options.threads);  // refuse before any work
  const fs::path peers = require_peers("fusion");
  report.begin();
  measure_operations(options, cases, peers, report);
  const auto is_step = [](const Case& wanted) { return wanted.name == kStep; };
  if (std::any_of(cases.begin(), cases.end(), is_step)) {
    const int step_pairs = std::min(options.pairs, 10);
    measure_fused_step({options.preset, options.device, options.threads, step_pairs, options.compiles}, peers,
                       report);
  }
  return report.finish();
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("isobar bench fusion", [&] { return run(argc, argv); });
}
