#pragma once
// What the commands of exercises say.
#include <string>
#include <vector>

#include "cli/report.h"
#include "exercise/my_file.h"
#include "exercise/verdict.h"

namespace isobar {

/// The learner's file as somebody would type it here.
std::string path_words(const MyFile& mine);

std::vector<Exercise> all_exercises(const std::filesystem::path& home);

/// All of them, one line each.
Report exercise_list(const std::filesystem::path& home);

/// What is to be done. `is_new`: the skeleton was just put in place.
Report exercise_report(const Exercise& exercise, const MyFile& mine, bool is_new);

/// From the learner's file to the solution, line by line.
Report solution_report(const Exercise& exercise, const MyFile& mine);

/// Check by check what holds; of the first that does not, why, and as many hints as were asked for so far.
Report verdict_report(const Exercise& exercise, const MyFile& mine, const ExerciseVerdict& verdict,
                      bool wants_hint);

}  // namespace isobar
