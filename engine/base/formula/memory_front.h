#pragma once
// Ways to make a run fit: what each changes, what a rank then needs, and what it costs. More backward passes
// a step, activations that are computed again, states that ranks share out or the host holds, more ranks,
// split layers or shared tokens.
#include <cstdint>
#include <string>
#include <vector>

#include "formula/memory_plan.h"

namespace isobar {

/// One way to train the same batch.
struct MemoryWay {
  std::string change = {};  ///< words of the command line: "--ranks 8 --set mesh.tp=2"; "" = as it is
  std::vector<std::string> keys = {};  ///< keys that differ
  Config config = {};
  MemoryPlan plan = {};
  double computing =
      1;  ///< FLOPs of a step over those of the model: above 1 where something is computed again
};

struct MemoryQuestion {
  const LessonInfo* lesson = nullptr;  ///< its keys alone may change; null = all keys
  Config config;
  MemoryFacts facts;
  std::uint64_t limit_bytes = 0;
};

/// Ways to fit. First those on the ranks that there are, the cheapest first: without offload, least
/// computing, fewest passes, without stage 3; each with as few passes as fit, and none that costs no less and
/// passes no less often than a way with fewer changes. Behind them the smallest number of ranks, the smallest
/// one that splits layers, and the smallest one that shares the tokens.
std::vector<MemoryWay> what_would_fit(const MemoryQuestion& question);

/// States shared out by stage 1, 2 and 3 over `ranks` ranks with as many samples each as now, and nothing
/// else: whether they fit or not.
std::vector<MemoryWay> shared_states_alone(const MemoryQuestion& question, std::int64_t ranks);

/// All ways on the ranks that there are, whatever they need, one for each choice of what is computed again
/// and of a number of passes: the points of a picture of time against memory.
std::vector<MemoryWay> ways_of(const MemoryQuestion& question);

/// Words of the command line that turn `from` into `to`, of the settings that ways differ in.
std::string typed_change(const Config& from, const Config& to);

/// Error (exit code 2) when run.memory_cap is set and a rank would need more: by category, and what would
/// fit.
void check_memory_cap(const LessonInfo& lesson, const Config& config, const MemoryFacts& facts);

/// Error (exit code 2) when a rank would need more than `limit_bytes`, the memory of `what`: "H200".
void check_memory(const LessonInfo& lesson, const Config& config, const MemoryFacts& facts,
                  std::uint64_t limit_bytes, const std::string& what);

}  // namespace isobar
