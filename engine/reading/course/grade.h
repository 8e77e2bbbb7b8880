#pragma once
// A prediction beside what is true.
#include <string>

#include "course/answer.h"
#include "course/rules.h"

namespace isobar {

/// provisional: a number about the learner's machine beside one that was recorded elsewhere; it is graded
/// once runs of their own can be.
enum class Outcome { right, not_right, cannot_answer, provisional };
const char* outcome_name(Outcome outcome);

struct Graded {
  Outcome outcome = Outcome::cannot_answer;
  std::string cannot;  ///< why it cannot be answered: Truth::cannot, or that no choice is what is true
  std::string said;    ///< the answer in words: "24 ms", "b: the threads wait", "line 61"
  std::string truth;   ///< what it is, in words
  std::string off_by;  ///< for a number: "a factor of 2.4 below what was measured (right within 25 %)"; "" =
                       ///< no number
  std::string
      says;  ///< the misconception that this answer usually comes from, placeholders filled; "" = none
  std::string about;   ///< Misconception::about of it
  std::string reveal;  ///< the question's text, placeholders filled
  std::string source;
};

/// A number is right within its tolerance of the truth, or of the interval that the truth gives. Where the
/// truth is "same", a direction of "same" is the right one.
Graded grade(const Question& question, const Answer& answer, const Truth& truth);

/// The answer is compared with the nearest of several numbers that are right.
void take_nearest(const Question& question, const Answer& answer, Truth& truth);

/// A text whose placeholders {name} are filled from the figures. Error for one that there is no figure for.
std::string filled(const std::string& text, const std::map<std::string, std::string>& figures,
                   const std::string& origin);

}  // namespace isobar
