// ./isobar bench ddp: our data-parallel step beside PyTorch's DistributedDataParallel, both over Gloo between
// two processes of one thread each, with the same weights and batches. Equality first; then blocks of steps
// in turn, one side asleep while the other is timed.
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
#include "core/error.h"
#include "core/files.h"
#include "support/bin_folder.h"
#include "support/temp_folder.h"
#include "support/tolerance_values.h"

using namespace isobar;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

constexpr int kRanks = 2;
constexpr int kPatience_s = 300;  // for one answer of a worker
constexpr int kWarmUp = 2;        // first steps of a block: the caches hold the other side's data
constexpr double kBlock_ms = 600;
/// What our programs ask of the C library for themselves (device/device.cpp).
const std::vector<std::string> kKeepsFreedMemory = {
    "MALLOC_MMAP_THRESHOLD_=33554432", "MALLOC_TRIM_THRESHOLD_=1073741824", "MALLOC_TOP_PAD_=67108864"};

struct Options {
  std::string preset = "cpu_tiny";
  int pairs = 20;
  bool python = true;
};

/// The ranks of one side.
class Side {
 public:
  Side(const std::string& name, const std::vector<std::string>& words,
       const std::vector<std::string>& environment, const fs::path& folder) {
    for (int rank = 0; rank < kRanks; ++rank) {
      std::vector<std::string> variables = environment;
      for (const std::string& more :
           {fmt::format("RANK={}", rank), fmt::format("LOCAL_RANK={}", rank),
            fmt::format("WORLD_SIZE={}", kRanks), std::string("GLOO_SOCKET_IFNAME=lo"),
            "ISOBAR_MEETING=" + (folder / "meeting").string(), std::string("MASTER_ADDR=127.0.0.1")})
        variables.push_back(more);
      ranks_.push_back(std::make_unique<Worker>(fmt::format("{}, rank {}", name, rank), words, variables,
                                                folder / fmt::format("{}.log", ranks_.size()), kPatience_s));
    }
  }

  /// The answers of all ranks to one command.
  std::vector<nlohmann::json> ask(const std::string& command) {
    for (const auto& rank : ranks_) rank->tell(command);
    std::vector<nlohmann::json> out;
    for (const auto& rank : ranks_) out.push_back(rank->hear(kPatience_s));
    return out;
  }

  std::vector<double> losses() { return ask("losses 10").front()["losses"]; }

  /// Median of one block's steps, each as long as its slowest rank's, in milliseconds.
  double block(int steps) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    std::vector<double> slowest(static_cast<std::size_t>(kWarmUp + steps));
    for (const nlohmann::json& answer : ask(fmt::format("run {}", kWarmUp + steps))) {
      const std::vector<double> times = answer["step"];
      for (std::size_t i = 0; i < slowest.size(); ++i) slowest[i] = std::max(slowest[i], times.at(i));
    }
    return median({slowest.begin() + kWarmUp, slowest.end()}) * 1e-3;
  }

 private:
  std::vector<std::unique_ptr<Worker>> ranks_;
};

/// One comparison: commands that set both sides up, and what is asked for.
struct Case {
  std::string name;
  std::string ours;
  std::string peer;  ///< "" = PyTorch's, else what our other ranks are set to
  std::string peer_name;
  double tolerance;
  double least_ratio;
};

const std::vector<Case> kCases = {
    {"plain model, buckets", "reset plain gloo buckets", "", "DDP 2.11.0, gloo", kLoss, 1},
    {"plain model, reducer", "reset plain gloo reducer", "", "DDP 2.11.0, gloo", kLoss, 0},
    {"lesson 06, buckets", "reset fused gloo buckets", "", "DDP 2.11.0, gloo", kLossFused, 1},
    {"lesson 06, buckets (ring)", "reset fused ring buckets", "", "DDP 2.11.0, gloo", kLossFused, 1},
    {"buckets beside reducer", "reset plain gloo buckets", "reset plain gloo reducer",
     "our ranks with the Reducer", 0, 0.97},
};

double largest_difference(const Case& wanted, Side& ours, Side& peer) {
  const std::vector<double> mine = ours.losses();
  const std::vector<double> theirs = peer.losses();
  double worst = 0;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    const double apart = std::abs(mine[i] - theirs.at(i));
    worst = std::isfinite(apart) ? std::max(worst, apart) : INFINITY;
  }
  if (worst <= wanted.tolerance) return worst;
  throw Error(
      fmt::format("the losses of ten steps differ by {:.3g}; nothing was timed", worst),
      fmt::format("{}: ours {:.9g}; peer {:.9g}", wanted.name, fmt::join(mine, " "), fmt::join(theirs, " ")),
      "./build/bin/test_sync_ranks compares the parts", Exit::failed);
}

