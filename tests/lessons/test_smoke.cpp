// Two steps of each lesson as a learner starts it: the quick look whether all of them still train.
#include <cmath>
#include <filesystem>

#include "lessons/alone_run.h"
#include "support/catch.h"
#include "support/says.h"

using namespace isobar;
namespace fs = std::filesystem;

TEST_CASE("every lesson trains two steps, or says what it needs") {
  const TempFolder folder;
  for (const fs::directory_entry& entry : fs::directory_iterator("lessons")) {
    if (!fs::exists(entry.path() / "main.cpp")) continue;
    const std::string lesson = entry.path().filename().string();
    const std::string sheet = read_text_file(entry.path() / "lesson.toml", 1 << 20);
    const bool needs_gpu = sheet.find("needs = \"cuda\"") != std::string::npos;
    const bool stands_alone = sheet.find("stands_alone = true") != std::string::npos;
    const ProcessResult result =
        stands_alone ? run_alone(lesson, 2, folder / lesson, {"train.steps=2"})
                     : train_lesson(lesson, folder / lesson,
                                    {"run.device=cpu", "train.steps=2", "data.limit_valid=4"});
    INFO(lesson << "\n" << result.out << result.err);
    if (needs_gpu) {
      CHECK(result.code == 2);
      CHECK_THAT(result.err, says("needs a CUDA device"));
      continue;
    }
    REQUIRE(result.code == 0);
    CHECK(result.out.find("slow disk") == std::string::npos);  // so few lines wait for none
    const std::vector<Json> steps = of_kind(stream(folder / lesson), "step");
    REQUIRE(steps.size() == 2);
    if (steps.back().contains("wrong_values"))
      CHECK(steps.back()["wrong_values"] == 0);  // it trains nothing
    else
      CHECK(std::isfinite(steps.back()["loss"].as_number()));
  }
}
