#pragma once
// Runs that are stopped and resumed, and what must be equal afterwards.
#include <map>

#include "lessons/lesson_run.h"
#include "support/catch.h"

namespace isobar {

namespace fs = std::filesystem;

inline const std::vector<std::string> kTwenty =
    with(coarse(), {"train.steps=20", "train.report_every=1", "run.flush_ms=1", "run.threads=1"});

inline ProcessResult resume(const fs::path& run, std::vector<std::string> sets = {},
                            const ProcessOptions& options = {}, const std::string& lesson = "01_baseline") {
  std::vector<std::string> words = {std::string(ISOBAR_BIN) + "/" + lesson, "--resume", run.string()};
  for (const std::string& set : sets) {
    words.push_back("--set");
    words.push_back(set);
  }
  return run_lesson(words, options);
}

/// Losses by step as they stand in the file, to the last digit. A step that was made twice must say the same
/// twice.
inline std::map<std::int64_t, std::string> losses(const fs::path& run) {
  std::map<std::int64_t, std::string> out;
  for (const Json& step : of_kind(stream(run), "step")) {
    const std::string loss = step["loss"].text();
    const auto [place, is_new] = out.emplace(step["step"].as_integer(), loss);
    if (!is_new) CHECK(place->second == loss);
  }
  return out;
}

inline std::map<std::int64_t, std::string> scores(const fs::path& run) {
  std::map<std::int64_t, std::string> out;
  for (Json eval : of_kind(stream(run), "eval")) {
    eval.erase("t_us");
    const std::string text = eval.text();
    const auto [place, is_new] = out.emplace(eval["step"].as_integer(), text);
    if (!is_new) CHECK(place->second == text);
  }
  return out;
}

inline std::string weights(const fs::path& run) {
  return read_text_file(run / "weights.safetensors", 1 << 24);
}

inline void check_equal(const fs::path& run, const fs::path& whole) {
  CHECK(losses(run) == losses(whole));
  CHECK(losses(run).size() == 20);
  CHECK(scores(run) == scores(whole));
  CHECK(weights(run) == weights(whole));
  const std::vector<Json> lines = stream(run);
  CHECK(lines.back()["status"] == "done");
  CHECK(of_kind(lines, "run").back()["attempt"] == static_cast<int>(of_kind(lines, "run").size()) - 1);
}

/// The run that nothing interrupts, made once.
inline const fs::path& uninterrupted() {
  static const TempFolder folder;
  static const fs::path run = [] {
    REQUIRE(train(folder / "run", kTwenty).code == 0);
    return folder / "run";
  }();
  return run;
}

}  // namespace isobar
