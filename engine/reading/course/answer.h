#pragma once
// What a learner typed or clicked, as a value.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "course/question.h"

namespace isobar {

struct Answer {
  AnswerKind kind = AnswerKind::choice;
  std::string text;               ///< the stored form: a key, "up", "24.5", a line, runs
  double number = 0;              ///< value of a number, in the question's unit
  std::int64_t line = 0;          ///< line of a find
  std::vector<std::string> runs;  ///< folders of a make, absolute once they are stored
};

/// From what was typed. A choice is its key, its letter (a, b, ...), the only number that its key holds, or
/// its place where no choice holds a number; a direction may be "faster", "+", "less", ...; a number may have
/// its own unit ("24 ms" where s are asked for, "3/4", "12 %", "1.5e3", "1,024"); a find may be "42" or
/// "main.cpp:42". Error (exit code 2) in a sentence that names what is wanted, for nothing, for what is not a
/// number, for another unit, and for what cannot be (a share above 100
/// %, a line that the page does not have, negative counts).
Answer parse_answer(const Question& question, const std::string& typed, std::int64_t page_lines = 0);

/// To a `make`: these folders, as absolute paths. Error (exit code 2) for none or too many.
Answer answer_of_runs(const Question& question, const std::vector<std::filesystem::path>& runs);

/// In words: "b: the threads that read", "24 ms", "line 42", "up".
std::string answer_words(const Question& question, const Answer& answer);
/// The words of a choice; the key itself where there is no such choice.
std::string choice_words(const Question& question, const std::string& key);

}  // namespace isobar
