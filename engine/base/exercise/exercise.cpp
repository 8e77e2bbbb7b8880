#include "exercise/exercise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <span>
#include <sstream>

#include "config/lesson.h"
#include "config/toml_keys.h"
#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
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
  static const TomlKeys<ExerciseMistake> kMistakeKeys(
      "a mistake", {{"finds", &ExerciseMistake::finds}, {"hints", &ExerciseMistake::hints}},
      [](ExerciseMistake& mistake, const std::string& origin) {
        if (mistake.finds.empty() || mistake.hints.empty())
          throw Error("a mistake wants finds and hints", origin, see_another(origin));
      });
  static const TomlKeys<Exercise> kKeys("an exercise", {{"file", &Exercise::file},
                                                        {"title", &Exercise::title},
                                                        {"minutes", &Exercise::minutes, 1, 1000},
                                                        {"sanitized", &Exercise::is_sanitized},
                                                        {"run", &Exercise::run},
                                                        paragraph("text", &Exercise::text),
                                                        paragraph("after", &Exercise::after),
                                                        {"first", &Exercise::first},
                                                        {"first_minutes", &Exercise::first_minutes, 1, 10},
                                                        paragraph("first_text", &Exercise::first_text),
                                                        {"check", &Exercise::checks, kCheckKeys},
                                                        {"mistake", &Exercise::mistakes, kMistakeKeys}});
  return kKeys;
}

fs::path toml_of(const fs::path& home, const std::string& lesson) {
  return home / "lessons" / lesson / "exercise/exercise.toml";
}

}  // namespace

std::string Exercise::run_command() const {
  return "./isobar run " + lesson + " --mine" + (run.empty() ? "" : " " + run);
}

std::string Exercise::first_step() const {
  return first.empty() ? ""
                       : fmt::format("first, about {}: {}", counted(first_minutes, "minute"), first_text);
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
  if (!out.first.empty() &&
      (out.find(out.first) == nullptr || out.first_minutes < 1 || out.first_text.empty()))
    throw Error("a first step wants the name of a check, first_minutes and first_text", file.string(),
                "first = \"" + out.checks.front().name + "\"");
  return out;
}

namespace {

constexpr std::uint64_t kMostSource_bytes = 1 << 20;

std::string text_of(const fs::path& file) { return read_text_file(file, kMostSource_bytes); }

/// "(edition 1a2b3c4d)", or "" where the learner took the line out.
std::string edition_in(const std::string& text) {
  const std::size_t at = text.find("(edition ");
  return at == std::string::npos || at + 18 > text.size() ? "" : text.substr(at, 18);
}

fs::path given_file(const Exercise& exercise, const fs::path& my) {
  return my / ".given" / exercise.own_name();
}

/// Whether something of this name is there. Error (exit code 1) for a link whose target is away, as that to a
/// stick is: what it leads to is the learner's file all the same.
bool is_taken(const fs::path& path) {
  std::error_code code;
  const bool taken = fs::exists(fs::symlink_status(path, code));
  if (taken && !fs::exists(path, code) && fs::is_symlink(path, code))
    throw Error(
        "what your file is a link to is not there: " + printable(fs::read_symlink(path, code).string(), 400),
        as_typed(path).string(), "bring it back, or remove the link", Exit::failed);
  return taken;
}

enum class Cut { skeleton, solution };

std::string cut(const std::string& text, const std::string& origin, Cut what) {
  std::istringstream lines(text);
  std::string out;
  bool inside = false;
  int number = 0;
  const auto refuse = [&](const char* why) {
    throw Error(why, fmt::format("{}:{}", origin, number), "// BEGIN what to do ... // END", Exit::failed);
  };
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::size_t at = line.find_first_not_of(' ');
    const std::string indent = at == std::string::npos ? "" : line.substr(0, at);
    const std::string rest = at == std::string::npos ? "" : line.substr(at);
    if (rest.starts_with("// BEGIN ")) {
      if (inside) refuse("BEGIN within a part that is cut");
      if (rest.back() != '.' && rest.back() != '?')
        refuse("what is to be done stands on one line, with its end");
      inside = true;
      if (what == Cut::skeleton) out += indent + "// YOU: " + rest.substr(9) + "\n";
    } else if (rest == "// END") {
      if (!inside) refuse("END without BEGIN");
      inside = false;
    } else if (rest.starts_with("//> ")) {
      if (!inside) refuse("a line of the skeleton outside of a part that is cut");
      if (what == Cut::skeleton) out += indent + rest.substr(4) + "\n";
    } else if (!inside || what == Cut::solution) {
      out += line + "\n";
    }
  }
  if (inside) refuse("BEGIN without END");
  return out;
}

}  // namespace

