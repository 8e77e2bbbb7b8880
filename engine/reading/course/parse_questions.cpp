#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analyse/run_case.h"
#include "config/command_line.h"
#include "config/toml_keys.h"
#include "core/error.h"
#include "core/number_text.h"
#include "core/text.h"
#include "course/question.h"
#include "course/rules.h"
#include "course/units.h"
#include "course/variant.h"

namespace isobar {
namespace {

using Entry = const TomlEntry&;

/// A number as a rule reads it, or what is a list of strings otherwise.
std::vector<std::string> text_or_texts(Entry entry) {
  if (std::holds_alternative<std::string>(entry.value)) return {text_in(entry)};
  if (const auto* const whole = std::get_if<std::int64_t>(&entry.value)) return {std::to_string(*whole)};
  if (const auto* const number = std::get_if<double>(&entry.value)) return {fmt::format("{}", *number)};
  return texts_in(entry);
}

/// A list of numbers or strings, as texts.
std::vector<std::string> drawn_in(Entry entry) {
  const auto texts = [](const auto& numbers) {
    std::vector<std::string> out;
    for (const auto number : numbers) out.push_back(fmt::format("{}", number));
    return out;
  };
  if (const auto* const whole = std::get_if<std::vector<std::int64_t>>(&entry.value)) return texts(*whole);
  if (const auto* const numbers = std::get_if<std::vector<double>>(&entry.value)) return texts(*numbers);
  return texts_in(entry);
}

double number_in(Entry entry, double most, const std::string& wanted) {
  double value = -1;
  if (const auto* const whole = std::get_if<std::int64_t>(&entry.value)) value = static_cast<double>(*whole);
  if (const auto* const number = std::get_if<double>(&entry.value)) value = *number;
  if (!(value >= 0 && value <= most)) refuse_value(entry, wanted);
  return value;
}

std::vector<std::string> settings_in(Entry entry) {
  std::vector<std::string> sets = texts_in(entry);
  for (const std::string& set : sets) {
    if (set.find('=') == 0 || set.find('=') == std::string::npos)
      refuse_value(entry, "settings such as \"data.workers=4\"");
  }
  return sets;
}

std::string exit_code_in(Entry entry) {
  std::string code = text_in(entry);
  const std::optional<int> number = number_of<int>(code);
  if (!number || *number < 1 || *number > 255) refuse_value(entry, "an exit code from 1 to 255, as a string");
  return code;
}

constexpr std::int64_t kMostSteps = 1'000'000, kMostRepeats = kMostRunRepeats;

struct RunDraft : NeededRun {
  bool has_settings = false;  ///< it has settings of its own
};

const TomlKeys<RunDraft>& run_keys() {
  static const TomlKeys<RunDraft> kKeys(
      "a run",
      {{"name", &RunDraft::name},
       {"lesson", &RunDraft::lesson},
       {"preset", &RunDraft::preset},
       {"set",
        [](Entry entry, RunDraft& out) {
          for (std::string& set : settings_in(entry)) out.sets.push_back(std::move(set));
          out.has_settings = true;
        }},
       {"steps", &RunDraft::steps, 1, kMostSteps},
       {"ranks", &RunDraft::ranks, 1, kMostLocalRanks},
       {"repeats", &RunDraft::repeats, 1, kMostRepeats},
       {"recorded",
        [](Entry entry, RunDraft& out) { out.recorded = path_below(entry, "a folder below lessons/"); }},
       {"predicted", &RunDraft::predicted},
       {"fails", [](Entry entry, RunDraft& out) { out.fails = exit_code_in(entry); }}});
  return kKeys;
}

struct Draft : Question {
  std::vector<std::string> sets;      ///< settings of all its runs
  std::vector<TomlTable> run_tables;  ///< taken once `sets` is known
  std::map<std::string, std::vector<std::string>> draws;
};

const TomlKeys<Draft>& question_keys() {
  static const TomlKeys<QuestionChoice> kChoiceKeys(
      "a choice", {{"key", &QuestionChoice::key},
                   {"text", &QuestionChoice::text},
                   {"shows", [](Entry entry, QuestionChoice& out) { out.shows = settings_in(entry); }}});
  static const TomlKeys<Misconception> kWrongKeys(
      "a wrong answer",
      {{"answer", &Misconception::answer}, {"says", &Misconception::says}, {"about", &Misconception::about}});
  static const TomlKeys<Draft> kKeys(
      "a question",
      {{"id", &Draft::id},
       {"from", &Draft::from},
       {"kind",
        [](Entry entry, Draft& out) {
          const Choices all = choices_of(AnswerKind{});
          out.kind = *choice_named<AnswerKind>(one_of_in(entry, {all.begin(), all.end()}));
        }},
       {"beat",
        [](Entry entry, Draft& out) {
          out.beat = one_of_in(entry, {kQuestionBeats.begin(), kQuestionBeats.end()});
        }},
       {"goal", &Draft::goal, 1, 100},
       {"unit", [](Entry entry, Draft& out) { out.unit = one_of_in(entry, asked_units()); }},
       {"tolerance",
        [](Entry entry, Draft& out) { out.tolerance = number_in(entry, 1, "a number from 0 to 1"); }},
       {"tolerance_abs",
        [](Entry entry, Draft& out) {
          out.tolerance_abs = number_in(entry, 1e12, "a number that is 0 or more, in its unit");
        }},
       {"exact",
        [](Entry entry, Draft& out) {
          if (!std::holds_alternative<bool>(entry.value) || !flag_in(entry))
            refuse_value(entry, "true, or to be left out");
          out.tolerance = 0;
        }},
       {"ask", &Draft::ask},
       {"why", &Draft::why},
       {"giveaway", &Draft::giveaway},
       {"set", [](Entry entry, Draft& out) { out.sets = settings_in(entry); }},
       {"rule", &Draft::rule},
       {"with.", [](Entry entry, Draft& out) { out.with[entry.key.substr(5)] = text_or_texts(entry); }},
       {"draw.", [](Entry entry, Draft& out) { out.draws[entry.key.substr(5)] = drawn_in(entry); }},
       {"core", &Draft::is_core},
       {"hints", &Draft::hints},
       {"wrong", &Draft::wrong, kWrongKeys},
       {"reveal", &Draft::reveal},
       {"choice", &Draft::choices, kChoiceKeys},
       {"run", [](Entry entry, Draft& out) { out.run_tables = tables_in(entry); }}});
  return kKeys;
}

/// What all runs of a file take over, and its questions.
struct QuestionFile : NeededRun, LessonForm {
  std::vector<TomlTable> questions;
};

const TomlKeys<QuestionFile>& file_keys() {
  static const TomlKeys<LessonForm::Goal> kGoalKeys("a goal", {{"reads", &LessonForm::Goal::reads},
                                                               {"closes", &LessonForm::Goal::closes},
                                                               {"notice", &LessonForm::Goal::notice},
                                                               {"try", &LessonForm::Goal::next}});
  static const TomlKeys<QuestionFile> kKeys(
      "a file of questions",
      {{"opens_with", &QuestionFile::opens_with},
       {"goal", &QuestionFile::goals, kGoalKeys},
       {"preset", &QuestionFile::preset},
       {"steps", &QuestionFile::steps, 1, kMostSteps},
       {"repeats", &QuestionFile::repeats, 1, kMostRepeats},
       {"question", [](Entry entry, QuestionFile& out) { out.questions = tables_in(entry); }}});
  return kKeys;
}

NeededRun run_of(const TomlTable& table, const Draft& draft, const NeededRun& defaults) {
  RunDraft out{defaults};
  out.lesson = draft.lesson;
  out.sets = draft.sets;
  out.origin = table.origin;
  run_keys().take(table, out);
  if (out.name.empty())
    throw Error("a run has no name", table.origin, "the rule and the reveal call it by its name");
  if (out.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != std::string::npos)
    throw Error("a run cannot be called " + printable(out.name, 80), table.origin,
                "its name has lower-case letters, digits and _, as in w4 or no_scaler");
  if (!out.recorded.empty() && (!out.predicted.empty() || out.has_settings || !out.fails.empty())) {
    throw Error("the run " + printable(out.name, 80) + " is recorded: it is read as it is", table.origin,
                "recorded goes with name and lesson alone");
  }
  return out;
}

Question question_of(const TomlTable& table, const std::string& lesson, const NeededRun& defaults) {
  Draft draft;
  draft.lesson = lesson;
  draft.origin = table.origin;
  const auto has = [&](const std::string& key) {
    return std::ranges::any_of(table.entries, [&](Entry one) { return one.key == key; });
  };
  if (!has("kind")) {
    throw Error("a question has no kind", table.origin, "kinds: " + joined(kAnswerKinds));
  }
  if (has("exact") && has("tolerance"))
    throw Error("a question is exact or has a tolerance", table.origin,
                "exact = true stands for tolerance = 0");
  question_keys().take(table, draft);
  std::set<std::string> names;
  for (const TomlTable& run : draft.run_tables) {
    draft.runs.push_back(run_of(run, draft, defaults));
    const std::string& name = draft.runs.back().name;
    if (!names.insert(name).second)
      throw Error("two runs are called " + printable(name, 80), run.origin, "each has its own name");
  }
  if (draft.draws.empty()) {
    check_question(draft);
    return draft;
  }
  draft.variants = drawn_values(draft, draft.draws);
  draft.form = std::make_shared<const Question>(draft);
  for (std::size_t n = 0; n < draft.variants.size(); ++n) check_question(variant(draft, n));
  return variant(draft, 0);
}

}  // namespace

std::vector<Question> parse_questions(const std::string& text, const std::string& file,
                                      const std::string& lesson, LessonForm* form) {
  QuestionFile all;
  file_keys().take(parse_toml(text, file), all);
  if (form != nullptr) *form = all;
  std::vector<Question> out;
  for (const TomlTable& table : all.questions) {
    out.push_back(question_of(table, lesson, all));
    for (std::size_t i = 0; i + 1 < out.size(); ++i) {
      if (out[i].id == out.back().id)
        throw Error("two questions have the id " + out[i].id, table.origin,
                    "the other is at " + out[i].origin);
    }
  }
  return out;
}

}  // namespace isobar
