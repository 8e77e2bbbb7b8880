#pragma once
// What a configuration will take of memory on one rank, and what would take less: without a tensor, so that a
// run which cannot fit is refused before anything is made for it.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"
#include "config/lesson.h"

namespace isobar {

/// The largest message with which ranks probe their link (comm.probe).
inline constexpr std::uint64_t kMostProbeBytes = std::uint64_t{64} << 20;

/// Bytes of the model's buffers: constant ones, and the running means and variances of norms over the batch.
std::uint64_t model_buffer_bytes(const Config& config);

/// What the memory depends on beside the configuration.
struct MemoryFacts {
  bool on_cuda = false;
  std::int64_t value_bytes = 4;   ///< bytes of an activation: 2 where products take 16 bits
  bool emulates = false;          ///< those 16 bits are widened for each product (device/emulated_products.h)
  bool writes_attention = false;  ///< the N x N matrices of attention are kept
  std::uint64_t program_bytes = 0;  ///< what the program takes by itself; 0 = what it usually does
};

/// Facts of a run on such a device, with a mode of amp.mode; "mixed" as it will be decided there.
MemoryFacts memory_facts(const Config& config, bool on_cuda);

/// Predicted bytes of one rank at its peak.
struct MemoryPlan {
  std::uint64_t weights = 0, gradients = 0, moments = 0;
  std::uint64_t buffers = 0;  ///< the model's, and messages that gradients are copied into
  std::uint64_t activations = 0;
  std::uint64_t attention = 0;  ///< N x N matrices
  std::uint64_t working = 0;    ///< backward pass and optimizer; on a CPU gaps of the heap too
  std::uint64_t batches = 0;    ///< slots of loaders, and on a CPU what data sets hold
  std::uint64_t program = 0;    ///< libraries, their pools, and on a CUDA device its context

  std::uint64_t state() const { return weights + gradients + moments; }
  std::uint64_t total() const {
    return state() + buffers + activations + attention + working + batches + program;
  }
  /// Name and bytes of those that take any.
  std::vector<std::pair<std::string, std::uint64_t>> categories() const;
  /// "18.2 GB: weights 0.6, gradients 0.6, ..."
  std::string text() const;
};

/// With a lesson, keys that it does not honour have no effect; without one all of `config` has.
MemoryPlan plan_memory(const LessonInfo& lesson, const Config& config, const MemoryFacts& facts);
MemoryPlan plan_memory(const Config& config, const MemoryFacts& facts);

/// A change that fits.
struct MemoryFit {
  std::string change;  ///< words of the command line: "--ranks 8 --set mesh.tp=2"
  MemoryPlan plan;
};

/// Changes after which a rank needs at most `limit_bytes`: more backward passes a step, the smallest number
/// of ranks, and the smallest one that splits layers; those of them that this lesson accepts together with
/// the rest of `config`, in this order.
std::vector<MemoryFit> what_would_fit(const LessonInfo& lesson, const Config& config,
                                      const MemoryFacts& facts, std::uint64_t limit_bytes);

/// Error (exit code 2) when run.memory_cap is set and a rank would need more: by category, and what would
/// fit.
void check_memory_cap(const LessonInfo& lesson, const Config& config, const MemoryFacts& facts);

/// Error (exit code 2) when a rank would need more than `limit_bytes`, the memory of `what`: "H200".
void check_memory(const LessonInfo& lesson, const Config& config, const MemoryFacts& facts,
                  std::uint64_t limit_bytes, const std::string& what);

}  // namespace isobar
