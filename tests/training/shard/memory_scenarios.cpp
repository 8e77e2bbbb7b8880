// What a rank holds, counted by an allocator of the test's own.
#include <c10/core/CPUAllocator.h>

#include <atomic>
#include <utility>

#include "shard/shard_world.h"
#include "support/rank_scenarios.h"

namespace isobar::memory_scenarios {

using namespace isobar::testing;

namespace {

/// Bytes that tensors hold now, and held at most.
class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    auto* const block = new Block{this, usual_->allocate(bytes), bytes};
    now_ += static_cast<std::int64_t>(bytes);
    most_ = std::max<std::int64_t>(most_, now_);
    return {block->data.get(), block, &free, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
  std::int64_t now() const { return now_; }
  std::int64_t take_most() { return std::exchange(most_, now_); }

 private:
  struct Block {
    CountingAllocator* owner;
    c10::DataPtr data;
    std::size_t bytes;
  };
  static void free(void* context) {
    const std::unique_ptr<Block> block(static_cast<Block*>(context));
    block->owner->now_ -= static_cast<std::int64_t>(block->bytes);
  }
  c10::Allocator* usual_ = c10::GetDefaultCPUAllocator();
  std::atomic<std::int64_t> now_ = 0;
  std::int64_t most_ = 0;
};

constexpr VitShape kWide = {
    .height = 8, .width = 8, .channels = 2, .patch = 4, .embed = 96, .depth = 6, .heads = 2};

struct Measured {
  double rest = 0;  ///< bytes between steps
  double peak = 0;  ///< at most in a step, above these
};

Measured measure(CountingAllocator& memory, Comm& comm, const Config& config) {
  const std::int64_t before = memory.now();
  SharedModel model(kWide, config.fusion, comm, config);
  FusedAdam adam(model.parameters, config.optim, config.fusion);
  GradScaler scaler(config.amp, at::kCPU);
  const at::Tensor image = made_up_fields(kWide, 1, 3);
  std::int64_t most = 0;
  for (int step = 0; step < 3; ++step) {  // in the second one lesson 06 lays its buckets out
    memory.take_most();
    model.states.zero_gradients();
    model.states.begin();
    model.states.backward(model.loss(image, image));
    model.states.finish();
    most = memory.take_most();
    adam.step(1e-3, scaler);
    model.states.gather_weights();
  }
  const auto images = static_cast<std::int64_t>(image.nbytes());
  const std::int64_t rest = memory.now() - before - images;
  return {static_cast<double>(rest), static_cast<double>(most - before - images - rest)};
}

/// States between steps against their formulas, and what comes and goes in a step. memory
int run_memory(const std::vector<std::string>& words) {
  static CountingAllocator memory;
  c10::SetCPUAllocator(&memory, /*priority=*/200);
  Config config = ShardSetting(words).config;
  config.comm.bucket_mb = 0.4;  // a block
  Comm comm = joined(config.comm);
  Findings findings;
  const double n = comm.size();
  const auto y = static_cast<double>(count_of(PlainModel(kWide).parameters));
  const double block = 12.0 * 96 * 96 * 4;  // bytes of its matrices
  const double states[] = {16 * y, (8 + 8 / n) * y, (4 + 12 / n) * y, 16 * y / n};
  // Above them: two buckets of gradients; those, and weights of two blocks that compute and one that comes.
  const double passing[] = {0, 0, 2 * block, 5 * block};
  Measured plain;
  for (std::int64_t stage = 0; stage < 4; ++stage) {
    config.mesh.zero = stage;
    const Measured found = measure(memory, comm, config);
    const auto at = static_cast<std::size_t>(stage);
    if (stage == 0) plain = found;
    findings.check(
        std::fabs(found.rest / states[at] - 1) < 0.03,
        fmt::format("stage {}: {:.0f} bytes of states, not {:.0f}", stage, found.rest, states[at]));
    const double passed = found.peak - plain.peak;
    findings.check(
        passed <= passing[at] * 1.1 + 0.1 * block,
        fmt::format("stage {}: {:.2f} blocks pass, not {:.2f}", stage, passed / block, passing[at] / block));
    findings.check(stage < 2 || passed > 0.5 * block, fmt::format("stage {}: nothing passes", stage));
  }
  return findings.count();
}

const AddScenario add_memory{"memory", run_memory};

}  // namespace
}  // namespace isobar::memory_scenarios
