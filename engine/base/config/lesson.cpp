#include "config/lesson.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "config/assign.h"
#include "config/toml_keys.h"
#include "core/error.h"
#include "core/files.h"
#include "core/find.h"
#include "core/text.h"
#include "foreign/toml_limits.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

using Entry = const TomlEntry&;

std::vector<std::int64_t> integers_in(Entry entry) {
  if (const auto* const list = std::get_if<std::vector<std::int64_t>>(&entry.value)) return *list;
  refuse_value(entry, "a list of integers");
}

/// Numbers are written as strings, so that 9.30 keeps its digits.
std::vector<double> numbers_in(Entry entry) {
  std::vector<double> out;
  for (const std::string& word : texts_in(entry)) {
    double value = 0;
    const auto end = std::from_chars(word.data(), word.data() + word.size(), value);
    if (end.ec != std::errc() || end.ptr != word.data() + word.size() || !std::isfinite(value) || value <= 0)
      refuse_value(entry, "a list of numbers above 0, in quotes");
    out.push_back(value);
  }
  return out;
}

/// Keys of the configuration, so that a mistyped one does not go unnoticed.
std::vector<std::string> keys_in(Entry entry) {
  Config config;
  const std::vector<Key> keys = keys_of(config);
  std::vector<std::string> names = texts_in(entry);
  for (const std::string& name : names) find_key(keys, {name, {}, entry.origin});
  return names;
}

template <Choice Enum>
std::vector<Enum> choices_in(Entry entry) {
  std::vector<Enum> out;
  for (const std::string& name : texts_in(entry)) {
    const std::optional<Enum> value = choice_named<Enum>(name);
    const Choices all = choices_of(Enum{});
    if (!value) refuse_value(entry, "some of: " + joined(all));
    out.push_back(*value);
  }
  return out;
}

std::vector<std::string> helps_in(Entry entry) {
  const std::vector<std::string> out = texts_in(entry);
  for (const std::string& one : out) {
    if (!holds(kHelps, one)) refuse_value(entry, "some of: " + joined(kHelps));
  }
  return out;
}

std::string needs_in(Entry entry) {
  std::string needs = text_in(entry, true);
  if (!needs.empty() && needs != "cuda") refuse_value(entry, "\"cuda\", or to be left out");
  return needs;
}

const TomlKeys<LessonInfo>& sheet_keys() {
  static const TomlKeys<LessonInfo> kKeys(
      "a lesson",
      {{"title", &LessonInfo::title},
       {"previous", [](Entry entry, LessonInfo& info) { info.previous = text_in(entry, true); }},
       {"goals", &LessonInfo::goals},
       {"introduces", [](Entry entry, LessonInfo& info) { info.introduces = keys_in(entry); }},
       {"drops", [](Entry entry, LessonInfo& info) { info.drops = keys_in(entry); }},
       {"loaders", [](Entry entry, LessonInfo& info) { info.loaders = choices_in<LoaderKind>(entry); }},
       {"precisions", [](Entry entry, LessonInfo& info) { info.precisions = choices_in<AmpMode>(entry); }},
       {"faults", [](Entry entry, LessonInfo& info) { info.faults = choices_in<Fault>(entry); }},
       {"drops_faults", [](Entry entry, LessonInfo& info) { info.drops_faults = choices_in<Fault>(entry); }},
       {"needs", [](Entry entry, LessonInfo& info) { info.needs = needs_in(entry); }},
       {"helps", [](Entry entry, LessonInfo& info) { info.helps = helps_in(entry); }},
       {"stands_alone", &LessonInfo::stands_alone},
       {"diff_budget", &LessonInfo::diff_budget, 0, 1000},
       {"published.device", [](Entry entry, LessonInfo& info) { info.published.device = text_in(entry); }},
       {"published.years", [](Entry entry, LessonInfo& info) { info.published.years = integers_in(entry); }},
       {"published.samples_per_s",
        [](Entry entry, LessonInfo& info) { info.published.samples_per_s = numbers_in(entry); }},
       {"published.stacks", [](Entry entry, LessonInfo& info) { info.published.stacks = texts_in(entry); }},
       {"presets.cpu", [](Entry entry, LessonInfo& info) { info.presets["cpu"] = text_in(entry); }},
       {"presets.cuda", [](Entry entry, LessonInfo& info) { info.presets["cuda"] = text_in(entry); }},
       // Keys of the configuration, which load_config takes.
       {"overrides.", [](Entry, LessonInfo&) {}}});
  return kKeys;
}

const std::string& name_of(const std::string& name) { return name; }

template <class Name>
std::string names_of(const std::vector<Name>& all) {
  std::vector<std::string> out;
  for (const Name& one : all) out.emplace_back(name_of(one));
  return joined(out);
}

/// Names of the lesson before but for those dropped, then those of this one.
template <class Name>
std::vector<Name> taken_over(const LessonInfo& info, const std::vector<Name>& before,
                             const std::vector<Name>& dropped, const std::vector<Name>& own) {
  for (const Name& name : dropped) {
    if (!holds(before, name))
      throw Error("it drops " + printable(name_of(name), 80) + ", which " + info.previous + " does not have",
                  info.file.string(), info.previous + " has: " + names_of(before));
  }
  std::vector<Name> out;
  std::copy_if(before.begin(), before.end(), std::back_inserter(out),
               [&](const Name& name) { return !holds(dropped, name) && !holds(own, name); });
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

std::vector<std::string> lessons_like(const std::vector<std::string>& names, std::string_view typed) {
  if (holds(names, typed)) return {std::string(typed)};
  const auto without_zeros = [](std::string_view digits) {
    return digits.substr(std::min(digits.find_first_not_of('0'), digits.size()));
  };
  const bool is_number = typed.find_first_not_of("0123456789") == std::string_view::npos;
  std::vector<std::string> out;
  for (const std::string& name : names) {
    const std::string_view number = std::string_view(name).substr(0, name.find('_'));
    const std::string_view words = std::string_view(name).substr(std::min(number.size() + 1, name.size()));
    const bool is_like = is_number ? without_zeros(number) == without_zeros(typed)
                                   : name.starts_with(typed) || words.starts_with(typed);
    if (is_like && !typed.empty()) out.push_back(name);
  }
  return out;
}

LessonInfo read_lesson(const fs::path& home, const std::string& name) {
  const std::vector<std::string> names = lesson_names(home);
  if (!holds(names, name)) {
    throw Error("there is no lesson \"" + printable(name) + "\"", (home / "lessons").string(),
                did_you_mean(name, names, "lessons: " + joined(names)));
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

LessonInfo find_lesson(const fs::path& home, const std::string& typed) {
  const std::vector<std::string> like = lessons_like(lesson_names(home), typed);
  if (like.size() < 2) return read_lesson(home, like.empty() ? typed : like.front());
  throw Error("\"" + printable(typed) + "\" may be several lessons", (home / "lessons").string(),
              "type more of one: " + joined(like));
}

LessonInfo parse_lesson(const std::string& text, const std::string& name, const fs::path& file) {
  LessonInfo info;
  info.name = name;
  info.file = file;
  sheet_keys().take(parse_toml(text, file.string()), info);
  info.honours = info.introduces;
  const std::size_t years = info.published.years.size();
  if (info.published.samples_per_s.size() != years || info.published.stacks.size() != years) {
    throw Error("[published] wants as many samples_per_s and stacks as years", info.file.string(),
                "one of each for every year");
  }
  return info;
}

}  // namespace isobar
