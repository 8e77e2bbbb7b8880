// ./isobar bench pipeline: the step of lesson 15, one model cut by depth over ranks, beside PyTorch's
// torch.distributed.pipelining. Processes of one thread each, with the same weights, batches, micro-batches
// and schedule. Equality first; then blocks of steps in turn, one side asleep while the other is timed. One
// process a side with the same micro-batches comes first: what the models differ by.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "bench/ddp_sides.h"
#include "bench/peers.h"
#include "pipeline/schedule.h"
#include "support/tolerance_values.h"

using namespace isobar;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

const char* const kPeer = "pipeline_peer.py";
constexpr int kSlowRanks = 4;  // from here on few pairs: ranks share cores

struct Options {
  std::string preset = "cpu_tiny";
  std::vector<int> ranks = {};
  std::vector<int> parts = {};
  int batch = 16;
  int blocks = 8;
  int pairs = 20;
};

struct Case {
  PipelineForm form;
  std::string backend;
  int stages_a_rank = 1;
};

const std::vector<Case> kCases = {{PipelineForm::one_f_one_b, "gloo"},
                                  {PipelineForm::one_f_one_b, "ring"},
                                  {PipelineForm::gpipe, "gloo"},
                                  {PipelineForm::interleaved, "gloo", 2},
                                  {PipelineForm::zb_h1, "gloo"}};

/// Error (exit code 1) unless PyTorch's ranks work in the order of ours. Empty: not known.
void require_equal_order(const std::string& name, const Json& theirs, const PipelineSchedule& ours) {
  std::vector<std::vector<std::string>> cells;
  for (const std::vector<PipelineAction>& row : ours.ranks) {
    cells.emplace_back();
    for (const PipelineAction& action : row) cells.back().push_back(cell_of(action));
  }
  const Json wanted = cells;
  if (!theirs.empty() && theirs != wanted)
    throw Error("the two sides work in different orders; nothing was timed",
                fmt::format("{}: ours {}; peer {}", name, wanted.dump(), theirs.dump()),
                "tests/bench/README.md lists which orders are compared", Exit::failed);
}

/// One process a side, which has all of the model: no pipeline, but its micro-batches.
PairedRow measure_alone(int parts, const Options& options, const DdpSides& sides, BenchReport& report) {
  PairedRow row;
  row.name = fmt::format("one process, {} micro-batches", parts);
  row.unit = "ms";
  row.peer_name = "PyTorch 2.11.0";
  sides.ours.ask(fmt::format("reset fused gloo buckets pipeline 1f1b {} 1", parts));
  sides.peer.ask(fmt::format("reset none {} {}", parts, options.blocks));
  compare_sides(row, kLossFused, {options.pairs, report.quick()}, sides, report);
  return row;
}

void measure(const Case& wanted, int ranks, int parts, const Options& options, const DdpSides& sides,
             const PairedRow& alone, BenchReport& report) {
  const PipelineSchedule schedule = make_schedule(wanted.form, ranks, wanted.stages_a_rank, parts);
  std::vector<std::int64_t> ends;
  for (const StageBlocks& stage : blocks_of_stages(options.blocks, schedule.stages))
    ends.push_back(stage.end);
  PairedRow row;
  row.name = fmt::format("{}{}, {} ranks, {} micro-batches", name_of(wanted.form),
                         wanted.backend == "ring" ? " (ring)" : "", ranks, parts);
  row.unit = "ms";
  row.peer_name = "torch.distributed.pipelining 2.11.0, gloo";
  row.least_ratio = 1;
  const std::string form = std::string(name_of(wanted.form));
  const std::string backend = sides.ours
                                  .ask(fmt::format("reset fused {} buckets pipeline {} {} {}", wanted.backend,
                                                   form, parts, wanted.stages_a_rank))
                                  .front()["backend"];
  if (backend != wanted.backend) {
    report.say(row.name + ": left out, the backend here is " + backend);
    return;
  }
  const Json answer =
      sides.peer.ask(fmt::format("reset {} {} {}", form, parts, fmt::join(ends, ","))).front();
  require_equal_order(row.name, answer["order"], schedule);
  const int pairs = ranks < kSlowRanks ? options.pairs : std::min(options.pairs, 5);
  compare_sides(row, kLossFused, {pairs, report.quick() || ranks >= kSlowRanks}, sides, report, &alone);
}

/// What both sides train.
Json sheet_of(const Options& options) {
  Json sheet = ddp_sheet(options.preset, 1);
  sheet["batch"] = options.batch;
  sheet["depth"] = options.blocks;
  sheet["whole_batches"] = true;
  return sheet;
}

/// Error (exit code 2) where the numbers do not suit each other.
void check_numbers(const Options& options, int ranks) {
  for (const int parts : options.parts) {
    if (options.batch % parts != 0)
      throw Error(fmt::format("a batch of {} cannot be cut in {} micro-batches", options.batch, parts),
                  "--batch, --parts", "--batch 16 --parts 4");
    if (parts < ranks)
      throw Error(fmt::format("PyTorch's 1F1B takes at least {} micro-batches with {} ranks, not {}", ranks,
                              ranks, parts),
                  "--parts, --ranks", fmt::format("--parts {}", ranks));
    for (const Case& wanted : kCases) make_schedule(wanted.form, ranks, wanted.stages_a_rank, parts);
  }
  for (const Case& wanted : kCases)
    if (ranks * wanted.stages_a_rank > options.blocks)
      throw Error(fmt::format("{} blocks are too few for {} ranks with {} stages each", options.blocks, ranks,
                              wanted.stages_a_rank),
                  "--blocks, --ranks", "--blocks 8");
}

int run(int argc, char** argv) {
  Options options;
  OptionParser parser(
      "Our pipeline's step beside PyTorch's torch.distributed.pipelining: 1 thread a process, gloo",
      "./isobar bench pipeline");
  BenchReport report("pipeline", parser);
  parser.add("--preset", options.preset, "whose sizes, but for batch and depth; cpu_tiny");
  parser.add("--ranks", options.ranks, "processes, again and again; 2 and 4, and before them one")
      .in_range(2, 64);
  parser.add("--parts", options.parts, "micro-batches, again and again; 4 and 8").in_range(1, 1024);
  parser.add("--batch", options.batch, "samples of a step").in_range(1, 1024);
  parser.add("--blocks", options.blocks, "depth of the model").in_range(1, 256);
  const OptionParser::Option pairs =
      parser.add("--pairs", options.pairs, "blocks of each side; at most 5 with 4 ranks and more")
          .in_range(1, 1000);
  if (!report.parse(argc, argv)) return 0;
  if (report.quick() && !pairs.given()) options.pairs = 3;
  if (options.ranks.empty()) options.ranks = {2, 4};
  if (options.parts.empty()) options.parts = {4, 8};
  const Json sheet = sheet_of(options);  // refuses before anything starts
  for (const int ranks : options.ranks) check_numbers(options, ranks);
  const fs::path peers = require_peers("pipeline");
  report.begin();
  std::map<int, PairedRow> alone;
  with_ddp_sides(sheet, 1, peers, kPeer, [&](const DdpSides& sides) {
    for (const int parts : options.parts) alone[parts] = measure_alone(parts, options, sides, report);
  });
  for (const int ranks : options.ranks)
    with_ddp_sides(sheet, ranks, peers, kPeer, [&](const DdpSides& sides) {
      for (const Case& wanted : kCases)
        for (const int parts : options.parts)
          measure(wanted, ranks, parts, options, sides, alone.at(parts), report);
    });
  return report.finish();
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("isobar bench pipeline", [&] { return run(argc, argv); });
}
