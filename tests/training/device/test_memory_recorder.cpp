#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <numeric>
#include <thread>

#include "device/cpu_allocator.h"
#include "device/memory.h"
#include "device/memory_recorder.h"
#include "device/operator_watch.h"
#include "fake_plugin.h"
#include "support/catch.h"
#include "support/set_clock.h"

using namespace isobar;

namespace {

std::uint64_t held(const MemoryLedger& ledger, MemoryCategory category) {
  return ledger.held()[static_cast<std::size_t>(category)];
}

std::uint64_t largest_of(const MemoryTimeline& timeline, MemoryCategory category) {
  std::uint64_t out = 0;
  for (const MemoryMoment& moment : timeline.moments) out = std::max(out, moment.of(category));
  return out;
}

/// A step of two blocks: each takes 1,000 bytes that it keeps and 300 that it drops; backward takes 500.
MemoryTimeline made_up_step(MemoryLedger& ledger, SetClock& clock) {
  std::vector<StageInterval> stages;
  const auto stage = [&](Stage which, const auto& body) {
    enter_memory_stage(name_of(which));
    stages.push_back({which, steady_us(), 0});
    body();
    clock.advance_us(10);
    stages.back().end_us = steady_us();
  };
  ledger.begin_record();
  std::vector<BlockTag> kept;
  BlockTag batch;
  stage(Stage::load, [&] { batch = ledger.take(700); });
  stage(Stage::forward, [&] {
    for (const char* const module : {"blocks.0.attn.q", "blocks.1.mlp"}) {
      const std::string name = module;  // it goes with the scope
      const ModuleScope scope(name);
      kept.push_back(ledger.take(1000));
      const BlockTag dropped = ledger.take(300);
      clock.advance_us(5);
      ledger.give_back(dropped);
    }
  });
  stage(Stage::backward, [&] {
    for (; !kept.empty(); kept.pop_back()) {
      const BlockTag work = ledger.take(500);
      clock.advance_us(5);
      ledger.give_back(kept.back());
      ledger.give_back(work);
    }
  });
  stage(Stage::optimize, [&] { ledger.give_back(batch); });
  enter_memory_stage("");
  LedgerRecord record = ledger.end_record();
  const std::uint64_t most = record.peak_bytes;
  MemoryTimeline out = as_timeline(record, stages);
  CHECK(out.peak_bytes() == most);
  return out;
}

}  // namespace

TEST_CASE("a scope decides what a block is for, and a stage where there is none") {
  MemoryLedger ledger;
  const auto taken = [&](std::uint64_t bytes) { return ledger.take(bytes).category; };
  CHECK(taken(1) == MemoryCategory::workspace);
  enter_memory_stage("load");
  CHECK(taken(2) == MemoryCategory::batches);
  enter_memory_stage("forward");
  CHECK(taken(4) == MemoryCategory::activations);
  {
    const ModuleScope loss("loss");
    const BlockTag tag = ledger.take(1 << 20);
    CHECK(tag.category == MemoryCategory::workspace);
    ledger.give_back(tag);
  }
  {
    const MemoryScope outer(MemoryCategory::weights);
    CHECK(taken(8) == MemoryCategory::weights);
    const MemoryScope inner(MemoryCategory::communication);
    CHECK(taken(16) == MemoryCategory::communication);
    std::thread([&] { CHECK(taken(32) == MemoryCategory::activations); }).join();
  }
  enter_memory_stage("backward");
  CHECK(taken(64) == MemoryCategory::workspace);
  {
    const ModuleScope again("blocks.2.mlp.fc1");
    CHECK(taken(128) == MemoryCategory::activations);
    const ModuleScope other("gradient check");
    CHECK(taken(256) == MemoryCategory::workspace);
  }
  enter_memory_stage("comm");
  CHECK(taken(512) == MemoryCategory::communication);
  enter_memory_stage("");
  CHECK(held(ledger, MemoryCategory::activations) == 4 + 32 + 128);
  CHECK(held(ledger, MemoryCategory::communication) == 16 + 512);
  CHECK(ledger.total() == 1023);
  CHECK(ledger.most() == (1 << 20) + 7);
}

TEST_CASE("modules belong to parts of the model") {
  CHECK(owner_of_module("blocks.12.attn.q") == "blocks.12");
  CHECK(owner_of_module("blocks.0") == "blocks.0");
  CHECK(owner_of_module("patch_embed.proj") == "embed");
  CHECK(owner_of_module("norm") == "head");
  CHECK(owner_of_module("head") == "head");
  CHECK(owner_of_module("loss").empty());
  CHECK(owner_of_module("weights").empty());
  CHECK(owner_of_module("").empty());
}

TEST_CASE("a recorded step is counted to the byte") {
  SetClock clock;
  MemoryLedger ledger;
  BlockTag weights;
  {
    const MemoryScope scope(MemoryCategory::weights);
    weights = ledger.take(8000);
  }
  const MemoryTimeline step = made_up_step(ledger, clock);
  CHECK(step.moments.front().of(MemoryCategory::weights) == 8000);
  CHECK(step.moments.front().total() == 8000);
  CHECK(step.moments.back().total() == 8000);
  CHECK(step.owners == std::vector<std::string>{"blocks.0", "blocks.1"});
  // Weights, batch, both blocks' kept, and what backward takes beside them.
  CHECK(step.peak_bytes() == 8000 + 700 + 2000 + 500);
  CHECK(step.peak().activations == std::vector<std::uint64_t>{1000, 1000});
  CHECK(step.peak_stage == "backward");
  CHECK(step.peak_module.empty());
  CHECK(largest_of(step, MemoryCategory::activations) == 2000);
  CHECK(largest_of(step, MemoryCategory::batches) == 700);
  CHECK(largest_of(step, MemoryCategory::workspace) == 500);  // what forward drops is workspace too
  CHECK(step.allocations == 7);
  CHECK(step.micro_batches == 1);
  CHECK(step.stages.size() == 4);
  CHECK(step.stages[1].name == "forward");
  CHECK(step.stages[1].begin_us == 10);
  CHECK(step.stages[1].end_us == 30);
  REQUIRE(step.largest.size() == 5);
  CHECK(step.largest[0].bytes == 8000);
  CHECK(step.largest[0].stage.empty());
  CHECK(step.largest[1].module == "blocks.0.attn.q");
  CHECK(step.largest[1].stage == "forward");
  CHECK(step.largest[1].category == MemoryCategory::activations);
  ledger.give_back(weights);
  CHECK(ledger.total() == 0);
}

