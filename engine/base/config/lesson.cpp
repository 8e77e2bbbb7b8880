#include "config/lesson.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "config/assign.h"
#include "config/toml_text.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "foreign/toml_limits.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void wrong_type(const TomlEntry& entry, const std::string& wanted) {
  throw Error(entry.key + " wants " + wanted + ", got " + describe(entry.value), entry.origin,
              "the sheet of another lesson shows how it is written");
}

std::string text_of(const TomlEntry& entry) {
  if (const auto* const text = std::get_if<std::string>(&entry.value)) return *text;
  wrong_type(entry, "a string");
}

std::vector<std::string> list_of(const TomlEntry& entry) {
  if (const auto* const list = std::get_if<std::vector<std::string>>(&entry.value)) return *list;
  wrong_type(entry, "a list of strings");
}

int integer_of(const TomlEntry& entry) {
  const auto* const value = std::get_if<std::int64_t>(&entry.value);
  if (value == nullptr || *value < 0 || *value > 1000) wrong_type(entry, "an integer from 0 to 1000");
  return static_cast<int>(*value);
}

std::vector<std::int64_t> integers_of(const TomlEntry& entry) {
  if (const auto* const list = std::get_if<std::vector<std::int64_t>>(&entry.value)) return *list;
  wrong_type(entry, "a list of integers");
}

/// Numbers are written as strings, so that 9.30 keeps its digits.
std::vector<double> numbers_of(const TomlEntry& entry) {
  std::vector<double> out;
  for (const std::string& word : list_of(entry)) {
    double value = 0;
    const auto end = std::from_chars(word.data(), word.data() + word.size(), value);
    if (end.ec != std::errc() || end.ptr != word.data() + word.size() || !std::isfinite(value) || value <= 0)
      wrong_type(entry, "a list of numbers above 0, in quotes");
    out.push_back(value);
  }
  return out;
}

/// Keys of the configuration, so that a mistyped one does not go unnoticed.
std::vector<std::string> keys_in(const TomlEntry& entry) {
  Config config;
  const std::vector<Key> keys = keys_of(config);
  std::vector<std::string> names = list_of(entry);
  for (const std::string& name : names) find_key(keys, {name, {}, entry.origin});
  return names;
}

[[noreturn]] void unknown_key(const TomlEntry& entry) {
  static const std::vector<std::string> kKnown = {"title",
                                                  "previous",
                                                  "goals",
                                                  "questions",
                                                  "introduces",
                                                  "drops",
                                                  "loaders",
                                                  "precisions",
                                                  "faults",
                                                  "drops_faults",
                                                  "needs",
                                                  "diff_budget",
                                                  "published.device",
                                                  "published.years",
                                                  "published.samples_per_s",
                                                  "published.stacks",
                                                  "presets.cpu",
                                                  "presets.cuda"};
  const std::string nearest = nearest_name(entry.key, kKnown);
  throw Error("a lesson has no key \"" + printable(entry.key, 80) + "\"", entry.origin,
              (nearest.empty() ? "" : "did you mean " + nearest + "? ") + "Known: " + join(kKnown, ", ") +
                  ", and keys of the configuration below [overrides]");
}

