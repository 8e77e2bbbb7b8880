// The memory that a run says it will take, against what it took.
#include <cmath>

#include "lessons/lesson_run.h"
#include "support/catch.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

struct Memory {
  double predicted_mb = 0, measured_mb = 0;
};

/// Of two steps, and of so many samples of validation.
Memory memory_of(const std::string& lesson, int batch, int embed, int validated,
                 const std::vector<std::string>& more = {}) {
  const TempFolder folder;
  const fs::path run = folder / "run";
  std::vector<std::string> sets = {"train.steps=2", "model.patch=2", "model.embed=" + std::to_string(embed),
                                   "train.global_batch=" + std::to_string(batch),
                                   "data.limit_valid=" + std::to_string(validated)};
  sets.insert(sets.end(), more.begin(), more.end());
  const ProcessResult result = train_lesson(lesson, run, sets);
  INFO(result.err);
  REQUIRE(result.code == 0);
  const Json summary = of_kind(stream(run), "summary").back();
  const Memory out{1e-6 * summary["predicted_bytes"].as_number(), 1e-6 * summary["peak_bytes"].as_number()};
  WARN(lesson << ", batch " << batch << ", embed " << embed << ": " << out.predicted_mb << " MB predicted, "
              << out.measured_mb << " MB measured");
  return out;
}

bool is_within(double share, double predicted, double measured) {
  return std::fabs(predicted - measured) <= share * measured;
}

}  // namespace

TEST_CASE("the memory of lesson 01 is predicted within 10 %: three batches, two widths") {
  for (const int embed : {96, 192}) {
    const Memory one = memory_of("01_baseline", 1, embed, 1);
    CHECK(is_within(0.1, one.predicted_mb, one.measured_mb));
    for (const int batch : {embed == 96 ? 6 : 3}) {
      const Memory more = memory_of("01_baseline", batch, embed, batch);
      CHECK(is_within(0.1, more.predicted_mb, more.measured_mb));
      // What the samples add too, without what the program takes by itself.
      CHECK(is_within(0.1, more.predicted_mb - one.predicted_mb, more.measured_mb - one.measured_mb));
    }
  }
}

TEST_CASE("so it is with slots of loaders, 16 bits and fused operations") {
  for (const char* const lesson : {"02_workers", "03_gpu_loader", "04_amp", "05_fusion"}) {
    const Memory memory = memory_of(lesson, 3, 96, 6);
    CHECK(is_within(0.1, memory.predicted_mb, memory.measured_mb));
  }
}

TEST_CASE("so it is where activations are computed again, in several passes, and where states are cut") {
  double last_mb = 1e9;
  for (const char* const kind : {"none", "selective", "block"}) {
    const Memory memory =
        memory_of("14_checkpointing", 4, 96, 4, {"amp.mode=none", "model.checkpoint=" + std::string(kind)});
    INFO(kind);
    CHECK(is_within(0.1, memory.predicted_mb, memory.measured_mb));
    CHECK(memory.measured_mb < last_mb);
    last_mb = memory.measured_mb;
  }
  const Memory passes = memory_of("14_checkpointing", 4, 96, 4,
                                  {"amp.mode=none", "model.checkpoint=none", "train.accumulate=4"});
  CHECK(is_within(0.1, passes.predicted_mb, passes.measured_mb));
  const Memory shared = memory_of("13_zero", 4, 96, 4, {"amp.mode=none", "mesh.zero=3"});
  CHECK(is_within(0.1, shared.predicted_mb, shared.measured_mb));
}
