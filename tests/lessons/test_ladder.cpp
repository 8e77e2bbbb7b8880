// The ladder and the watched step with real lessons.

#include "lessons/lesson_run.h"
#include "support/bin_folder.h"
#include "support/catch.h"
#include "support/errors.h"

namespace isobar::test_ladder {

namespace {

ProcessResult cli(std::vector<std::string> words, const std::filesystem::path& folder) {
  words.insert(words.begin(), bin_folder(ISOBAR_BIN) + "/isobar-cli");
  return run_process(words, {.folder = folder.string()});
}

/// The steps of a run that say what they are made of.
std::vector<Json> watched(const std::filesystem::path& run) {
  std::vector<Json> out;
  for (const Json& step : of_kind(stream(run), "step")) {
    if (step.contains("launches")) out.push_back(step);
  }
  return out;
}

std::vector<Json> operators(const std::filesystem::path& run) {
  std::vector<Json> out;
  for (const Json& note : of_kind(stream(run), "note")) {
    if (note["text"] == "operator") out.push_back(note);
  }
  return out;
}

}  // namespace

TEST_CASE("the third step of a run says what it is made of, and no other") {
  const TempFolder folder;
  REQUIRE(train(folder / "run", {"train.steps=5"}).code == 0);
  const std::vector<Json> steps = watched(folder / "run");
  REQUIRE(steps.size() == 1);
  CHECK(steps[0]["step"] == 2);
  const std::vector<Json> rows = operators(folder / "run");
  std::int64_t calls = 0;
  std::int64_t bytes = 0;
  for (const Json& row : rows) {
    calls += row["calls"].as_integer();
    bytes += row["moved_bytes"].as_integer();
  }
  CHECK(calls == steps[0]["launches"]);
  CHECK(bytes == steps[0]["moved_bytes"]);
  // Weights, gradients and moments are passed over several times, and much lies between them.
  CHECK(bytes > 10 * 700'320 * 4);
  double class_us = 0;
  for (const char* const name : {"gemm", "attention", "pointwise", "norm", "reduction", "copy", "other"})
    class_us += steps[0][std::string(name) + "_op_us"].as_number();
  CHECK(class_us > 0);
  CHECK(class_us <= steps[0]["step_us"].as_number());
  CHECK(steps[0]["gemm_op_us"].as_number() > 0);
  CHECK(steps[0]["attention_op_us"].as_number() > 0);
  const ProcessResult shown = cli({"show", (folder / "run").string()}, folder.path());
  CHECK_THAT(shown.out, says("calls a step, ") && says("moved (counted in step 3)") &&
                            says("of their time GEMM ") &&
                            says("attention    _scaled_dot_product_flash_attention_for_cpu"));
  const ProcessResult types = cli({"show", (folder / "run").string(), "--types"}, folder.path());
  CHECK_THAT(types.out, says("blocks.0..3.attn.q") && says("native_layer_norm") && says("f32, f32, f32"));
  const Json told =
      Json::parse(cli({"show", (folder / "run").string(), "--types", "--json"}, folder.path()).out);
  CHECK(told["rows"].values().size() == rows.size());
  CHECK(Json::parse(
            cli({"show", (folder / "run").string(), "--json"}, folder.path()).out)["operators"]["launches"] ==
        calls);
}

TEST_CASE("a run that measures is looked at in its warm-up; one that only reads is not") {
  const TempFolder folder;
  REQUIRE(train(folder / "full", {"train.steps=5", "run.measure=full"}).code == 0);
  REQUIRE(watched(folder / "full").size() == 1);
  CHECK(watched(folder / "full")[0]["step"] == 2);
  REQUIRE(train(folder / "io", {"train.steps=5", "run.measure=io"}).code == 0);
  CHECK(watched(folder / "io").empty());
  CHECK(operators(folder / "io").empty());
  // An epoch of one step: its warm-up is that step.
  REQUIRE(train(folder / "short", {"train.steps=3", "data.limit_train=4"}).code == 0);
  REQUIRE(watched(folder / "short").size() == 1);
  CHECK(watched(folder / "short")[0]["step"] == 0);
  REQUIRE(train(folder / "one", {"train.steps=2"}).code == 0);
  CHECK(watched(folder / "one").empty());  // it ends before the third
  CHECK_THAT(cli({"show", (folder / "one").string(), "--types"}, folder.path()).out,
             says("no table of types"));
}

TEST_CASE("show refuses options that do not go with the types") {
  const TempFolder folder;
  const ProcessResult refused = cli({"show", "x", "--types", "--follow"}, folder.path());
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, says("--types goes with --json alone"));
  CHECK_THAT(cli({"show", "x", "--type"}, folder.path()).err, says("mean --types?"));
}

TEST_CASE("the ladder trains real lessons and finds that they train alike") {
  const TempFolder folder;
  const ProcessResult result = cli({"ladder", "--lessons", "01_baseline,02_workers,03_gpu_loader,04_amp",
                                    "--repeats", "1", "--steps", "12", "--preset", "cpu_micro", "--set",
                                    "run.threads=1", "--set", "data.root=" + data().string(), "--json"},
                                   folder.path());
  INFO(result.err);
  REQUIRE(result.code == 0);
  const Json out = Json::parse(result.out);
  REQUIRE(out["rungs"].values().size() == 4);
  CHECK(out["rungs"][0]["parity"] == "baseline");
  CHECK(out["rungs"][1]["parity"] == "bit-equal");
  CHECK(out["rungs"][2]["parity"] == "bit-equal");
  CHECK(out["rungs"][3]["parity"] == "within band");
  CHECK(out["rungs"][3]["precision"] == "bf16");
  CHECK(out["rungs"][3]["difference"] != 0);
  for (const Json& rung : out["rungs"].values()) {
    CHECK(rung["samples_per_s"].as_number() > 0);
    CHECK(rung["mfu"].as_number() > 0);
    CHECK(rung["mfu"].as_number() < 1);
    CHECK(rung["peak_bytes"].as_number() > 1e7);
    double shares = 0;
    for (const Json& share : rung["parts"].values()) shares += share.as_number();
    CHECK(shares == Approx(1).margin(1e-6));
    CHECK(rung["parts"]["GEMM"].as_number() > 0);
    CHECK(rung["parts"]["computing"] == 0);  // a step was watched in each
    CHECK(std::filesystem::exists(folder / rung["runs"][0].as_text()));
  }
}

}  // namespace isobar::test_ladder
