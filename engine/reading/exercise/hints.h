#pragma once
// Hints, one at a time: how many of a check were shown is kept beside the skeleton, and begins anew with
// another check.
#include <filesystem>
#include <string>
#include <vector>

#include "exercise/exercise.h"

namespace isobar {

/// Those of the check, and last the one that names the solution.
std::vector<std::string> hints_of(const Exercise& exercise, const ExerciseCheck& check);

/// How many are shown now, at least 1: `one_more` than last time. A folder that cannot be written to keeps
/// none.
int shown_hints(const Exercise& exercise, const std::filesystem::path& my, const std::string& check,
                bool one_more);

/// The same, and nothing is kept.
int kept_hints(const Exercise& exercise, const std::filesystem::path& my, const std::string& check);

}  // namespace isobar
