// ./isobar bench zero: the step of lesson 13, whose states ranks share out, beside PyTorch's: FSDP2, and DDP
// with ZeroRedundancyOptimizer. Processes of one thread each, with the same weights and batches. Equality
// first; then blocks of steps in turn, one side asleep while the other is timed; then what each rank held.
#include <fmt/format.h>

#include <algorithm>

#include "bench/ddp_sides.h"
#include "bench/peers.h"
#include "core/files.h"
#include "support/temp_folder.h"
#include "support/tolerance_values.h"

using namespace isobar;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

struct Options {
  std::string preset = "cpu_tiny";
  std::vector<int> ranks = {};
  int pairs = 20;
};

struct Case {
  std::string name;
  std::string ours;  ///< command that sets our side up
  std::string kind;  ///< what PyTorch's side is set up as
  std::string peer_name;
};

const std::string kFsdp = "FSDP2 2.11.0, gloo";
const std::vector<Case> kCases = {
    {"stage 3", "reset fused gloo buckets zero 3", "reshard", kFsdp},
    {"stage 3 (ring)", "reset fused ring buckets zero 3", "reshard", kFsdp},
    {"stage 2", "reset fused gloo buckets zero 2", "keep", kFsdp + ", weights kept for backward"},
    {"stage 1", "reset fused gloo buckets zero 1", "optimiser", "DDP with ZeroRedundancyOptimizer, gloo"},
};

/// What the rank that holds most has at its peak, without what was there `before`, in megabytes.
double most_MB(const std::vector<OwnMemory>& ranks, const std::vector<OwnMemory>& before) {
  double most = 0;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    most = std::max(most, ranks[rank].peak - (before.empty() ? 0 : before[rank].now));
  return most * 1e-6;
}

/// In new processes, so that peaks are its own.
void measure(const Case& wanted, int ranks, const Options& options, const fs::path& peers,
             BenchReport& report) {
  const TempFolder folder;
  const DdpWire wire{.ranks = ranks};
  write_file_whole(folder.path() / "case.json", ddp_sheet(options.preset, ranks).dump());
  const auto ours = our_ddp_side("our side", folder.path(), wire);
  const std::vector<OwnMemory> ours_before = ours->memory_from_now();
  PairedRow row;
  row.name = fmt::format("{}, {} ranks", wanted.name, ranks);
  row.unit = "ms";
  row.peer_name = wanted.peer_name;
  row.least_ratio = 1;
  const std::string backend = ours->ask(wanted.ours).front()["backend"];
  if (wanted.ours.find(" " + backend + " ") == std::string::npos) {
    report.say(row.name + ": left out, the backend here is " + backend);
    return;
  }
  const auto peer = python_ddp_side(folder.path(), peers, wire, "zero_peer.py");
  const std::vector<OwnMemory> peer_before = peer->memory_from_now();
  peer->ask("reset " + wanted.kind);
  compare_sides(row, kLossFused, {options.pairs, report.quick()}, {*ours, *peer}, report);
  const auto add_memory = [&](const char* what, const std::vector<OwnMemory>& our_part,
                              const std::vector<OwnMemory>& peer_part) {
    PairedRow memory = row;
    memory.name += what;
    memory.unit = "MB";
    memory.ours = {most_MB(ours->memory(), our_part)};
    memory.peer = {most_MB(peer->memory(), peer_part)};
    report.add(memory);
  };
  add_memory(", peak memory", {}, {});
  add_memory(", beyond the start", ours_before, peer_before);
}

int run(int argc, char** argv) {
  Options options;
  OptionParser parser(
      "Our step with sharded states beside PyTorch's FSDP2 and ZeroRedundancyOptimizer: 1 thread a process, "
      "gloo",
      "./isobar bench zero");
  BenchReport report("zero", parser);
  parser.add("--preset", options.preset, "whose sizes; cpu_tiny");
  parser.add("--ranks", options.ranks, "processes, again and again; 2 and 4").in_range(2, 64);
  const OptionParser::Option pairs =
      parser.add("--pairs", options.pairs, "blocks of each side").in_range(1, 1000);
  if (!report.parse(argc, argv)) return 0;
  if (report.quick() && !pairs.given()) options.pairs = 3;
  if (options.ranks.empty()) options.ranks = {2, 4};
  for (const int ranks : options.ranks) ddp_sheet(options.preset, ranks);  // refuses before anything starts
  const fs::path peers = require_peers("zero");
  report.begin();
  for (const int ranks : options.ranks)
    for (const Case& wanted : kCases) measure(wanted, ranks, options, peers, report);
  return report.finish();
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("isobar bench zero", [&] { return run(argc, argv); });
}
