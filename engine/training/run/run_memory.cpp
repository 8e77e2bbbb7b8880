// The part of Run that counts memory before anything is built.
#include <fmt/format.h>

#include <utility>

#include "core/error.h"
#include "core/fault.h"
#include "core/text.h"
#include "device/memory.h"
#include "run/run.h"

namespace isobar {

void Run::check_memory() {
  const Config& config = loaded_.config;
  MemoryFacts facts = memory_facts(config, device_.is_cuda());
  facts.writes_attention = facts.writes_attention || has_fault(Fault::math_attention);
  constexpr std::uint64_t kPools =
      15'000'000;  // that libraries will take with their first calls (tests/lessons)
  if (device_.is_cpu()) facts.program_bytes = peak_own_bytes() + kPools;
  check_memory_cap(lesson_, config, facts);
  memory_plan_ = plan_memory(config, facts);
  const MemoryPlan& plan = memory_plan_;
  // What the program takes of a CUDA device is taken already; on a CPU loaders ask for their slots
  // themselves.
  const std::uint64_t own = plan.total() - (device_.is_cuda() ? plan.program : plan.batches);
  // On a processor all ranks of the machine take it from the same memory.
  const auto takers = static_cast<std::uint64_t>(device_.is_cpu() ? ranks_.local_world : 1);
  const std::uint64_t wanted = own * takers;
  const FreeAndTotal memory = memory_now(device_);
  if (memory.total_bytes == 0 || wanted <= static_cast<std::uint64_t>(memory.free_bytes)) {
    if (device_.is_cuda()) return;
    training_memory_ = std::make_unique<MemoryPromise>();  // data and loaders come first, and must leave it
    return training_memory_->add(wanted);
  }
  const std::string each = takers > 1 ? fmt::format(" in {} ranks", takers) : "";
  throw Error(
      fmt::format("training would take about {} of memory{}, and {} of {} are free", human_bytes(wanted),
                  each, human_bytes(static_cast<std::uint64_t>(memory.free_bytes)),
                  human_bytes(static_cast<std::uint64_t>(memory.total_bytes))),
      fmt::format("{}, data.grid = {} x {}, train.global_batch = {}; {}{}", device_.str(),
                  config.data.grid[0], config.data.grid[1], config.train.global_batch,
                  takers > 1 ? "each " : "", plan.text()),
      "a smaller train.global_batch, a smaller preset, or a larger machine");
}

void Run::tell_memory_plan() {
  const MemoryPlan& plan = memory_plan_;
  JsonLine note("note");
  note.add("text", "memory");
  for (const auto& [name, bytes] : {std::pair{"weights_bytes", plan.weights},
                                    {"gradients_bytes", plan.gradients},
                                    {"moments_bytes", plan.moments},
                                    {"activations_bytes", plan.activations},
                                    {"attention_bytes", plan.attention},
                                    {"working_bytes", plan.working},
                                    {"batches_bytes", plan.batches},
                                    {"program_bytes", plan.program},
                                    {"predicted_bytes", plan.total()}})
    note.add(name, static_cast<std::int64_t>(bytes));
  stream_->write(note);
  if (honours("run.memory_cap")) console_.line("  memory  predicted for a rank, " + plan.text());
}

}  // namespace isobar
