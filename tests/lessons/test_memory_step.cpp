// What a step of a real run held in memory, against what is counted from its shape.
#include <algorithm>

#include "formula/vit_counts.h"
#include "formula/vit_memory.h"
#include "lessons/lesson_run.h"
#include "record/memory_timeline.h"
#include "support/catch.h"
#include "support/says.h"

namespace isobar::test_memory_step {

namespace fs = std::filesystem;

namespace {

constexpr VitShape kShape = {.height = 48, .width = 96, .patch = 4, .embed = 96, .depth = 3, .heads = 2};
constexpr std::int64_t kBatch = 4;

MemoryTimeline memory_of(const std::string& lesson, const fs::path& run,
                         const std::vector<std::string>& more = {}) {
  const ProcessResult result = train_lesson(
      lesson, run,
      with({"train.steps=4", "model.patch=4", "model.embed=96", "model.depth=3", "model.heads=2",
            "train.global_batch=4", "data.limit_train=16", "data.limit_valid=4", "amp.mode=none"},
           more));
  INFO(result.err);
  REQUIRE(result.code == 0);
  return read_memory(run);
}

/// What each category holds where the backward pass begins.
const MemoryMoment& at_backward(const MemoryTimeline& timeline) {
  const auto backward = std::ranges::find(timeline.stages, "backward", &MemoryStage::name);
  REQUIRE(backward != timeline.stages.end());
  const auto behind =
      std::ranges::lower_bound(timeline.moments, backward->begin_us, {}, &MemoryMoment::at_us);
  REQUIRE(behind != timeline.moments.begin());
  return *std::prev(behind);
}

std::uint64_t of_block(const MemoryTimeline& timeline, const MemoryMoment& moment, const std::string& name) {
  const auto found = std::ranges::find(timeline.owners, name);
  REQUIRE(found != timeline.owners.end());
  return moment.activations[static_cast<std::size_t>(found - timeline.owners.begin())];
}

bool is_about(double share, std::uint64_t found, std::uint64_t wanted) {
  return std::abs(static_cast<double>(found) - static_cast<double>(wanted)) <=
         share * static_cast<double>(wanted);
}

}  // namespace

TEST_CASE("a recorded step holds states and activations as they are counted from the shape") {
  for (const std::string lesson : {"01_baseline", "05_fusion"}) {
    INFO(lesson);
    const TempFolder folder;
    const fs::path run = folder / "run";
    const MemoryTimeline memory = memory_of(lesson, run);
    CHECK(memory.step == 3);  // the third is watched by operator
    CHECK(memory.device == "cpu");
    CHECK(memory.micro_batches == 1);
    const TrainingBytes bytes = count_training_bytes(
        kShape, {.batch = kBatch, .fused = lesson != "01_baseline", .fused_loss = false, .fused_adam = true});
    const MemoryMoment& kept = at_backward(memory);
    CHECK(is_about(0.01, kept.of(MemoryCategory::weights), bytes.weights));
    CHECK(kept.of(MemoryCategory::gradients) == kept.of(MemoryCategory::weights));
    CHECK(kept.of(MemoryCategory::moments) == 2 * kept.of(MemoryCategory::weights));
    // 64 bytes a token, channel and block in float32: sums 8, what norms give 8, q, k, v and attention 16,
    // the MLP 32; and for each token what the norms and attention note, of E = 96 less than 1 %.
    const auto tokens_by_embed = static_cast<std::uint64_t>(kBatch * kShape.tokens() * kShape.embed);
    CHECK(is_about(0.01, of_block(memory, kept, "blocks.1"), 64 * tokens_by_embed));
    CHECK(is_about(0.03, kept.of(MemoryCategory::activations), bytes.activations));
    const auto last = memory.moments.back();
    CHECK(last.of(MemoryCategory::activations) < kept.of(MemoryCategory::activations) / 20);
    CHECK(memory.peak_stage == "backward");
    for (const MemoryMoment& moment : memory.moments) {
      std::uint64_t blocks = 0;
      for (const std::uint64_t one : moment.activations) blocks += one;
      CHECK(blocks <= moment.of(MemoryCategory::activations));
      CHECK(moment.of(MemoryCategory::weights) >= kept.of(MemoryCategory::weights));
    }
    const Json summary = of_kind(stream(run), "summary").back();
    const double process = summary["peak_bytes"].as_number();
    CHECK(static_cast<double>(memory.peak_bytes() + memory.program_bytes) <= 1.05 * process);
    CHECK(static_cast<double>(memory.peak_bytes() + memory.program_bytes) >= 0.8 * process);
  }
}

TEST_CASE("a run of one step is recorded too, and one that only reads is not") {
  const TempFolder folder;
  CHECK(memory_of("01_baseline", folder / "one", {"train.steps=1"}).step == 0);
  const fs::path reads = folder / "reads";
  REQUIRE(train_lesson("01_baseline", reads, {"train.steps=4", "run.measure=io"}).code == 0);
  CHECK_FALSE(has_memory(reads));
}

TEST_CASE("show reads the memory of a real run beside its prediction") {
  const TempFolder folder;
  const fs::path run = folder / "run";
  memory_of("05_fusion", run);
  const std::string cli = bin_folder(ISOBAR_BIN) + "/isobar-cli";
  const ProcessResult text = run_process({cli, "show", run.string(), "--memory"});
  REQUIRE(text.code == 0);
  CHECK_THAT(text.out, says("forward") && says("at the peak") && says("predicted") && says("activations"));
  const Json json = Json::parse(run_process({cli, "show", run.string(), "--memory", "--json"}).out);
  CHECK(json["step"].as_integer() == 3);
  CHECK(json["categories"][0]["category"].as_text() == "weights");
  CHECK(std::abs(json["categories"][0]["off_percent"].as_number()) < 1);
}

}  // namespace isobar::test_memory_step
