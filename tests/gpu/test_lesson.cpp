#include <cmath>
#include <string>
#include <vector>

#include "lessons/lesson_run.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/tolerances.h"

using namespace isobar;

namespace {

struct Outcome {
  std::vector<Json> lines;
  std::vector<double> losses;
};

Outcome run(const std::filesystem::path& folder, const std::string& device, const std::string& mode) {
  const ProcessResult result =
      train(folder, {"train.steps=20", "train.report_every=1", "run.device=" + device,
                     "run.deterministic=yes", "amp.mode=" + mode});
  INFO(result.err);
  REQUIRE(result.code == 0);
  Outcome out{stream(folder), {}};
  for (const Json& step : of_kind(out.lines, "step")) out.losses.push_back(step["loss"].as_number());
  REQUIRE(out.losses.size() == 20);
  return out;
}

/// The run that `run` makes, by another lesson's program.
ProcessResult run_lesson_program(const std::string& lesson, const std::filesystem::path& run_dir,
                                 const std::vector<std::string>& sets) {
  std::vector<std::string> words = {bin_folder(ISOBAR_BIN) + "/" + lesson, "--preset", "cpu_micro",
                                    "--run-dir", run_dir.string()};
  for (const char* set : {"train.steps=20", "train.report_every=1", "run.device=cuda",
                          "run.deterministic=yes", "amp.mode=none"}) {
    words.insert(words.end(), {"--set", set});
  }
  words.insert(words.end(), {"--set", "data.root=" + data().string()});
  for (const std::string& set : sets) words.insert(words.end(), {"--set", set});
  return run_process(words);
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
  const Json cpu_scores = of_kind(cpu.lines, "eval").back();
  const Json scores = of_kind(one.lines, "eval").back();
  for (const char* score :
       {"loss", "rmse_u10m", "acc_u10m", "persistence_rmse_u10m", "climatology_rmse_t2m"}) {
    INFO(score);
    const double expected = cpu_scores[score].as_number();
    CHECK(std::abs(scores[score].as_number() - expected) <= 10 * kLossAcrossDevices * std::abs(expected));
  }
  for (const Json& step : of_kind(one.lines, "step")) {
    std::int64_t parts = 0;
    for (const char* stage : {"load", "copy", "forward", "backward", "optimize"}) {
      parts += step[std::string(stage) + "_us"].as_integer();
      CHECK(step.contains(std::string(stage) + "_host_us"));
    }
    CHECK(parts <= step["step_us"].as_integer() + 10);         // rounding
    CHECK(step["peak_bytes"].as_integer() > 700'000 * 4 * 4);  // values, gradients, and Adam's two
  }
  CHECK(of_kind(one.lines, "summary").back()["peak_flops_per_s"].as_number() > 1e12);
  const Json watched = of_kind(one.lines, "step").at(2);
  CHECK(watched["launches"].as_integer() > 100);
  double operators_us = 0;
  for (const char* kind : {"gemm", "attention", "pointwise", "norm", "reduction", "copy", "other"})
    operators_us += watched[std::string(kind) + "_op_us"].as_number();
  CHECK(watched["gemm_op_us"].as_number() > 0);
  CHECK(operators_us <= watched["step_us"].as_number() + 100);
}

TEST_CASE(
    "lessons 02 and 03 give the losses of lesson 01 on the device, bit for bit, however batches came there") {
  const TempFolder folder;
  const std::vector<double> plain = run(folder / "plain", "cuda", "none").losses;
  struct Way {
    const char* name;
    const char* lesson;
    std::vector<std::string> sets;
  };
  for (const Way& way :
       {Way{"workers", "02_workers", {}}, Way{"pageable", "02_workers", {"data.pin_memory=false"}},
        Way{"side", "03_gpu_loader", {}}, Way{"line", "03_gpu_loader", {"loader.copy_stream=false"}},
        Way{"host", "03_gpu_loader", {"loader.normalise=host"}},
        Way{"one_slot", "03_gpu_loader", {"run.fault=one_slot"}}}) {
    INFO(way.name);
    const std::filesystem::path run_dir = folder / way.name;
    const ProcessResult result = run_lesson_program(way.lesson, run_dir, way.sets);
    INFO(result.err);
    REQUIRE(result.code == 0);
    std::vector<double> losses;
    for (const Json& step : of_kind(stream(run_dir), "step")) losses.push_back(step["loss"].as_number());
    CHECK(losses == plain);
  }
  const std::string spans = read_text_file(folder / "side" / "rank-0000.spans.jsonl", 100'000'000);
  CHECK_THAT(spans, says("\"upload\"") && says("\"normalise\"") && says("\"load.0\""));
}

TEST_CASE("lesson 03 trains from packed fields too, near the losses of whole ones") {
  const TempFolder folder;
  const std::vector<double> plain = run(folder / "plain", "cuda", "none").losses;
  for (const std::string type : {"f16", "i16"}) {
    const std::filesystem::path run_dir = folder / type;
    const ProcessResult result = run_lesson_program("03_gpu_loader", run_dir, {"loader.upload_type=" + type});
    INFO(result.err);
    REQUIRE(result.code == 0);
    const std::vector<Json> steps = of_kind(stream(run_dir), "step");
    REQUIRE(steps.size() == plain.size());
    for (std::size_t i = 0; i < plain.size(); ++i) {
      const double loss = steps[i]["loss"].as_number();
      CHECK(std::abs(loss - plain[i]) < 1e-2 * plain[i]);
    }
    CHECK(steps.front()["loss"].as_number() != plain.front());  // it is rounded
  }
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