void take(const TomlEntry& entry, LessonInfo& info) {
  const std::string& key = entry.key;
  if (key == "title") {
    info.title = text_of(entry);
  } else if (key == "previous") {
    info.previous = text_of(entry);
  } else if (key == "goals") {
    info.goals = list_of(entry);
  } else if (key == "questions") {
    info.questions = list_of(entry);
  } else if (key == "introduces") {
    info.introduces = keys_in(entry);
  } else if (key == "drops") {
    info.drops = keys_in(entry);
  } else if (key == "loaders") {
    info.loaders = list_of(entry);
  } else if (key == "precisions") {
    info.precisions = list_of(entry);
  } else if (key == "faults") {
    info.faults = list_of(entry);
  } else if (key == "drops_faults") {
    info.drops_faults = list_of(entry);
  } else if (key == "diff_budget") {
    info.diff_budget = integer_of(entry);
  } else if (key == "needs") {
    info.needs = text_of(entry);
    if (!info.needs.empty() && info.needs != "cuda") wrong_type(entry, "\"cuda\", or to be left out");
  } else if (key == "published.device") {
    info.published.device = text_of(entry);
  } else if (key == "published.years") {
    info.published.years = integers_of(entry);
  } else if (key == "published.samples_per_s") {
    info.published.samples_per_s = numbers_of(entry);
  } else if (key == "published.stacks") {
    info.published.stacks = list_of(entry);
  } else if (key == "presets.cpu" || key == "presets.cuda") {
    info.presets[key.substr(8)] = text_of(entry);
  } else if (key.rfind("overrides.", 0) != 0) {
    unknown_key(entry);
  }
}

bool holds(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Names of the lesson before but for those dropped, then those of this one.
std::vector<std::string> taken_over(const LessonInfo& info, const std::vector<std::string>& before,
                                    const std::vector<std::string>& dropped,
                                    const std::vector<std::string>& own) {
  for (const std::string& name : dropped) {
    if (!holds(before, name))
      throw Error("it drops " + printable(name, 80) + ", which " + info.previous + " does not have",
                  info.file.string(), info.previous + " has: " + join(before, ", "));
  }
  std::vector<std::string> out;
  std::copy_if(before.begin(), before.end(), std::back_inserter(out),
               [&](const std::string& name) { return !holds(dropped, name) && !holds(own, name); });
  out.insert(out.end(), own.begin(), own.end());
  return out;
}

void take_over(LessonInfo& info, const LessonInfo& before) {
  info.honours = taken_over(info, before.honours, info.drops, info.honours);
  info.faults = taken_over(info, before.faults, info.drops_faults, info.faults);
  if (info.loaders.empty()) info.loaders = before.loaders;
  if (info.precisions.empty()) info.precisions = before.precisions;
}

}  // namespace

std::vector<std::string> lesson_names(const fs::path& home) {
  std::vector<std::string> names;
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator(home / "lessons", code)) {
    if (fs::exists(entry.path() / "lesson.toml")) names.push_back(entry.path().filename().string());
  }
  if (code) throw system_error("cannot list the lessons", (home / "lessons").string(), code.value());
  std::sort(names.begin(), names.end());
  return names;
}

bool honours(const LessonInfo& lesson, std::string_view key) { return holds(lesson.honours, key); }

LessonInfo read_lesson(const fs::path& home, const std::string& name) {
  const std::vector<std::string> names = lesson_names(home);
  if (!holds(names, name)) {
    const std::string nearest = nearest_name(name, names);
    throw Error("there is no lesson \"" + printable(name) + "\"", (home / "lessons").string(),
                nearest.empty() ? "lessons: " + join(names, ", ") : "did you mean " + nearest + "?");
  }
  const fs::path file = home / "lessons" / name / "lesson.toml";
  LessonInfo info = parse_lesson(read_text_file(file, kMostTomlBytes), name, file);
  if (info.previous.empty()) return info;
  if (info.previous >= name) {
    throw Error("the lesson before " + name + " cannot be " + printable(info.previous, 80), file.string(),
                "the ladder goes by name, upwards");
  }
  take_over(info, read_lesson(home, info.previous));
  return info;
}

LessonInfo parse_lesson(const std::string& text, const std::string& name, const fs::path& file) {
  LessonInfo info;
  info.name = name;
  info.file = file;
  for (const TomlEntry& entry : parse_toml(text, file.string())) take(entry, info);
  info.honours = info.introduces;
  const std::size_t years = info.published.years.size();
  if (info.published.samples_per_s.size() != years || info.published.stacks.size() != years) {
    throw Error("[published] wants as many samples_per_s and stacks as years", info.file.string(),
                "one of each for every year");
  }
  return info;
}

}  // namespace isobar
