#pragma once
// One question with other numbers, and what is new to somebody who was asked.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "course/progress.h"
#include "course/question.h"

namespace isobar {

/// All that may be drawn, from `draw = { ranks = [6, 4, 8], mb = [100, 60, 40] }`: lists of one length go
/// together, others are combined. Error (exit code 2, at the question) for fewer than 3 or more than 60.
std::vector<DrawnValues> drawn_values(const Question& question,
                                      const std::map<std::string, std::vector<std::string>>& draws);

/// The question with its n-th values; itself where nothing is drawn.
Question variant(const Question& question, std::size_t n);

/// The variant that an answer was given to. nullopt: it can no longer be drawn.
std::optional<Question> variant_of(const Question& question, const std::string& drawn);

/// The variant that stands: the one of the newest answer; `again`, the first that was not revealed yet, else
/// the one whose reveal is oldest.
Question as_asked(const Question& question, const CourseProgress& progress, bool again);

/// Whether a variant is left whose reveal was not seen; of a `make` always: other runs are something new.
bool has_new(const Question& question, const CourseProgress& progress);

/// Whether what answers[index] answers had not been revealed before; of a `make`, by other runs.
bool is_new_answer(const CourseProgress& progress, std::size_t index);

}  // namespace isobar
