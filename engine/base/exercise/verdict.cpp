#include "exercise/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/text.h"
#include "launch/captured_run.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kLongestCheck_us = 600'000'000;  // a hang of a check is reported long before
constexpr std::int64_t kMostVerdict_bytes = 1 << 20;

/// The first check of the exercise that is not among these; null where all are.
const ExerciseCheck* first_not_in(const std::vector<std::string>& held, const Exercise& exercise) {
  return find_where(exercise.checks, [&](const ExerciseCheck& check) { return !holds(held, check.name); });
}

/// Silence is no success: Error where nothing was reported of a check that this program makes.
void refuse_silence(const Exercise& exercise, const std::string& program, std::vector<std::string> held) {
  held.emplace_back(kRaceCheck);  // which holds where both programs end well
  if (const ExerciseCheck* const check = first_not_in(held, exercise))
    throw Error("the check program reported nothing of the check \"" + check->name + "\"", program,
                "./isobar setup builds it again", Exit::failed);
}

/// Takes over what a check program reported, line by line.
void take(ExerciseVerdict& verdict, const std::string& reported, const fs::path& folder) {
  std::istringstream lines(reported);
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line);
    const std::string& kind = json.at("kind").as_text();
    if (kind == "machine") {
      refuse_place("a check cannot be run: " + printable(json.at("problem").as_text(), 300), folder);
    } else if (kind == "load") {
      // A name in the words of the language, or what the loader has to object.
      const std::string problem = printable(json.at("problem").as_text(), 300);
      if (problem.find(".so") != std::string::npos)
        refuse_place("your part cannot be loaded: " + problem, folder);
      verdict.problem =
          CompileProblem{"it cannot be loaded, a function of exercise.h is missing: " + problem, "", {}};
    } else if (kind == "check" && json.at("holds").text() == "true") {
      verdict.held.push_back(json.at("name").as_text());
      if (json.contains("picture")) verdict.picture = printable_lines(json.at("picture").as_text());
    } else if (kind == "check") {
      verdict.failed = json.at("name").as_text();
      verdict.finding = {json.at("expected").as_text(), json.at("came").as_text(), json.at("look").as_text()};
    }
  }
}

fs::path kept_file(const Exercise& exercise, const fs::path& my) {
  return my / ".given" / (exercise.lesson + ".json");
}

double seconds_since(std::int64_t begin_us) { return static_cast<double>(steady_us() - begin_us) * 1e-6; }

/// False when nothing more is to be asked.
bool check_with(const Exercise& exercise, Watch watch, const MyFile& mine, const fs::path& folder,
                const fs::path& build, ExerciseVerdict& verdict) {
  const std::string program = "check_" + exercise.lesson + (watch == Watch::threads ? "_thread" : "");
  const fs::path library = folder / (program + ".so");
  const std::int64_t begin_us = steady_us();
  verdict.problem =
      compile_part({build, exercise.lesson, watch, mine.path, library, exercise.solution_file()});
  verdict.compile_s += seconds_since(begin_us);
  if (verdict.problem) return false;
  const std::int64_t checks_us = steady_us();
  const CapturedRun said =
      run_quietly({(build / "bin" / program).string(), library.string(), known_as(mine.path)},
                  kLongestCheck_us, kMostVerdict_bytes);
  verdict.check_s += seconds_since(checks_us);
  if (said.asked != 0) throw Error("stopped", program, "", Exit::failed);
  take(verdict, said.out, folder);
  const bool holds = verdict.failed.empty() && !verdict.problem;
  if (said.code > 2 || (said.code != 0 && holds))
    throw Error(
        fmt::format("the check program ended with exit code {}: {}", said.code, printable(said.errors, 300)),
        program, "./isobar setup builds it again", Exit::failed);
  if (holds) refuse_silence(exercise, program, verdict.held);
  return holds;
}

}  // namespace

bool has_first_step_alone(const Exercise& exercise, const MyFile& mine, const ExerciseVerdict& verdict) {
  return exercise.find(verdict.failed) != nullptr && holds(verdict.held, exercise.first) &&
         mine.rest_is_untouched();
}

void keep_verdict(const Exercise& exercise, const fs::path& my, const ExerciseVerdict& verdict) {
  const Json json = {{"held", verdict.held},
                     {"failed", verdict.failed},
                     {"problem", verdict.problem ? verdict.problem->what : ""},
                     {"where", verdict.problem ? verdict.problem->where : ""},
                     {"expected", verdict.finding.expected},
                     {"came", verdict.finding.came},
                     {"look", verdict.finding.look},
                     {"picture", verdict.picture},
                     {"checks", kept_verdict(exercise, my).value_or(ExerciseVerdict()).checks + 1},
                     {"digest", verdict.digest}};
  try {
    write_file_whole(kept_file(exercise, my), json.text() + "\n");
  } catch (const Error&) {
    // It is checked again where it is wanted.
  }
}

std::optional<ExerciseVerdict> kept_verdict(const Exercise& exercise, const fs::path& my) {
  try {
    const Json json = Json::parse(read_text_file(kept_file(exercise, my), kMostVerdict_bytes));
    ExerciseVerdict out;
    for (const Json& name : json.at("held").values()) out.held.push_back(name.as_text());
    out.failed = json.at("failed").as_text();
    if (const std::string& problem = json.at("problem").as_text(); !problem.empty())
      out.problem = CompileProblem{problem, json.at("where").as_text(), {}};
    out.finding = {json.at("expected").as_text(), json.at("came").as_text(), json.at("look").as_text()};
    out.digest = json.at("digest").as_text();
    if (json.contains("picture")) out.picture = printable_lines(json.at("picture").as_text());
    if (json.contains("checks")) out.checks = std::clamp<std::int64_t>(json.at("checks").as_integer(), 0, 3);
    out.is_whole = first_not_in(out.held, exercise) == nullptr;
    if (out.failed.empty() && !out.problem && !out.is_whole) return std::nullopt;
    return out;
  } catch (const Error&) {
    return std::nullopt;
  }
}

void refuse_early_solution(const Exercise& exercise, const fs::path& my) {
  const ExerciseVerdict kept = kept_verdict(exercise, my).value_or(ExerciseVerdict());
  if (kept.checks >= 3 || kept.passed()) return;
  throw Error("the solution is shown after 3 checks of what you wrote: " + counted(3 - kept.checks, "check") +
                  " to go",
              "./isobar check " + exercise.lesson + " --solution",
              "--hint helps with the next step; --solution --yes shows it now");
}

ExerciseVerdict check_exercise(const Exercise& exercise, const MyFile& mine, const fs::path& build) {
  ExerciseVerdict out;
  out.digest = digest_of_text(mine.text);
  out.problem = forbidden_include(mine.text, exercise, known_as(mine.path));
  if (out.problem) return out;
  const PartFolder folder;
  const Watch watch = exercise.is_sanitized ? Watch::address : Watch::none;
  const bool held = check_with(exercise, watch, mine, folder.path(), build, out);
  if (!held || exercise.find(kRaceCheck) == nullptr) {
    out.is_whole = held;
    return out;
  }
  ExerciseVerdict threads;
  out.is_whole = check_with(exercise, Watch::threads, mine, folder.path(), build, threads);
  out.compile_s += threads.compile_s;
  out.check_s += threads.check_s;
  if (out.is_whole) {
    out.held.emplace_back(kRaceCheck);
    return out;
  }
  const bool race = threads.finding.came.find("data race") != std::string::npos;
  out.failed = race ? kRaceCheck : threads.failed;
  out.finding = threads.finding;
  out.problem = threads.problem;
  return out;
}

}  // namespace isobar
