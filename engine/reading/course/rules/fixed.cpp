// What is so by definition or by the code, whatever is run.
#include <array>

#include "core/text.h"
#include "course/rules/all.h"
#include "course/rules/parts.h"

namespace isobar {
namespace {

Truth fixed_truth(const RuleInput& input) {
  const std::string key = input.argument("key");
  const QuestionChoice* const choice = input.question.choice(key);
  if (choice == nullptr)
    wrong_question(input, "the key \"" + printable(key, 60) + "\" is none of the choices",
                   "key = one of theirs");
  Truth out;
  out.accepted = {key};
  out.figures = {{"key", key}};
  out.text = choice->text;
  out.source = "by definition";
  return out;
}

}  // namespace

Rule fixed_rule() {
  static constexpr std::array kinds = {AnswerKind::choice};
  static constexpr std::array needs = {"key"};
  return {"fixed", "the choice that is right by definition or by the code",
          kinds,   needs,
          {},      answered<fixed_truth>};
}

}  // namespace isobar
