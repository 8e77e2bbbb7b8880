// What rules take from a question: its arguments, and the keys of its choices.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/find.h"
#include "core/number_text.h"
#include "core/text.h"
#include "course/rules/parts.h"

namespace isobar {

void wrong_question(const Question& question, const std::string& what, const std::string& hint) {
  throw Error(what, question.origin, hint);
}

void wrong_question(const RuleInput& input, const std::string& what, const std::string& hint) {
  wrong_question(input.question, what, hint);
}

double number_argument(const RuleInput& input, std::string_view name) {
  const std::string text = input.argument(name);
  const auto number = number_of<double>(text);
  if (!number || !std::isfinite(*number))
    wrong_question(input, fmt::format("the rule {} wants a number for {}", input.question.rule, name),
                   text.empty() ? "it is not there" : "it has \"" + printable(text, 60) + "\"");
  return *number;
}

double number_argument(const RuleInput& input, std::string_view name, double otherwise) {
  return input.argument(name).empty() ? otherwise : number_argument(input, name);
}

int whole_argument(const Question& question, std::string_view name, int least, int most,
                   const std::string& otherwise) {
  const std::string text = question.argument(name, otherwise);
  const auto number = number_of<int>(text);
  if (!number || *number < least || *number > most) {
    const bool has_most = most < std::numeric_limits<int>::max();
    wrong_question(question,
                   fmt::format("{} = \"{}\" is no whole number from {} {}", name, printable(text, 60), least,
                               has_most ? fmt::format("to {}", most) : "on"),
                   fmt::format("{} = \"{}\"", name, least));
  }
  return *number;
}

void check_choice_keys(const Question& question, const std::vector<std::string>& keys, bool all) {
  const std::string answers = "its answers: " + joined(keys);
  for (const QuestionChoice& choice : question.choices)
    if (!holds(keys, choice.key))
      wrong_question(question, "the rule never accepts \"" + printable(choice.key, 60) + "\"",
                     did_you_mean(choice.key, keys, answers));
  for (const std::string& key : keys)
    if (all && question.choice(key) == nullptr)
      wrong_question(question, "no choice has the key " + printable(key, 60), answers);
}

std::vector<std::string> pairs_of(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  for (const std::string& one : words) {
    for (const std::string& other : words) out.push_back(one + "_" + other);
  }
  return out;
}

std::string text_of_choice(const Question& question, const std::string& key) {
  const QuestionChoice* const choice = question.choice(key);
  return choice == nullptr ? key : choice->text;
}

}  // namespace isobar