TEST_CASE("blocks that a step gives back and did not take leave by their own category") {
  SetClock clock;
  MemoryLedger ledger;
  const BlockTag loose = ledger.take(100), large = ledger.take(5000);
  BlockTag messages;
  {
    const MemoryScope scope(MemoryCategory::communication);
    messages = ledger.take(6000);
  }
  ledger.begin_record(/*others=*/50);
  ledger.give_back(messages);
  ledger.give_back(loose);
  const BlockTag taken = ledger.take(70);
  const MemoryTimeline step = as_timeline(ledger.end_record(), {});
  CHECK(step.moments.front().total() == 11'150);
  CHECK(step.moments.back().of(MemoryCategory::communication) == 0);
  CHECK(step.moments.back().of(MemoryCategory::workspace) == 5000 + 50 + 70);
  CHECK(step.peak_bytes() == 11'150);
  CHECK(step.largest.front().bytes == 6000);
  ledger.give_back(large);
  ledger.give_back(taken);  // taken in a step that is over
  CHECK(ledger.total() == 50);
}

TEST_CASE("tensors of a CPU and other memory of its host are entered, and leave no trace") {
  use_fitting_cpu_blocks();
  const std::uint64_t before = host_ledger().total(), weights = held(host_ledger(), MemoryCategory::weights);
  {
    const MemoryScope scope(MemoryCategory::weights);
    const at::Tensor tensor = at::empty({1000}, at::kFloat);
    CHECK(held(host_ledger(), MemoryCategory::weights) == weights + 4000);
    CHECK(reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr()) % 64 == 0);
    const at::Tensor view = tensor.narrow(0, 10, 20);
    const HeldMemory slots(MemoryCategory::batches, 123);
    CHECK(host_ledger().total() == before + 4123);
  }
  CHECK(host_ledger().total() == before);
  MemoryRecorder recorder(c10::Device(c10::kCPU));
  recorder.begin();
  CHECK(recorder.records());
  at::Tensor large = at::empty({250'000}, at::kFloat);
  large = at::empty({10}, at::kFloat);
  const MemoryTimeline step = recorder.end({});
  CHECK_FALSE(recorder.records());
  CHECK(step.peak_bytes() == before + 1'000'000 + (step.allocations > 1 ? 40 : 0));
  CHECK(step.device == "cpu");
  CHECK(step.program_bytes > 1'000'000);  // this program's libraries
  CHECK(recorder.timeline()->moments.size() == step.moments.size());
  const std::uint64_t pool = host_tensor_bytes();
  {
    const at::Tensor states = host_tensor(8'000'000, c10::Device(c10::kCPU));
    CHECK(host_tensor_bytes() == pool + 32'000'000);
    states.fill_(1);
    recorder.begin();
    CHECK(recorder.end({}).program_bytes < step.program_bytes + 16'000'000);  // they are no part of it
  }
  CHECK(host_tensor_bytes() == pool);
}

TEST_CASE("blocks of a CUDA device are entered by its allocator's own account") {
  const FakePlugin plugin;
  watch_device_blocks(plugin, 1);
  AllocationWatch* const watch = plugin.allocation_watch();
  REQUIRE(watch != nullptr);
  const int places[4] = {};
  const std::uint64_t before = device_ledger().total();
  watch->took(1, &places[0], 500);  // no scope, and nothing is recorded
  {
    const MemoryScope scope(MemoryCategory::moments);
    watch->took(1, &places[1], 9000);
    watch->took(0, &places[2], 777);  // another device
  }
  CHECK(device_ledger().total() == before + 9000);
  device_ledger().begin_record(/*others=*/500);
  enter_memory_stage("forward");
  watch->took(1, &places[2], 40);
  watch->gave_back(1, &places[0], 500);
  watch->gave_back(1, &places[3], 0);
  enter_memory_stage("");
  const MemoryTimeline step = as_timeline(device_ledger().end_record(), {});
  CHECK(step.peak_bytes() == before + 9540);
  CHECK(step.peak().of(MemoryCategory::moments) == 9000);
  CHECK(step.moments.back().total() == before + 9040);
  watch->gave_back(1, &places[2], 40);
  watch->gave_back(1, &places[1], 9000);
  watch->gave_back(0, &places[2], 777);
  CHECK(device_ledger().total() == before);
}

TEST_CASE("the recorded step is an early one, and not the one that is watched otherwise") {
  CHECK(recorded_step(100, 2) == 3);
  CHECK(recorded_step(100, 1) == 2);
  CHECK(recorded_step(100, -1) == 2);
  CHECK(recorded_step(3, 2) == 1);
  CHECK(recorded_step(2, 0) == 1);
  CHECK(recorded_step(2, 1) == 0);
  CHECK(recorded_step(1, 0) == 0);
}
