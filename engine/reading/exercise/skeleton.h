#pragma once
// The skeleton of an exercise is cut from its solution, so that the two cannot drift.
#include <string>

namespace isobar {

/// What stands between "// BEGIN what to do" and "// END" goes, and "// YOU: what to do" takes its place;
/// lines "//> code" in it stay as code, for what has to compile. `origin` is named in errors (exit code 1):
/// marks that do not pair.
std::string cut_skeleton(const std::string& solution, const std::string& origin);

/// The solution as a learner reads it: without marks.
std::string plain_solution(const std::string& solution, const std::string& origin);

}  // namespace isobar
