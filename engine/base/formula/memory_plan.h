#pragma once
// What a configuration will take of memory on one rank, and what would take less: without a tensor, so that a
// run which cannot fit is refused before anything is made for it.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"
#include "config/lesson.h"
#include "formula/vit_memory.h"

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
  bool joins_batches = false;     ///< the micro-batches of a step lie in one batch, beside the loader's
  std::uint64_t program_bytes = 0;  ///< what the program takes by itself; 0 = what it usually does
};

/// Facts of a run on such a device, with a mode of amp.mode; "mixed" as it will be decided there.
MemoryFacts memory_facts(const Config& config, bool on_cuda);

/// What acts in the lesson: a key that it does not honour leaves its piece plain.
Config as_honoured(const LessonInfo& lesson, Config config);

/// The form of the step whose bytes formula/vit_memory.h counts.
TrainingForm training_form(const Config& config, const MemoryFacts& facts);

/// Predicted bytes of one rank at its peak.
struct MemoryPlan {
  std::uint64_t weights = 0, gradients = 0, moments = 0;
  std::uint64_t buffers = 0;    ///< the model's, and messages that gradients are copied into
  std::uint64_t in_flight = 0;  ///< weights and gradients that are whole for a while; messages of a pipeline
  std::uint64_t activations = 0;
  std::uint64_t attention = 0;  ///< N x N matrices
  std::uint64_t working = 0;    ///< backward pass and optimizer
  std::uint64_t batches = 0;    ///< slots of loaders, and on a CPU what data sets hold
  std::uint64_t program = 0;  ///< libraries, their pools, gaps of the heap, and on a CUDA device its context
  std::uint64_t host = 0;     ///< states in host memory, no part of the total: on a CPU beside it

  std::uint64_t state() const { return weights + gradients + moments; }
  std::uint64_t total() const {
    return state() + buffers + in_flight + activations + attention + working + batches + program;
  }
  /// Name and bytes of those that take any.
  std::vector<std::pair<std::string, std::uint64_t>> categories() const;
  /// "18.2 GB: weights 0.6, gradients 0.6, ..."
  std::string text() const;
};

/// With a lesson, keys that it does not honour have no effect; without one all of `config` has. Of a pipeline
/// the rank that holds most. Error (exit code 2) for a mesh.schedule_file that is no schedule.
MemoryPlan plan_memory(const LessonInfo& lesson, const Config& config, const MemoryFacts& facts);
MemoryPlan plan_memory(const Config& config, const MemoryFacts& facts);

/// One for each rank of a pipeline (mesh.pp), in their order.
std::vector<MemoryPlan> plans_of_pipeline(const LessonInfo& lesson, const Config& config,
                                          const MemoryFacts& facts);
std::vector<MemoryPlan> plans_of_pipeline(const Config& config, const MemoryFacts& facts);

}  // namespace isobar
