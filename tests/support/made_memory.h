#pragma once
// A step of a made-up model of `blocks` blocks, whose memory is known by count.
#include <filesystem>
#include <string>

#include "core/files.h"
#include "record/memory_timeline.h"
#include "record/run_folder.h"

namespace isobar {

struct MadeMemory {
  int blocks = 4;
  std::uint64_t weights = 2'000'000, block = 3'000'000;
  std::uint64_t kept = 3'000'000;  ///< what each block keeps from forward to backward
  std::int64_t block_us = 1000;
};

/// Forward takes `block` bytes a block and keeps `kept` of them; backward takes 2 MB of workspace and the
/// block's own bytes again, and gives a block back after another. The peak is where backward begins.
inline MemoryTimeline made_memory(const MadeMemory& made = {}) {
  MemoryTimeline out{.step = 2, .device = "cpu", .micro_batches = 1, .program_bytes = 70'000'000};
  MemoryMoment now;
  const auto at = [&](MemoryCategory category) -> std::uint64_t& {
    return now.bytes[static_cast<std::size_t>(category)];
  };
  at(MemoryCategory::weights) = at(MemoryCategory::gradients) = made.weights;
  at(MemoryCategory::moments) = 2 * made.weights;
  at(MemoryCategory::batches) = 500'000;
  for (int i = 0; i < made.blocks; ++i) out.owners.push_back("blocks." + std::to_string(i));
  now.activations.resize(out.owners.size());
  const auto add = [&](std::int64_t us) {
    at(MemoryCategory::activations) = 0;
    for (const std::uint64_t bytes : now.activations) at(MemoryCategory::activations) += bytes;
    out.moments.push_back(now);
    now.at_us += us;
  };
  add(400);
  const std::int64_t forward_us = now.at_us;
  for (int i = 0; i < made.blocks; ++i) {
    now.activations[static_cast<std::size_t>(i)] = made.block;
    add(made.block_us);
    now.activations[static_cast<std::size_t>(i)] = made.kept;
    add(0);
  }
  const std::int64_t backward_us = now.at_us;
  for (int i = made.blocks - 1; i >= 0; --i) {
    at(MemoryCategory::workspace) = 2'000'000;
    now.activations[static_cast<std::size_t>(i)] = made.block;
    add(2 * made.block_us);
    now.activations[static_cast<std::size_t>(i)] = 0;
    add(0);
  }
  at(MemoryCategory::workspace) = 0;
  const std::int64_t optimize_us = now.at_us;
  add(500);
  out.step_us = now.at_us;
  out.stages = {{"load", 0, 300},
                {"copy", 300, forward_us},
                {"forward", forward_us, backward_us},
                {"backward", backward_us, optimize_us},
                {"optimize", optimize_us, out.step_us}};
  out.allocations = 3 * made.blocks;
  out.peak_stage = "backward";
  out.peak_module = out.owners.empty() ? "" : out.owners.back();
  out.largest = {{made.kept, MemoryCategory::activations, "blocks.0.mlp", "forward"},
                 {made.weights, MemoryCategory::weights, "", ""}};
  return out;
}

inline void write_memory(const std::filesystem::path& run, const MemoryTimeline& timeline) {
  write_file_whole(RunFolder{run}.memory_file(timeline.rank), memory_text(timeline));
}

}  // namespace isobar
