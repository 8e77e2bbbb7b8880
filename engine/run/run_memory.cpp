// The part of Run that counts memory before anything is built.
#include <fmt/format.h>

#include "core/error.h"
#include "core/fault.h"
#include "core/text.h"
#include "device/memory.h"
#include "formula/vit_memory.h"
#include "run/run.h"

namespace isobar {
namespace {

/// What the program itself takes: its libraries, their pools, and the data set's tables.
constexpr std::uint64_t kProgramBytes = 300'000'000;

/// What is held beside what is kept: results on their way, and gaps of the allocator. Measured
/// (tests/lessons).
constexpr double kTemporaries = 1.25;

/// Batches on a CUDA device: the one in use, and with lesson 03's pipeline two ahead of it and the raw fields
/// of one that is arriving.
std::uint64_t device_batch_bytes(const Config& config) {
  const std::uint64_t batches = config.loader.kind == "gpu" ? 4 : 1;
  const std::int64_t values =
      2 * micro_batch(config) * config.data.channels * config.data.grid[0] * config.data.grid[1];
  return batches * static_cast<std::uint64_t>(values) * sizeof(float);
}

/// What plain attention keeps for the backward pass: softmax(q k^T) of every head, sample and block, [N, N].
std::uint64_t attention_matrix_bytes(const Config& config) {
  if (config.model.attention != "math" && !has_fault(Fault::math_attention)) return 0;
  const VitShape shape = vit_shape(config);
  const std::int64_t matrices = micro_batch(config) * shape.depth * shape.heads;
  return static_cast<std::uint64_t>(matrices * shape.tokens() * shape.tokens()) * sizeof(float);
}

}  // namespace

void Run::check_memory() {
  const Config& config = loaded_.config;
  const TrainingBytes bytes = count_training_bytes(vit_shape(config), micro_batch(config));
  const double computes = config.run.measure == "io" ? 0 : kTemporaries;
  const auto activations = static_cast<std::uint64_t>(static_cast<double>(bytes.activations) * computes);
  const std::uint64_t batches = device_.is_cuda() ? device_batch_bytes(config) : 0;
  const std::uint64_t attention = config.run.measure == "io" ? 0 : attention_matrix_bytes(config);
  const std::uint64_t own =
      bytes.state + activations + attention + batches + (device_.is_cpu() ? kProgramBytes : 0);
  // On a processor all ranks of the machine take it from the same memory.
  const auto takers = static_cast<std::uint64_t>(device_.is_cpu() ? ranks_.local_world : 1);
  const std::uint64_t wanted = own * takers;
  const FreeAndTotal memory = memory_now(device_);
  if (memory.total_bytes == 0 || wanted <= static_cast<std::uint64_t>(memory.free_bytes)) {
    if (device_.is_cuda()) return;
    training_memory_ = std::make_unique<MemoryPromise>();  // data and loaders come first, and must leave it
    return training_memory_->add(wanted);
  }
  throw Error(
      fmt::format(
          "training would take about {} of memory{} ({} for weights and optimiser, {} for activations{}{}), "
          "and {} of {} are free",
          human_bytes(wanted),
          takers > 1 ? fmt::format(" in {} ranks, each {}", takers, human_bytes(own)) : "",
          human_bytes(bytes.state), human_bytes(activations),
          attention > 0 ? fmt::format(", {} for attention's N x N matrices", human_bytes(attention)) : "",
          batches > 0 ? fmt::format(", {} for batches", human_bytes(batches)) : "",
          human_bytes(static_cast<std::uint64_t>(memory.free_bytes)),
          human_bytes(static_cast<std::uint64_t>(memory.total_bytes))),
      fmt::format("{}, data.grid = {} x {}, train.global_batch = {}", device_.str(), config.data.grid[0],
                  config.data.grid[1], config.train.global_batch),
      "a smaller train.global_batch, a smaller preset, or a larger machine");
}

}  // namespace isobar
