#pragma once
// Configurations that are refused, with exit code 2.
#include "config/load.h"
#include "core/error.h"
#include "core/files.h"
#include "lessons/lesson_run.h"
#include "support/catch.h"

namespace isobar {

/// What refuses them: load_config, which every program calls first and which starts nothing; and what it lets
/// through, the lesson itself.
inline std::string refusal(const std::string& lesson, const std::vector<std::string>& sets) {
  Settings settings{.preset = "cpu_micro"};
  settings.sets.push_back("data.root=" + data().string());
  settings.sets.insert(settings.sets.end(), sets.begin(), sets.end());
  INFO(lesson << " " << sets.front());
  try {
    load_config(project_home(), read_lesson(project_home(), lesson), settings, "cpu");
  } catch (const Error& error) {
    CHECK(error.code() == Exit::bad_input);
    return error.text();
  }
  const TempFolder folder;
  const ProcessResult result = train_lesson(lesson, folder / "run", sets);
  INFO(result.err);
  CHECK(result.code == 2);
  return result.err;
}

}  // namespace isobar
