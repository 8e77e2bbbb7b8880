#pragma once
// Rules of runs: gradient noise beside gradient noise, what a target loss takes, and runs of the learner's
// that overfit or diverge. The table in rules.cpp explains them.
#include "course/rules.h"

namespace isobar::lesson_12 {

Truth made_diverges_truth(const RuleInput& input);
Truth made_overfits_truth(const RuleInput& input);
Truth noise_beside_truth(const RuleInput& input);
Truth to_target_truth(const RuleInput& input);

bool is_to_target_timed(const Question& question);

void check_noise_beside(const Question& question);
void check_to_target(const Question& question);

}  // namespace isobar::lesson_12
