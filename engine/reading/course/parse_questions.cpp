#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "analyse/run_case.h"
#include "config/command_line.h"
#include "config/toml_text.h"
#include "core/error.h"
#include "core/number_text.h"
#include "core/text.h"
#include "course/question.h"
#include "course/question_checks.h"
#include "course/units.h"

namespace isobar {
namespace {

constexpr const char* kSeeOther = "the questions.toml of another lesson shows how it is written";

[[noreturn]] void refuse(const TomlEntry& entry, const std::string& wanted) {
  throw Error(printable(entry.key, 80) + " wants " + wanted + ", got " + describe(entry.value), entry.origin,
              kSeeOther);
}

std::string text_in(const TomlEntry& entry) {
  const auto* const text = std::get_if<std::string>(&entry.value);
  if (text == nullptr || text->empty()) refuse(entry, "a string that is not empty");
  return *text;
}

std::vector<std::string> texts_in(const TomlEntry& entry) {
  const auto* const list = std::get_if<std::vector<std::string>>(&entry.value);
  if (list == nullptr) refuse(entry, "a list of strings");
  return *list;
}

std::vector<std::string> text_or_texts(const TomlEntry& entry) {
  if (std::holds_alternative<std::string>(entry.value)) return {text_in(entry)};
  if (const auto* const whole = std::get_if<std::int64_t>(&entry.value)) return {std::to_string(*whole)};
  if (const auto* const number = std::get_if<double>(&entry.value)) return {fmt::format("{}", *number)};
  return texts_in(entry);
}

std::int64_t integer_in(const TomlEntry& entry, std::int64_t least, std::int64_t most) {
  const auto* const value = std::get_if<std::int64_t>(&entry.value);
  if (value == nullptr || *value < least || *value > most)
    refuse(entry, fmt::format("an integer from {} to {}", least, most));
  return *value;
}

double number_in(const TomlEntry& entry, double most, const std::string& wanted) {
  double value = -1;
  if (const auto* const whole = std::get_if<std::int64_t>(&entry.value)) value = static_cast<double>(*whole);
  if (const auto* const number = std::get_if<double>(&entry.value)) value = *number;
  if (!(value >= 0 && value <= most)) refuse(entry, wanted);
  return value;
}

std::string one_of(const TomlEntry& entry, const std::vector<std::string>& names) {
  std::string text = text_in(entry);
  if (std::find(names.begin(), names.end(), text) != names.end()) return text;
  throw Error(printable(entry.key, 80) + " cannot be \"" + printable(text, 80) + "\"", entry.origin,
              did_you_mean(text, names, "it is one of: " + joined(names)));
}

std::vector<std::string> settings_in(const TomlEntry& entry) {
  std::vector<std::string> sets = texts_in(entry);
  for (const std::string& set : sets) {
    if (set.find('=') == 0 || set.find('=') == std::string::npos)
      refuse(entry, "settings such as \"data.workers=4\"");
  }
  return sets;
}

const std::vector<TomlTable>& tables_in(const TomlEntry& entry) {
  static const std::vector<TomlTable> none;
  const auto* const list = std::get_if<std::vector<std::string>>(&entry.value);
  if (list != nullptr && list->empty()) return none;
  const auto* const tables = std::get_if<std::vector<TomlTable>>(&entry.value);
  if (tables == nullptr) refuse(entry, "tables");
  return *tables;
}

template <class Target>
struct TableKey {
  const char* name;
  void (*take)(const TomlEntry& entry, Target& target);
};

/// Each entry to the key of its name; "with." stands for all that begins so.
template <class Target, std::size_t kCount>
void take_all(const std::vector<TomlEntry>& entries, const std::array<TableKey<Target>, kCount>& keys,
              const std::string& what, Target& target) {
  std::vector<std::string> known;
  for (const TableKey<Target>& key : keys) known.emplace_back(key.name);
  for (const TomlEntry& entry : entries) {
    const auto key = std::find_if(keys.begin(), keys.end(), [&](const TableKey<Target>& one) {
      const std::string_view name = one.name;
      return entry.key == name || (name.ends_with('.') && entry.key.starts_with(name));
    });
    if (key != keys.end()) {
      key->take(entry, target);
      continue;
    }
    throw Error(what + " has no key \"" + printable(entry.key, 80) + "\"", entry.origin,
                did_you_mean(entry.key, known, "known: " + joined(known)));
  }
}

using Entry = const TomlEntry&;

/// What all runs of a file take over.
struct RunDefaults {
  std::string preset;
  std::int64_t steps = 0;
  std::int64_t repeats = 1;
};

std::int64_t steps_in(Entry entry) { return integer_in(entry, 1, 1'000'000); }
std::int64_t repeats_in(Entry entry) {
  return integer_in(entry, 1, static_cast<std::int64_t>(kMostRunRepeats));
}

std::string folder_in(Entry entry) {
  std::string folder = text_in(entry);
  const std::filesystem::path path = folder;
  if (path.is_absolute() || std::find(path.begin(), path.end(), "..") != path.end())
    refuse(entry, "a folder below lessons/");
  return folder;
}

std::string exit_code_in(Entry entry) {
  std::string code = text_in(entry);
  const std::optional<int> number = number_of<int>(code);
  if (!number || *number < 1 || *number > 255) refuse(entry, "an exit code from 1 to 255, as a string");
  return code;
}

struct RunDraft {
  NeededRun run;
  bool has_settings = false;  ///< of its own
};

constexpr std::array kRunKeys = {
    TableKey<RunDraft>{"name", [](Entry entry, RunDraft& out) { out.run.name = text_in(entry); }},
    TableKey<RunDraft>{"lesson", [](Entry entry, RunDraft& out) { out.run.lesson = text_in(entry); }},
    TableKey<RunDraft>{"preset", [](Entry entry, RunDraft& out) { out.run.preset = text_in(entry); }},
    TableKey<RunDraft>{"set",
                       [](Entry entry, RunDraft& out) {
                         for (std::string& set : settings_in(entry)) out.run.sets.push_back(std::move(set));
                         out.has_settings = true;
                       }},
    TableKey<RunDraft>{"steps", [](Entry entry, RunDraft& out) { out.run.steps = steps_in(entry); }},
    TableKey<RunDraft>{
        "ranks", [](Entry entry, RunDraft& out) { out.run.ranks = integer_in(entry, 1, kMostLocalRanks); }},
    TableKey<RunDraft>{"repeats", [](Entry entry, RunDraft& out) { out.run.repeats = repeats_in(entry); }},
    TableKey<RunDraft>{"recorded", [](Entry entry, RunDraft& out) { out.run.recorded = folder_in(entry); }},
    TableKey<RunDraft>{"predicted", [](Entry entry, RunDraft& out) { out.run.predicted = text_in(entry); }},
    TableKey<RunDraft>{"fails", [](Entry entry, RunDraft& out) { out.run.fails = exit_code_in(entry); }},
};

constexpr std::array kChoiceKeys = {
    TableKey<QuestionChoice>{"key", [](Entry entry, QuestionChoice& out) { out.key = text_in(entry); }},
    TableKey<QuestionChoice>{"text", [](Entry entry, QuestionChoice& out) { out.text = text_in(entry); }},
};

constexpr std::array kWrongKeys = {
    TableKey<Misconception>{"answer", [](Entry entry, Misconception& out) { out.answer = text_in(entry); }},
    TableKey<Misconception>{"says", [](Entry entry, Misconception& out) { out.says = text_in(entry); }},
};

struct Draft {
  Question question;
  std::vector<std::string> sets;  ///< of all its runs
  std::vector<TomlTable> runs;    ///< taken once `sets` is known
};

constexpr std::array kQuestionKeys = {
    TableKey<Draft>{"id", [](Entry entry, Draft& out) { out.question.id = text_in(entry); }},
    TableKey<Draft>{"from", [](Entry entry, Draft& out) { out.question.from = text_in(entry); }},
    TableKey<Draft>{"kind",
                    [](Entry entry, Draft& out) {
                      const Choices all = choices_of(AnswerKind{});
                      out.question.kind = *choice_named<AnswerKind>(one_of(entry, {all.begin(), all.end()}));
                    }},
    TableKey<Draft>{"beat",
                    [](Entry entry, Draft& out) {
                      out.question.beat = one_of(entry, {kQuestionBeats.begin(), kQuestionBeats.end()});
                    }},
    TableKey<Draft>{"goal",
                    [](Entry entry, Draft& out) {
                      out.question.goal = static_cast<int>(integer_in(entry, 1, 100));
                    }},
    TableKey<Draft>{"unit", [](Entry entry, Draft& out) { out.question.unit = one_of(entry, asked_units()); }},
    TableKey<Draft>{"tolerance",
                    [](Entry entry, Draft& out) {
                      out.question.tolerance = number_in(entry, 1, "a number from 0 to 1");
                    }},
    TableKey<Draft>{"tolerance_abs",
                    [](Entry entry, Draft& out) {
                      out.question.tolerance_abs = number_in(entry, 1e12, "a number that is 0 or more, in its unit");
                    }},
    TableKey<Draft>{"exact",
                    [](Entry entry, Draft& out) {
                      const auto* const value = std::get_if<bool>(&entry.value);
                      if (value == nullptr || !*value) refuse(entry, "true, or to be left out");
                      out.question.tolerance = 0;
                    }},
    TableKey<Draft>{"ask", [](Entry entry, Draft& out) { out.question.ask = text_in(entry); }},
    TableKey<Draft>{"why", [](Entry entry, Draft& out) { out.question.why = text_in(entry); }},
    TableKey<Draft>{"giveaway", [](Entry entry, Draft& out) { out.question.giveaway = texts_in(entry); }},
    TableKey<Draft>{"set", [](Entry entry, Draft& out) { out.sets = settings_in(entry); }},
    TableKey<Draft>{"rule", [](Entry entry, Draft& out) { out.question.rule = text_in(entry); }},
    TableKey<Draft>{"with.",
                    [](Entry entry, Draft& out) { out.question.with[entry.key.substr(5)] = text_or_texts(entry); }},
    TableKey<Draft>{"hints", [](Entry entry, Draft& out) { out.question.hints = texts_in(entry); }},
    TableKey<Draft>{"wrong",
                    [](Entry entry, Draft& out) {
                      for (const TomlTable& table : tables_in(entry))
                        take_all(table.entries, kWrongKeys, "a wrong answer", out.question.wrong.emplace_back());
                    }},
    TableKey<Draft>{"reveal", [](Entry entry, Draft& out) { out.question.reveal = text_in(entry); }},
    TableKey<Draft>{"again", [](Entry entry, Draft& out) { out.question.again = texts_in(entry); }},
    TableKey<Draft>{"choice",
                    [](Entry entry, Draft& out) {
                      for (const TomlTable& table : tables_in(entry))
                        take_all(table.entries, kChoiceKeys, "a choice", out.question.choices.emplace_back());
                    }},
    TableKey<Draft>{"run", [](Entry entry, Draft& out) { out.runs = tables_in(entry); }},
};

NeededRun run_of(const TomlTable& table, const Draft& draft, const RunDefaults& defaults) {
  RunDraft out;
  out.run.lesson = draft.question.lesson;
  out.run.preset = defaults.preset;
  out.run.steps = defaults.steps;
  out.run.repeats = defaults.repeats;
  out.run.sets = draft.sets;
  out.run.origin = table.origin;
  take_all(table.entries, kRunKeys, "a run", out);
  const NeededRun& run = out.run;
  if (run.name.empty())
    throw Error("a run has no name", table.origin, "the rule and the reveal call it by its name");
  if (run.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != std::string::npos)
    throw Error("a run cannot be called " + printable(run.name, 80), table.origin,
                "its name has lower-case letters, digits and _, as in w4 or no_scaler");
  if (!run.recorded.empty() && (!run.predicted.empty() || out.has_settings || !run.fails.empty())) {
    throw Error("the run " + printable(run.name, 80) + " is recorded: it is read as it is", table.origin,
                "recorded goes with name and lesson alone");
  }
  return out.run;
}

Question question_of(const TomlTable& table, const std::string& lesson, const RunDefaults& defaults) {
  Draft draft;
  draft.question.lesson = lesson;
  draft.question.origin = table.origin;
  const auto has = [&](const std::string& key) {
    return std::any_of(table.entries.begin(), table.entries.end(), [&](Entry one) { return one.key == key; });
  };
  if (!has("kind")) {
    throw Error("a question has no kind", table.origin, "kinds: " + joined(kAnswerKinds));
  }
  if (has("exact") && has("tolerance"))
    throw Error("a question is exact or has a tolerance", table.origin,
                "exact = true stands for tolerance = 0");
  take_all(table.entries, kQuestionKeys, "a question", draft);
  std::set<std::string> names;
  for (const TomlTable& run : draft.runs) {
    draft.question.runs.push_back(run_of(run, draft, defaults));
    const std::string& name = draft.question.runs.back().name;
    if (!names.insert(name).second)
      throw Error("two runs are called " + printable(name, 80), run.origin, "each has its own name");
  }
  check_question(draft.question);
  return std::move(draft.question);
}

struct QuestionFile {
  RunDefaults defaults;
  std::vector<TomlTable> questions;
};

constexpr std::array kFileKeys = {
    TableKey<QuestionFile>{"preset",
                           [](Entry entry, QuestionFile& out) { out.defaults.preset = text_in(entry); }},
    TableKey<QuestionFile>{"steps",
                           [](Entry entry, QuestionFile& out) { out.defaults.steps = steps_in(entry); }},
    TableKey<QuestionFile>{"repeats",
                           [](Entry entry, QuestionFile& out) { out.defaults.repeats = repeats_in(entry); }},
    TableKey<QuestionFile>{"question",
                           [](Entry entry, QuestionFile& out) { out.questions = tables_in(entry); }},
};

}  // namespace

std::vector<Question> parse_questions(const std::string& text, const std::string& file,
                                      const std::string& lesson) {
  QuestionFile all;
  take_all(parse_toml(text, file), kFileKeys, "a file of questions", all);
  std::vector<Question> out;
  for (const TomlTable& table : all.questions) {
    out.push_back(question_of(table, lesson, all.defaults));
    for (std::size_t i = 0; i + 1 < out.size(); ++i) {
      if (out[i].id == out.back().id)
        throw Error("two questions have the id " + out[i].id, table.origin,
                    "the other is at " + out[i].origin);
    }
  }
  return out;
}

}  // namespace isobar
