// ./isobar bench context: the step of lesson 16, one model whose tokens ranks share, beside the same in
// PyTorch over Gloo: all-gather of keys and values, ring attention, and all-to-all over heads. PyTorch's own
// context parallel has no form for processors, so the peer is written out (peers/context_peer.py), with the
// attention operator of libtorch on both sides. Processes of one thread each, with the same weights and
// batches. Equality first; then blocks of steps in turn, one side asleep while the other is timed. One
// process a side comes first: what the models differ by.
#include <fmt/format.h>

#include "bench/ddp_sides.h"
#include "bench/peers.h"
#include "config/choices.h"
#include "support/tolerance_values.h"

using namespace isobar;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

const char* const kPeer = "context_peer.py";
constexpr int kManyRanks = 4;  // from here on few pairs: ranks share cores

struct Options {
  std::string preset = "cpu_attn";
  std::vector<int> ranks = {};
  int batch = 2;
  int heads = 12;
  int pairs = 20;
};

struct Case {
  ContextForm way;
  std::string backend;
};

const std::vector<Case> kCases = {{ContextForm::gather, "gloo"}, {ContextForm::ring, "gloo"},
                                  {ContextForm::a2a, "gloo"},    {ContextForm::gather, "ring"},
                                  {ContextForm::ring, "ring"},   {ContextForm::a2a, "ring"}};

/// One process a side, which has all tokens.
PairedRow measure_alone(const Options& options, const DdpSides& sides, BenchReport& report) {
  PairedRow row;
  row.name = "one process";
  row.unit = "ms";
  row.peer_name = "PyTorch 2.11.0";
  sides.ours.ask("reset fused gloo buckets context gather");
  sides.peer.ask("reset none");
  compare_sides(row, kLossFused, {options.pairs, report.quick()}, sides, report);
  return row;
}

void measure(const Case& wanted, int ranks, const Options& options, const DdpSides& sides,
             const PairedRow& alone, BenchReport& report) {
  PairedRow row;
  row.name = fmt::format("{}{}, {} ranks", name_of(wanted.way),
                         wanted.backend == "ring" ? " (shared memory)" : "", ranks);
  row.unit = "ms";
  row.peer_name = "PyTorch 2.11.0, gloo";
  row.least_ratio = 1;
  const std::string backend =
      sides.ours.ask(fmt::format("reset fused {} buckets context {}", wanted.backend, name_of(wanted.way)))
          .front()["backend"];
  if (backend != wanted.backend) {
    report.say(row.name + ": left out, the backend here is " + backend);
    return;
  }
  sides.peer.ask(fmt::format("reset {}", name_of(wanted.way)));
  const bool few = ranks >= kManyRanks;
  compare_sides(row, kLossFused, {few ? std::min(options.pairs, 5) : options.pairs, report.quick() || few},
                sides, report, &alone);
}

/// What both sides train. Error (exit code 2) for heads that do not divide the width.
Json sheet_of(const Options& options) {
  Json sheet = ddp_sheet(options.preset, 1);
  sheet["batch"] = options.batch;
  sheet["heads"] = options.heads;
  sheet["whole_batches"] = true;
  if (sheet["embed"].get<int>() % options.heads != 0)
    throw Error(
        fmt::format("a width of {} cannot be split into {} heads", sheet["embed"].get<int>(), options.heads),
        "--heads", "--heads 12");
  return sheet;
}

int run(int argc, char** argv) {
  Options options;
  OptionParser parser(
      "Our context parallel step beside gather, ring and all-to-all in PyTorch: 1 thread a process",
      "./isobar bench context");
  BenchReport report("context", parser);
  parser.add("--preset", options.preset, "whose sizes, but for batch and heads; cpu_attn");
  parser.add("--ranks", options.ranks, "processes, again and again; 2 and 4, and before them one")
      .in_range(2, 64);
  parser.add("--batch", options.batch, "samples of a step").in_range(1, 1024);
  parser.add("--heads", options.heads, "attention heads, which the ranks divide").in_range(1, 1024);
  const OptionParser::Option pairs =
      parser.add("--pairs", options.pairs, "blocks of each side; at most 5 with 4 ranks and more")
          .in_range(1, 1000);
  if (!report.parse(argc, argv)) return 0;
  if (report.quick() && !pairs.given()) options.pairs = 3;
  if (options.ranks.empty()) options.ranks = {2, 4};
  const Json sheet = sheet_of(options);  // refuses before anything starts
  const int patch = sheet["patch"];
  const int tokens = sheet["height"].get<int>() / patch * (sheet["width"].get<int>() / patch);
  for (const int ranks : options.ranks) {
    if (options.heads % ranks != 0)
      throw Error(fmt::format("{} heads cannot be shared out over {} ranks", options.heads, ranks),
                  "--heads, --ranks", "--heads 12");
    const int each = (tokens + ranks - 1) / ranks;
    if ((ranks - 1) * each >= tokens)
      throw Error(
          fmt::format("{} tokens in shares of {} leave none for the last of {} ranks", tokens, each, ranks),
          "--ranks", fmt::format("--ranks {}", (tokens + each - 1) / each));
  }
  const fs::path peers = require_peers("context");
  report.begin();
  PairedRow alone;
  with_ddp_sides(sheet, 1, peers, kPeer,
                 [&](const DdpSides& sides) { alone = measure_alone(options, sides, report); });
  for (const int ranks : options.ranks)
    with_ddp_sides(sheet, ranks, peers, kPeer, [&](const DdpSides& sides) {
      for (const Case& wanted : kCases) measure(wanted, ranks, options, sides, alone, report);
    });
  return report.finish();
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("isobar bench context", [&] { return run(argc, argv); });
}
