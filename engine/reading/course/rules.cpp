#include "course/rules.h"

#include <fmt/format.h>

#include <set>

#include "core/error.h"
#include "core/find.h"
#include "core/number_text.h"
#include "core/text.h"
#include "course/units.h"

namespace isobar {
namespace {

/// Arguments of rules whose values are names of runs; "best" stands for the best of the others.
constexpr std::string_view kRunArguments[] = {"run", "runs", "base", "other", "healthy", "fault"};
constexpr const char* kBestRun = "best";

[[noreturn]] void wrong(const Question& question, const std::string& what, const std::string& hint) {
  throw Error(question.id + ": " + what, question.origin, hint);
}

void check_id(const Question& question) {
  if (question.id.empty())
    throw Error("a question has no id", question.origin, "for example  id = \"02.best_workers\"");
  const std::string number = question.lesson.substr(0, question.lesson.find('_')) + ".";
  const std::string name = question.id.starts_with(number) ? question.id.substr(number.size()) : "";
  const bool is_name = name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
  if (name.empty() || !is_name || number_of<int>(name)) {
    throw Error("the id " + printable(question.id, 80) + " does not belong to " + question.lesson,
                question.origin,
                "it begins with " + number + " and continues with lower-case letters, digits and _");
  }
}

void check_fields(const Question& question) {
  const std::pair<const char*, const std::string*> fields[] = {
      {"from", &question.from}, {"beat", &question.beat}, {"ask", &question.ask},
      {"why", &question.why},   {"rule", &question.rule}, {"reveal", &question.reveal}};
  for (const auto& [name, value] : fields) {
    if (value->empty()) wrong(question, std::string("it has no ") + name, "every question has one");
  }
  if (question.hints.empty() || question.hints.size() > 3)
    wrong(question, counted(static_cast<std::int64_t>(question.hints.size()), "hint"),
          "one to three are wanted");
  const bool is_fixed =
      question.kind != AnswerKind::make && std::ranges::all_of(question.runs, [](const NeededRun& run) {
        return !run.recorded.empty() || !run.predicted.empty();
      });
  if (is_fixed && question.giveaway.empty() && question.drawn.empty()) {
    wrong(question, "its answer is the same everywhere, and it has no giveaway",
          "giveaway lists what no page may contain, such as the figure that answers it");
  }
}

void check_kind(const Question& question) {
  const bool is_number = question.kind == AnswerKind::number;
  if (is_number && question.unit.empty())
    wrong(question, "a number needs a unit", "units: " + joined(asked_units()));
  const bool has_number_keys = !question.unit.empty() || question.tolerance || question.tolerance_abs != 0;
  if (!is_number && has_number_keys) {
    wrong(question, fmt::format("a {} has no unit and no tolerance", kind_name(question.kind)),
          "they belong to kind = \"number\"");
  }
  const bool is_choice = question.kind == AnswerKind::choice;
  if (is_choice && question.choices.size() < 2)
    wrong(question, "a choice needs two [[question.choice]] at least", "each has a key and a text");
  if (!is_choice && !question.choices.empty())
    wrong(question, fmt::format("a {} has no choices", kind_name(question.kind)),
          "kind = \"choice\" has them");
  constexpr std::size_t kMostChoices = 26;  // each has a letter
  if (question.choices.size() > kMostChoices)
    wrong(question, fmt::format("it has {} choices", question.choices.size()),
          "26 at most: each has a letter");
  std::set<std::string> keys;
  for (const QuestionChoice& choice : question.choices) {
    const auto place = static_cast<std::size_t>(&choice - question.choices.data());
    const std::size_t letter = choice.key.size() == 1 ? static_cast<std::size_t>(choice.key[0] - 'a') : place;
    if (letter != place && letter < question.choices.size())
      wrong(question, "the key " + choice.key + " is the letter of another choice", "a key is a word");
    if (choice.key.empty() || choice.text.empty())
      wrong(question, "a choice without key or text", "[[question.choice]] has both");
    if (!keys.insert(choice.key).second)
      wrong(question, "two choices have the key " + printable(choice.key, 80), "each has its own");
  }
}

/// Whether a `wrong` answer is one that can be given.
void check_misconception(const Question& question, const Misconception& one) {
  if (one.answer.empty() || one.says.empty())
    wrong(question, "a wrong answer needs `answer` and `says`",
          "wrong = [{ answer = \"...\", says = \"...\" }]");
  std::vector<std::string> known;
  bool fits = false;
  if (question.kind == AnswerKind::choice) {
    for (const QuestionChoice& choice : question.choices) known.push_back(choice.key);
  } else if (question.kind == AnswerKind::direction) {
    known.assign(std::begin(kDirections), std::end(kDirections));
  } else if (question.kind != AnswerKind::make) {
    known = {"below", "above"};
    fits = number_of<double>(one.answer).has_value();
  }
  if (fits || holds(known, one.answer)) return;
  if (known.empty()) wrong(question, "a make question has no wrong answers", "leave `wrong` out");
  wrong(question, "\"" + printable(one.answer, 80) + "\" is not a possible answer",
        did_you_mean(one.answer, known, "answers: " + joined(known)));
}

std::vector<std::string> arguments_of(const Rule& rule) {
  std::vector<std::string> out = rule.needs;
  out.insert(out.end(), rule.may.begin(), rule.may.end());
  return out;
}

const Rule& rule_of(const Question& question) {
  if (const Rule* const rule = rule_named(question.rule)) return *rule;
  std::vector<std::string> names;
  for (const Rule& rule : all_rules()) names.emplace_back(rule.name);
  wrong(question, "there is no rule \"" + printable(question.rule, 80) + "\"",
        did_you_mean(question.rule, names, "rules: " + joined(names)));
}

void check_rule(const Question& question, const Rule& rule) {
  const std::string name = std::string("the rule ") + rule.name;
  if (!holds(rule.kinds, question.kind)) {
    std::vector<std::string> kinds;
    for (const AnswerKind kind : rule.kinds) kinds.emplace_back(kind_name(kind));
    wrong(question, fmt::format("{} cannot grade a {}", name, kind_name(question.kind)),
          "it grades: " + joined(kinds));
  }
  const std::vector<std::string> known = arguments_of(rule);
  for (const auto& [argument, values] : question.with) {
    if (!holds(known, argument)) {
      wrong(question, name + " has no argument \"" + printable(argument, 80) + "\"",
            did_you_mean(argument, known, known.empty() ? "it has none" : "it has: " + joined(known)));
    }
  }
  for (const std::string& argument : rule.needs) {
    const auto found = question.with.find(argument);
    if (found == question.with.end() || found->second.empty())
      wrong(question, fmt::format("{} needs {}", name, argument), rule.means);
  }
}

/// Each run that the rule names is there, and each that is there is named to the rule.
void check_runs(const Question& question, const Rule& rule) {
  std::vector<std::string> runs;
  for (const NeededRun& run : question.runs) runs.push_back(run.name);
  std::set<std::string> used;
  bool takes_all = holds(arguments_of(rule), "runs") && !question.with.contains("runs");
  for (const std::string_view argument : kRunArguments) {
    const auto found = question.with.find(std::string(argument));
    if (found == question.with.end()) continue;
    for (const std::string& name : found->second) {
      used.insert(name);
      if (name == kBestRun) takes_all = true;
      if (name == kBestRun || holds(runs, name)) continue;
      wrong(question, fmt::format("{} = \"{}\" is none of its runs", argument, printable(name, 80)),
            did_you_mean(name, runs, runs.empty() ? "[[question.run]] adds one" : "runs: " + joined(runs)));
    }
  }
  for (const std::string& name : runs) {
    if (!takes_all && !used.contains(name))
      wrong(question, "the run " + printable(name, 80) + " is not passed to the rule", "name it in `with`");
  }
}

/// The rule defines their names; that each is closed is checked here.
void check_placeholders(const Question& question) {
  std::vector<std::string> texts = {question.reveal};
  for (const Misconception& one : question.wrong) texts.push_back(one.says);
  for (const std::string& text : texts) {
    for (std::size_t at = text.find('{'); at != std::string::npos; at = text.find('{', at + 1)) {
      if (text.find('}', at) == std::string::npos)
        wrong(question, "a placeholder is not closed: " + printable(text.substr(at), 40),
              "placeholders look like {step_ms}");
    }
  }
}

}  // namespace

std::string RuleInput::argument(std::string_view name, const std::string& otherwise) const {
  return question.argument(name, otherwise);
}

std::vector<std::string> RuleInput::arguments(std::string_view name) const {
  return question.arguments(name);
}

bool is_timed(const Question& question) {
  const Rule* const rule = rule_named(question.rule);
  return rule != nullptr && rule->is_timed != nullptr && rule->is_timed(question);
}

const Rule* rule_named(std::string_view name) {
  const std::span<const Rule> rules = all_rules();
  return find_by(rules, &Rule::name, name);
}

void check_question(const Question& question) {
  check_id(question);
  check_fields(question);
  check_kind(question);
  const Rule& rule = rule_of(question);
  check_rule(question, rule);
  check_runs(question, rule);
  if (rule.check != nullptr) rule.check(question);
  for (const Misconception& one : question.wrong) check_misconception(question, one);
  check_placeholders(question);
}

}  // namespace isobar