std::vector<std::string> our_words(const fs::path& folder) {
  return {bin_folder(ISOBAR_BIN) + "/bench_ddp_worker", folder.string()};
}

/// DDP can copy gradients into its buckets, or have them be views of those: the quicker of both, running.
std::string quicker_form(Side& python) {
  std::string quicker;
  double least_ms = INFINITY;
  for (const char* const form : {"copies", "views", "copies", "views"}) {
    python.ask(fmt::format("reset {}", form));
    const double block_ms = python.block(5);
    if (block_ms >= least_ms) continue;
    least_ms = block_ms;
    quicker = form;
  }
  python.ask("reset " + quicker);
  return quicker;
}

void measure(const Case& wanted, const Options& options, Side& ours, Side& peer, BenchReport& report) {
  const std::string backend = ours.ask(wanted.ours).front()["backend"];
  if (wanted.ours.find(" " + backend + " ") == std::string::npos) {
    report.say(wanted.name + ": left out, the backend here is " + backend);
    return;
  }
  std::string form;
  if (wanted.peer.empty())
    form = quicker_form(peer) == "views" ? ", gradients as views" : ", gradients copied";
  else
    peer.ask(wanted.peer);
  const double worst = largest_difference(wanted, ours, peer);
  const double about_ms = ours.block(3);
  const int steps = report.quick() ? 3 : std::clamp(static_cast<int>(kBlock_ms / about_ms), 4, 60);
  PairedRow row;
  row.name = wanted.name;
  row.unit = "ms";
  row.peer_name = wanted.peer_name + form;
  row.least_ratio = wanted.least_ratio;
  for (int pair = 0; pair < options.pairs; ++pair) {
    row.ours.push_back(ours.block(steps));
    row.peer.push_back(peer.block(steps));
  }
  report.add(row);
  report.say(fmt::format("    losses of ten steps agree to {:.1g}; {} pairs of {} steps", worst,
                         options.pairs, steps));
}

int run(int argc, char** argv) {
  Options options;
  OptionParser parser(
      "Our data-parallel step beside PyTorch's DistributedDataParallel: 2 processes, 1 thread each, gloo",
      "./isobar bench ddp");
  BenchReport report("ddp", parser);
  parser.add("--preset", options.preset, "whose sizes; cpu_tiny");
  parser.flag("!--no-python", options.python, "only what compares ours with ours");
  const OptionParser::Option pairs =
      parser.add("--pairs", options.pairs, "blocks of each side").in_range(1, 1000);
  if (!report.parse(argc, argv)) return 0;
  if (report.quick() && !pairs.given()) options.pairs = 3;
  const Json sheet = case_sheet(options.preset, "cpu", /*threads=*/1);
  if (sheet["batch"].get<int>() % kRanks != 0)
    throw Error(
        fmt::format("a batch of {} cannot be divided over {} ranks", sheet["batch"].get<int>(), kRanks),
        "--preset " + options.preset, "cpu_tiny");
  const fs::path peers = options.python ? require_peers("ddp") : fs::path();
  report.begin();
  const TempFolder folder;
  const TempFolder other;  // its files are written by ranks of ours too
  for (const fs::path& at : {folder.path(), other.path()}) write_file_whole(at / "case.json", sheet.dump());
  {
    Side ours("our side", our_words(folder.path()), {}, folder.path());
    std::unique_ptr<Side> python;
    if (options.python) {
      std::vector<std::string> words = peer_words("ddp_peer.py");
      words.push_back(folder.path().string());
      fs::create_directory(folder / "python");
      std::vector<std::string> variables = peer_environment(peers);
      variables.insert(variables.end(), kKeepsFreedMemory.begin(), kKeepsFreedMemory.end());
      python = std::make_unique<Side>("PyTorch's side", words, variables, folder / "python");
    }
    Side others("our other ranks", our_words(other.path()), {}, other.path());
    for (const Case& wanted : kCases) {
      if (wanted.peer.empty() && !python) continue;
      measure(wanted, options, ours, wanted.peer.empty() ? *python : others, report);
    }
  }
  return report.finish();
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("isobar bench ddp", [&] { return run(argc, argv); });
}
