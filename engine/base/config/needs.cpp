#include "config/needs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "config/lesson.h"
#include "config/option_parser.h"
#include "core/error.h"
#include "core/files.h"
#include "core/find.h"
#include "core/nvidia.h"
#include "core/text.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

using Words = std::vector<std::string>;

constexpr std::uint64_t kMostNeedsBytes = 1 << 20;

struct NeedsRow {
  Words commands, conditions, what;
};

Words words_in(const std::string& text) {
  Words out = split(text, ' ');
  std::erase(out, "");
  return out;
}

std::vector<NeedsRow> read_rows(const fs::path& file, const std::string& command) {
  std::vector<NeedsRow> out;
  for (const std::string& line : split(read_text_file(file, kMostNeedsBytes), '\n')) {
    if (line.empty() || line.front() == '#') continue;
    const Words columns = split(line, '|');
    if (columns.size() != 3) throw Error("a row of three columns is wanted", file.string() + ": " + line, "");
    NeedsRow row = {words_in(columns[0]), words_in(columns[1]), words_in(columns[2])};
    const Words& commands = row.commands == Words{"value"} ? row.conditions : row.commands;
    if (holds(commands, "*") || holds(commands, command)) out.push_back(std::move(row));
  }
  return out;
}

std::string with(std::string text, std::string_view name, const std::string& value) {
  if (const std::size_t at = text.find(name); at != std::string::npos) text.replace(at, name.size(), value);
  return text;
}

bool has_line(const fs::path& file, std::string_view beginning) {
  std::error_code code;
  if (!fs::is_regular_file(file, code)) return false;
  const std::string text = "\n" + read_text_file(file, kMostNeedsBytes);
  return text.find("\n" + std::string(beginning)) != std::string::npos;
}

class NeedsReader {
 public:
  NeedsReader(const fs::path& home, const Words& words, const NeedsMachine& machine)
      : home_(home),
        command_(words.empty() ? "" : words.front()),
        rows_(read_rows(home / "cmake/setup/needs.txt", command_)),
        every_(lesson_names(home)) {
    out_.parts = {"base", "fetch"};
    take_words({words.begin() + (words.empty() ? 0 : 1), words.end()});
    if (machine.driver) out_.facts.insert("driver");
    if (machine.terminal) out_.facts.insert("terminal");
    if (machine.rates) out_.facts.insert("rates");
    take_lesson();
    for (const NeedsRow& row : rows_) {
      if (row.commands == Words{"value"}) continue;
      const auto is_met = [this](const std::string& condition) { return meets(condition); };
      if (std::all_of(row.conditions.begin(), row.conditions.end(), is_met))
        for (const std::string& one : row.what) take_what(one);
    }
  }

  Needs needs() && { return std::move(out_); }

 private:
  /// Names that no row has are left out.
  void add_fact(const std::string& name) {
    constexpr std::string_view kPlain =
        "-+_=.,:/0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    if (!name.empty() && name.find_first_not_of(kPlain) == std::string::npos) out_.facts.insert(name);
  }

  void take_words(const Words& words) {
    std::map<std::string, Words> values;
    OptionParser parser("What a command line needs", "isobar-run --needs");
    for (const NeedsRow& row : rows_) {
      if (row.commands != Words{"value"}) continue;
      for (const std::string& name : row.what) parser.add(name, values[name], "");
    }
    bool rest = false;
    for (const std::string& word : parser.parse_known(words)) {
      if (!rest && word == "--") {
        rest = true;
      } else if (rest || word.size() < 2 || word.front() != '-') {
        named_.push_back(word);
      } else {
        add_fact(word.substr(0, word.find('=')));
        add_fact(word);
      }
    }
    for (const auto& [name, given] : values) {
      if (!given.empty()) add_fact(name);
      for (const std::string& value : given) add_fact(name + "=" + value);
    }
    if (named_.empty()) return;
    add_fact("word");
    add_fact("word=" + named_.front());
  }

