#include "exercise/exercise.h"

#include <algorithm>

#include "config/lesson.h"
#include "config/toml_text.h"
#include "core/error.h"
#include "core/text.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr const char* kSeeOther = "the exercise.toml of another lesson shows how it is written";

template <class Value>
const Value& value_in(const TomlEntry& entry, const std::string& wanted) {
  const auto* const value = std::get_if<Value>(&entry.value);
  if (value != nullptr) return *value;
  throw Error(printable(entry.key, 80) + " wants " + wanted + ", got " + describe(entry.value), entry.origin,
              kSeeOther);
}

std::string text_in(const TomlEntry& entry) {
  std::string text = value_in<std::string>(entry, "a string");
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

[[noreturn]] void refuse_key(const TomlEntry& entry, const std::vector<std::string>& known) {
  throw Error("an exercise has no key \"" + printable(entry.key, 80) + "\"", entry.origin,
              did_you_mean(entry.key, known, "known: " + joined(known)));
}

ExerciseCheck check_of(const TomlTable& table) {
  ExerciseCheck out;
  for (const TomlEntry& entry : table.entries) {
    if (entry.key == "name")
      out.name = text_in(entry);
    else if (entry.key == "says")
      out.says = text_in(entry);
    else if (entry.key == "hints")
      out.hints = value_in<std::vector<std::string>>(entry, "a list of strings");
    else
      refuse_key(entry, {"name", "says", "hints"});
  }
  if (out.name.empty() || out.says.empty() || out.hints.empty())
    throw Error("a check wants name, says and hints", table.origin, kSeeOther);
  return out;
}

fs::path toml_of(const fs::path& home, const std::string& lesson) {
  return home / "lessons" / lesson / "exercise/exercise.toml";
}

}  // namespace

std::string Exercise::run_command() const {
  return "./isobar run " + lesson + " --mine" + (run.empty() ? "" : " " + run);
}

const ExerciseCheck* Exercise::find(const std::string& name) const {
  const auto found = std::find_if(checks.begin(), checks.end(), [&](auto& one) { return one.name == name; });
  return found == checks.end() ? nullptr : &*found;
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
  for (const TomlEntry& entry : read_toml(file)) {
    if (entry.key == "file")
      out.file = text_in(entry);
    else if (entry.key == "title")
      out.title = text_in(entry);
    else if (entry.key == "run")
      out.run = text_in(entry);
    else if (entry.key == "text")
      out.text = text_in(entry);
    else if (entry.key == "after")
      out.after = text_in(entry);
    else if (entry.key == "minutes")
      out.minutes = value_in<std::int64_t>(entry, "an integer");
    else if (entry.key == "sanitized")
      out.is_sanitized = value_in<bool>(entry, "true or false");
    else if (entry.key == "check") {
      for (const TomlTable& table : value_in<std::vector<TomlTable>>(entry, "tables"))
        out.checks.push_back(check_of(table));
    } else {
      refuse_key(entry, {"file", "title", "minutes", "sanitized", "run", "text", "after", "check"});
    }
  }
  if (out.file.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != std::string::npos ||
      out.file.empty() || out.title.empty() || out.text.empty() || out.after.empty() || out.checks.empty() ||
      out.minutes < 1)
    throw Error("an exercise wants file, title, minutes, text, after and checks", file.string(), kSeeOther);
  return out;
}

}  // namespace isobar
