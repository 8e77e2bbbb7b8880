#include "exercise/exercise.h"

#include <algorithm>

#include "config/lesson.h"
#include "config/toml_keys.h"
#include "core/error.h"
#include "core/find.h"
#include "core/text.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

/// A text of several lines is one paragraph.
TomlKey<Exercise> paragraph(const char* name, std::string Exercise::*to) {
  return {name, [to](const TomlEntry& entry, Exercise& out) {
            out.*to = text_in(entry);
            std::replace((out.*to).begin(), (out.*to).end(), '\n', ' ');
          }};
}

const TomlKeys<Exercise>& exercise_keys() {
  static const TomlKeys<ExerciseCheck> kCheckKeys(
      "a check",
      {{"name", &ExerciseCheck::name}, {"says", &ExerciseCheck::says}, {"hints", &ExerciseCheck::hints}},
      [](ExerciseCheck& check, const std::string& origin) {
        if (check.name.empty() || check.says.empty() || check.hints.empty())
          throw Error("a check wants name, says and hints", origin, see_another(origin));
      });
  static const TomlKeys<Exercise> kKeys("an exercise", {{"file", &Exercise::file},
                                                        {"title", &Exercise::title},
                                                        {"minutes", &Exercise::minutes, 1, 1000},
                                                        {"sanitized", &Exercise::is_sanitized},
                                                        {"run", &Exercise::run},
                                                        paragraph("text", &Exercise::text),
                                                        paragraph("after", &Exercise::after),
                                                        {"check", &Exercise::checks, kCheckKeys}});
  return kKeys;
}

fs::path toml_of(const fs::path& home, const std::string& lesson) {
  return home / "lessons" / lesson / "exercise/exercise.toml";
}

}  // namespace

std::string Exercise::run_command() const {
  return "./isobar run " + lesson + " --mine" + (run.empty() ? "" : " " + run);
}

const ExerciseCheck* Exercise::find(const std::string& name) const {
  return find_by(checks, &ExerciseCheck::name, name);
}

bool has_exercise(const fs::path& home, const std::string& lesson) {
  return fs::exists(toml_of(home, lesson));
}

Exercise read_exercise(const fs::path& home, const std::string& lesson) {
  if (!has_exercise(home, lesson)) {
    std::vector<std::string> others = lesson_names(home);
    std::erase_if(others, [&](const std::string& name) { return !has_exercise(home, name); });
    throw Error("lesson " + lesson + " has no exercise", "lessons/" + lesson,
                "those with one: " + joined(others));
  }
  Exercise out;
  out.lesson = lesson;
  const fs::path file = toml_of(home, lesson);
  out.folder = file.parent_path();
  exercise_keys().take(read_toml(file), out);
  if (out.file.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != std::string::npos ||
      out.file.empty() || out.title.empty() || out.text.empty() || out.after.empty() || out.checks.empty() ||
      out.minutes < 1)
    throw Error("an exercise wants file, title, minutes, text, after and checks", file.string(),
                see_another(file.string()));
  return out;
}

}  // namespace isobar