  std::string lesson_of(const std::string& word) const {
    const Words found = lessons_like(every_, word);
    return found.size() == 1 ? found.front() : "";
  }

  /// The lesson of a question, "06.wire" or "wire".
  std::string lesson_of_question(const std::string& word) const {
    std::string out = lesson_of(word.substr(0, word.find('.')));
    if (!out.empty()) return out;
    for (const std::string& name : every_) {
      const std::string id = "id = \"" + name.substr(0, name.find('_')) + "." + word + "\"";
      if (has_line(home_ / "lessons" / name / "questions.toml", id)) out = name;
    }
    return out;
  }

  void take_lesson() {
    const std::string word = named_.empty() ? "" : named_.front();
    if (word.empty()) return;
    out_.lesson = command_ == "quiz" || command_ == "learn" ? lesson_of_question(word) : lesson_of(word);
    if (out_.lesson.empty()) return;
    const fs::path exercise = home_ / "lessons" / out_.lesson / "exercise/exercise.toml";
    const LessonInfo lesson = read_lesson(home_, out_.lesson);
    const bool all_alone = std::all_of(every_.begin(), every_.end(), [&](const std::string& name) {
      return name > out_.lesson || read_lesson(home_, name).stands_alone;
    });
    const std::pair<const char*, bool> facts[] = {{"lesson", true},
                                                  {"alone", lesson.stands_alone},
                                                  {"all_alone", all_alone},
                                                  {"cuda", lesson.needs == "cuda"},
                                                  {"exercise", fs::exists(exercise)},
                                                  {"race", has_line(exercise, "name = \"race\"")}};
    for (const auto& [name, is] : facts) {
      if (is) out_.facts.insert(name);
    }
  }

  bool meets(const std::string& condition) const {
    const Words names = split(condition, ',');
    return std::any_of(names.begin(), names.end(), [this](const std::string& name) {
      return name.front() == '!' ? !out_.facts.contains(name.substr(1)) : out_.facts.contains(name);
    });
  }

  void build(const std::string& target) {
    if (!target.empty() && !holds(out_.targets, target)) out_.targets.push_back(target);
  }
  void build_lessons(const std::string& last) {
    for (const std::string& name : every_) {
      if (last.empty() || name <= last) build(name);
    }
  }

  void take_what(std::string one) {
    one = with(one, "_WORD", "_" + (named_.empty() ? "" : named_.front()));
    one = with(one, "_LESSON", "_" + out_.lesson);
    if (one == "+EVERY" || (one == "+NAMED" && named_.empty())) {
      build_lessons("");
    } else if (one == "+NAMED") {
      for (const std::string& word : named_) build(lesson_of(word));
    } else if (one == "+LESSONS") {
      build_lessons(out_.lesson);
    } else if (one == "+LESSON") {
      build(out_.lesson);
    } else if (one.front() == '+') {
      build(one.substr(1));
    } else if (one.starts_with("by:")) {
      out_.program = one.substr(3);
    } else if (one.starts_with("part:")) {
      out_.parts.push_back(one.substr(5));
    } else if (one.front() == '-') {
      out_.facts.erase(one.substr(1));
    } else {
      out_.facts.insert(one);
    }
  }

  fs::path home_;
  std::string command_;
  std::vector<NeedsRow> rows_;
  Words every_, named_;
  Needs out_;
};

}  // namespace

NeedsMachine needs_machine_here() {
  std::error_code code;
  return {.driver = has_nvidia_driver(),
          .terminal = isatty(STDIN_FILENO) == 1,
          .rates = fs::is_regular_file(cache_prefix() / "rates.toml", code)};
}

std::string Needs::text() const {
  return fmt::format("lesson={}\nprogram={}\ntargets={}\nparts={}\nfacts={}\n", lesson, program,
                     joined(targets, " "), joined(parts, " "), joined(facts, " "));
}

Needs needs_of(const fs::path& home, const Words& words, const NeedsMachine& machine) {
  return NeedsReader(home, words, machine).needs();
}

}  // namespace isobar
