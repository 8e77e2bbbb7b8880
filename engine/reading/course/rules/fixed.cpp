// What is so by definition or by the code, whatever is run.

#include "core/text.h"
#include "course/rules/all.h"
#include "course/rules/parts.h"

namespace isobar {
void check_fixed(const Question& question) {
  const std::string key = question.argument("key");
  if (question.choice(key) == nullptr)
    wrong_question(question, "the key \"" + printable(key, 60) + "\" is none of the choices",
                   "key = one of theirs");
}

Truth fixed_truth(const RuleInput& input) {
  check_fixed(input.question);
  const std::string key = input.argument("key");
  Truth out;
  out.accepted = {key};
  out.figures = {{"key", key}};
  out.text = input.question.choice(key)->text;
  out.source = "by definition";
  return out;
}

}  // namespace isobar
