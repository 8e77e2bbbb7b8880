#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "lessons/lesson_run.h"
#include "support/errors.h"
#include "support/tolerances.h"

using namespace isobar;

namespace {

struct Outcome {
  std::vector<json> lines;
  std::vector<double> losses;
};

Outcome run(const std::filesystem::path& folder, const std::string& device, const std::string& mode) {
  const ProcessResult result =
      train(folder, {"train.steps=20", "train.report_every=1", "run.device=" + device, "amp.mode=" + mode});
  INFO(result.err);
  REQUIRE(result.code == 0);
  Outcome out{stream(folder), {}};
  for (const json& step : of_kind(out.lines, "step")) out.losses.push_back(step["loss"]);
  REQUIRE(out.losses.size() == 20);
  return out;
}

}  // namespace

TEST_CASE("lesson 01 trains on the device as on the processor, and twice the same") {
  const TempFolder folder;
  const Outcome cpu = run(folder / "cpu", "cpu", "none");
  const Outcome one = run(folder / "one", "cuda", "none");
  const Outcome two = run(folder / "two", "cuda", "none");
  for (std::size_t i = 0; i < cpu.losses.size(); ++i) {
    INFO("step " << i);
    CHECK(std::abs(one.losses[i] - cpu.losses[i]) <= kLossAcrossDevices * cpu.losses[i]);
    CHECK(one.losses[i] == two.losses[i]);
  }
  CHECK(one.lines.front()["device"] == "cuda:0");
  const json cpu_scores = of_kind(cpu.lines, "eval").back();
  const json scores = of_kind(one.lines, "eval").back();
  for (const char* score :
       {"loss", "rmse_u10m", "acc_u10m", "persistence_rmse_u10m", "climatology_rmse_t2m"}) {
    INFO(score);
    const double expected = cpu_scores[score];
    CHECK(std::abs(scores[score].get<double>() - expected) <= 10 * kLossAcrossDevices * std::abs(expected));
  }
  for (const json& step : of_kind(one.lines, "step")) {
    std::int64_t parts = 0;
    for (const char* stage : {"load", "copy", "forward", "backward", "optimize"}) {
      parts += step[std::string(stage) + "_us"].get<std::int64_t>();
      CHECK(step.contains(std::string(stage) + "_host_us"));
    }
    CHECK(parts <= step["step_us"].get<std::int64_t>() + 10);         // rounding
    CHECK(step["peak_bytes"].get<std::int64_t>() > 700'000 * 4 * 4);  // values, gradients, and Adam's two
  }
  CHECK(of_kind(one.lines, "summary").back()["peak_flops_per_s"].get<double>() > 1e12);
}

TEST_CASE("TF32 is another arithmetic than fp32, and near it") {
  const TempFolder folder;
  const Outcome fp32 = run(folder / "fp32", "cuda", "none");
  const Outcome tf32 = run(folder / "tf32", "cuda", "auto");
  CHECK(fp32.losses[0] != tf32.losses[0]);
  CHECK(std::abs(fp32.losses[0] - tf32.losses[0]) < 1e-2 * fp32.losses[0]);
}

TEST_CASE("a device index that is not there is refused with how many there are") {
  const TempFolder folder;
  const ProcessResult result = train(folder / "run", {"train.steps=2", "run.device=cuda:99"});
  CHECK(result.code == 2);
  CHECK_THAT(result.err, says("CUDA device") && says("cuda:99"));
}