fs::path my_folder(const fs::path& home) {
  const char* const named = std::getenv("ISOBAR_MY");
  return named != nullptr && *named != '\0' ? fs::path(named) : home / "my";
}

std::string digest_of_text(const std::string& text) {
  return fmt::format("{:08x}", crc32c(std::as_bytes(std::span(text))));
}

std::string read_skeleton(const Exercise& exercise) {
  const std::string skeleton =
      cut_skeleton(text_of(exercise.solution_file()), exercise.solution_file().string());
  // The edition is of what is given and promised.
  return fmt::format("// Yours: ./isobar check {} looks at it. (edition {})\n{}", exercise.lesson,
                     digest_of_text(text_of(exercise.folder / "exercise.h") + skeleton), skeleton);
}

MyFile read_my_file(const Exercise& exercise, const fs::path& my) {
  MyFile out;
  out.path = my / exercise.own_name();
  out.skeleton = read_skeleton(exercise);
  out.given = out.skeleton;
  out.is_there = is_taken(out.path);
  if (!out.is_there) return out;
  out.text = text_of(out.path);
  const fs::path given = given_file(exercise, my);
  if (fs::exists(given)) out.given = text_of(given);
  const std::string own = edition_in(out.text).empty() ? edition_in(out.given) : edition_in(out.text);
  out.is_of_older_edition = own != edition_in(out.skeleton);
  return out;
}

bool MyFile::rest_is_untouched() const {
  const std::size_t end = given.find("\n}\n", given.find("// YOU: "));
  return end != std::string::npos && text.ends_with(given.substr(end));
}

MyFile find_my_file(const Exercise& exercise, const fs::path& my, const std::string& command) {
  MyFile mine = read_my_file(exercise, my);
  if (!mine.is_there)
    throw Error("there is no " + as_typed(mine.path).string(), command,
                "./isobar exercise " + exercise.lesson + " puts the skeleton there");
  return mine;
}

bool place_my_file(const Exercise& exercise, const fs::path& my) {
  const fs::path path = my / exercise.own_name();
  if (is_taken(path)) return false;
  const std::string skeleton = read_skeleton(exercise);
  std::error_code code;
  fs::create_directories(my / ".given", code);
  if (code)
    throw Error("no folder for your files can be made: " + code.message(), my.string(),
                "ISOBAR_MY names another one", Exit::failed);
  write_file_whole(given_file(exercise, my), std::string_view(skeleton));
  write_file_whole(path, std::string_view(skeleton));
  return true;
}

Hints hints_of(const Exercise& exercise, const std::string& check, const std::string& sentence) {
  const ExerciseCheck* const found = exercise.find(check);
  if (found == nullptr) return {};
  Hints out = {check, found->hints};
  const auto shows = [&](auto& one) { return sentence.find(one.finds) != std::string::npos; };
  if (const ExerciseMistake* const mistake = find_where(exercise.mistakes, shows))
    out = {fmt::format("{}:{}", check, mistake - exercise.mistakes.data() + 1), mistake->hints};
  out.texts.push_back("the solution is " + as_typed(exercise.solution_file()).string() + "; ./isobar check " +
                      exercise.lesson + " --solution shows it beside yours");
  return out;
}

namespace {

fs::path hints_file(const Exercise& exercise, const fs::path& my) {
  return my / ".given" / (exercise.lesson + ".hints");
}

/// At least 1, at most all of them; 0 where there are none.
int count_of(const Exercise& exercise, const fs::path& my, const Hints& hints, int more) {
  if (hints.of.empty()) return 0;
  std::string name;
  int shown = 1;
  std::ifstream(hints_file(exercise, my)) >> name >> shown;
  return std::clamp(name == hints.of ? shown + more : 1, 1, static_cast<int>(hints.texts.size()));
}

}  // namespace

int kept_hints(const Exercise& exercise, const fs::path& my, const Hints& hints) {
  return count_of(exercise, my, hints, 0);
}

int shown_hints(const Exercise& exercise, const fs::path& my, const Hints& hints, bool one_more) {
  const int shown = count_of(exercise, my, hints, one_more ? 1 : 0);
  if (shown == 0) return 0;
  const fs::path file = hints_file(exercise, my);
  try {
    std::error_code ignored;
    fs::create_directories(file.parent_path(), ignored);
    write_file_whole(file, hints.of + " " + std::to_string(shown) + "\n");
  } catch (const Error&) {
    // Asked again, the same hint comes.
  }
  return shown;
}

std::string cut_skeleton(const std::string& solution, const std::string& origin) {
  return cut(solution, origin, Cut::skeleton);
}

std::string plain_solution(const std::string& solution, const std::string& origin) {
  return cut(solution, origin, Cut::solution);
}

}  // namespace isobar
