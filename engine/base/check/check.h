#pragma once
// What looks at the part of a lesson that a learner wrote: checks, each of which ends quietly or reports in
// three pieces what it had expected, what came, and where to look.
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace isobar {

/// Why a check does not hold. The pieces are read as one: "expected A, came B; look at C".
struct Finding {
  std::string expected;
  std::string came;
  std::string look;
};

/// Says so and ends the process of the check at once: what the learner wrote is not asked to clean up after a
/// failure.
[[noreturn]] void not_yet(const Finding& finding);

inline void expect(bool holds, const Finding& finding) {
  if (!holds) not_yet(finding);
}

/// Lines that are shown with the check where it holds: a picture of what the part did.
void show(const std::vector<std::string>& lines);

/// One thing that is asked of the part. `name` is that of a [[check]] in the exercise.toml.
struct Check {
  std::string name;
  std::function<void()> run;
};

using Checks = std::vector<Check>;

/// The exercise that a program is made for gives them, with the learner's functions by `isobar_part`. Null
/// gives their names: the part is not looked at before a check runs.
Checks checks_of_part(const void* part);

/// A check by its name, and what looks at the part.
template <class Part>
using Look = std::pair<const char*, void (*)(const Part& part)>;

/// `given`, which outlives them, is a Part.
template <class Part>
Checks checks_of(const void* given, const std::vector<Look<Part>>& looks) {
  Checks out;
  for (const auto& [name, look] : looks)
    out.push_back({name, [given, look = look] { look(*static_cast<const Part*>(given)); }});
  return out;
}

}  // namespace isobar
