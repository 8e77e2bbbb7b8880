// ./isobar bench ddp: our data-parallel step beside PyTorch's DistributedDataParallel, both over Gloo between
// two processes of one thread each, with the same weights and batches. Equality first; then blocks of steps
// in turn, one side asleep while the other is timed.
#include <fmt/format.h>

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
  int pairs = 20;
  bool python = true;
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

void measure(const Case& wanted, const Options& options, DdpSide& ours, DdpSide& peer, BenchReport& report) {
  const std::string backend = ours.ask(wanted.ours).front()["backend"];
  if (wanted.ours.find(" " + backend + " ") == std::string::npos) {
    report.say(wanted.name + ": left out, the backend here is " + backend);
    return;
  }
  std::string form;
  if (wanted.peer.empty())
    form = set_up_quicker_form(peer);
  else
    peer.ask(wanted.peer);
  PairedRow row;
  row.name = wanted.name;
  row.unit = "ms";
  row.peer_name = wanted.peer_name + form;
  row.least_ratio = wanted.least_ratio;
  compare_sides(row, wanted.tolerance, {options.pairs, report.quick()}, {ours, peer}, report);
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
  const Json sheet = ddp_sheet(options.preset);
  const fs::path peers = options.python ? require_peers("ddp") : fs::path();
  report.begin();
  const TempFolder folder;
  const TempFolder other;  // its files are written by ranks of ours too
  for (const fs::path& at : {folder.path(), other.path()}) write_file_whole(at / "case.json", sheet.dump());
  {
    const auto ours = our_ddp_side("our side", folder.path());
    const auto python = options.python ? python_ddp_side(folder.path(), peers) : nullptr;
    const auto others = our_ddp_side("our other ranks", other.path());
    for (const Case& wanted : kCases) {
      if (wanted.peer.empty() && !python) continue;
      measure(wanted, options, *ours, wanted.peer.empty() ? *python : *others, report);
    }
  }
  return report.finish();
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("isobar bench ddp", [&] { return run(argc, argv); });
}
