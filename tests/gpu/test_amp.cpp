// Lesson 04 on the device: 16 bits near fp32, and an overflow that skips its step alone.
#include <cmath>
#include <string>
#include <vector>

#include "lessons/lesson_run.h"
#include "support/catch.h"
#include "support/says.h"
#include "support/tolerance_values.h"

using namespace isobar;

namespace {

std::vector<Json> steps_of(const std::filesystem::path& run, const std::vector<std::string>& sets) {
  std::vector<std::string> all = {"run.device=cuda", "run.deterministic=yes", "train.report_every=1",
                                  "data.limit_valid=4"};
  all.insert(all.end(), sets.begin(), sets.end());
  const ProcessResult result = train_lesson("04_amp", run, all);
  INFO(result.err);
  REQUIRE(result.code == 0);
  return of_kind(stream(run), "step");
}

double last_loss(const std::vector<Json>& steps) {
  double sum = 0;
  for (std::size_t i = steps.size() - 8; i < steps.size(); ++i) sum += steps[i]["loss"].as_number();
  return sum / 8;
}

}  // namespace

TEST_CASE("200 steps in each 16-bit type end near fp32 on the device, and twice the same") {
  const TempFolder folder;
  const double plain = last_loss(steps_of(folder / "none", {"train.steps=200", "amp.mode=none"}));
  for (const std::string mode : {"tf32", "bf16", "fp16"}) {
    const std::vector<Json> one = steps_of(folder / mode, {"train.steps=200", "amp.mode=" + mode});
    const std::vector<Json> two = steps_of(folder / (mode + "2"), {"train.steps=200", "amp.mode=" + mode});
    INFO(mode);
    CHECK(std::abs(last_loss(one) / plain - 1) < kLossHalf);
    for (std::size_t i = 0; i < one.size(); ++i) CHECK(one[i]["loss"] == two[i]["loss"]);
    CHECK(one.front().contains("scale") == (mode == "fp16"));
  }
}

TEST_CASE("an overflow in fp16 on the device skips its step, and a storm of them ends the run") {
  const TempFolder folder;
  const std::vector<Json> steps = steps_of(
      folder / "run", {"train.steps=12", "amp.mode=fp16", "run.fault=inject_inf", "run.fault_step=5"});
  for (std::size_t i = 0; i < steps.size(); ++i) {
    INFO("step " << i);
    CHECK(steps[i]["skipped"] == (i < 5 ? 0 : 1));
    CHECK(steps[i]["scale"].as_number() == (i < 5 ? 65536.0 : 32768.0));
  }
  // The host hears of it when a report is due, and no weight has moved until then.
  const ProcessResult storm =
      train_lesson("04_amp", folder / "storm",
                   {"run.device=cuda", "amp.mode=fp16", "amp.init_scale=1e30", "amp.backoff=0.99",
                    "train.steps=60", "train.report_every=10", "data.limit_valid=4"});
  CHECK(storm.code == 1);
  CHECK_THAT(storm.err, says("steps in a row were skipped") && says("Try bf16"));
  CHECK(of_kind(stream(folder / "storm"), "step").size() <= 40);
}

TEST_CASE("the histogram of gradients counts those of the device") {
  const TempFolder folder;
  steps_of(folder / "run", {"train.steps=10", "amp.mode=bf16", "amp.histogram_every=4"});
  const std::vector<Json> histograms = of_kind(stream(folder / "run"), "gradients");
  REQUIRE(histograms.size() == 3);
  for (const Json& histogram : histograms) {
    CHECK(histogram["values"] == 700320);
    CHECK(histogram["nonfinite"] == 0);
  }
}
