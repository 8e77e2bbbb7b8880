#include "cli/exercise_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyse/line_diff.h"
#include "config/lesson.h"
#include "core/files.h"
#include "core/text.h"
#include "exercise/hints.h"
#include "exercise/skeleton.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

void add_wrapped(Report& out, const std::string& head, const std::string& text) {
  out.wrapped(head, text, text_columns());
}

/// Lines that differ, each with what it is next to, as `diff` shows them.
void add_difference(Report& out, const std::string& old_text, const std::string& new_text) {
  for (const DiffLine& line : diff_lines(old_text, new_text)) {
    if (line.kind == DiffLine::Kind::same) continue;
    const bool added = line.kind == DiffLine::Kind::added;
    out.line(fmt::format("  {:>4} {} {}", added ? line.new_number : line.old_number, added ? '+' : '-',
                         printable(line.text, 200)));
  }
}

/// The first line that a learner is to write: what an editor is opened at.
int first_gap(const std::string& skeleton) {
  const std::size_t at = skeleton.find("// YOU: ");
  return 1 + static_cast<int>(
                 std::count(skeleton.begin(), skeleton.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

Json check_json(const Exercise& exercise, const ExerciseVerdict& verdict) {
  Json checks = Json::array();
  for (const ExerciseCheck& check : exercise.checks) {
    const bool held = std::find(verdict.held.begin(), verdict.held.end(), check.name) != verdict.held.end();
    const char* const state = held ? "holds" : check.name == verdict.failed ? "fails" : "not looked at";
    checks.push_back(Json{{"name", check.name}, {"says", check.says}, {"state", state}});
  }
  return checks;
}

void add_problem(Report& out, const CompileProblem& problem) {
  add_wrapped(out, "  ", problem.what);
  if (!problem.where.empty()) out.line("  " + problem.where);
  for (const std::string& line : problem.lines) out.line("  " + line);
}

void add_finding(Report& out, const ExerciseVerdict& verdict) {
  const CheckFinding& finding = verdict.finding;
  add_wrapped(out, "        expected  ", printable(finding.expected, 600));
  add_wrapped(out, "        came      ", printable(finding.came, 1200));
  add_wrapped(out, "        look at   ", printable(finding.look, 600));
}

void add_hints(Report& out, const Exercise& exercise, const ExerciseCheck& check, int shown) {
  const std::vector<std::string> hints = hints_of(exercise, check);
  for (int i = 0; i < shown; ++i)
    add_wrapped(out, fmt::format("        hint {}/{}  ", i + 1, hints.size()),
                hints[static_cast<std::size_t>(i)]);
}

}  // namespace

std::string path_words(const MyFile& mine) { return as_typed(mine.path).string(); }

std::vector<Exercise> all_exercises(const fs::path& home) {
  std::vector<Exercise> out;
  for (const std::string& lesson : lesson_names(home))
    if (has_exercise(home, lesson)) out.push_back(read_exercise(home, lesson));
  return out;
}

Report exercise_list(const fs::path& home) {
  Report out;
  Json list = Json::array();
  std::vector<TableRow> rows;
  for (const Exercise& exercise : all_exercises(home)) {
    const fs::path file = my_folder(home) / exercise.own_name();
    std::error_code code;
    const bool begun = fs::exists(fs::symlink_status(file, code));  // readable or not
    rows.push_back({exercise.lesson, exercise.title, fmt::format("{} minutes", exercise.minutes),
                    begun ? as_typed(file).string() : "not begun"});
    list.push_back(Json{{"lesson", exercise.lesson},
                        {"title", exercise.title},
                        {"minutes", exercise.minutes},
                        {"file", file.string()},
                        {"begun", begun}});
  }
  out.table(rows, 4);
  out.line("./isobar exercise LESSON puts its skeleton into my/; any of them can be begun at any time");
  out.json = {{"exercises", list}};
  return out;
}

Report exercise_report(const Exercise& exercise, const MyFile& mine, bool is_new) {
  Report out;
  out.line(exercise.lesson + "  " + exercise.title);
  out.line(fmt::format("  {}  {}:{}", is_new ? "skeleton put into" : "yours, as it was:", path_words(mine),
                       first_gap(mine.text)));
  add_wrapped(out, "  ", exercise.text);
  out.line(fmt::format("  given and promised: {}; about {} minutes if you have read the page",
                       as_typed(exercise.folder / "exercise.h").string(), exercise.minutes));
  for (const ExerciseCheck& check : exercise.checks) out.line("  [ ] " + check.says);
  out.line(fmt::format(
      "next: ./isobar check {0} (fails at first: there is nothing in the gaps yet); with --watch it "
      "looks again after each save",
      exercise.lesson));
  out.json = {{"lesson", exercise.lesson},  {"title", exercise.title},      {"text", exercise.text},
              {"file", mine.path.string()}, {"line", first_gap(mine.text)}, {"placed", is_new}};
  return out;
}

Report solution_report(const Exercise& exercise, const MyFile& mine) {
  Report out;
  const std::string solution =
      plain_solution(read_text_file(exercise.solution_file(), 1 << 20), exercise.solution_file().string());
  out.line(fmt::format("from {} to the solution ({}):", path_words(mine),
                       as_typed(exercise.solution_file()).string()));
  add_difference(out, mine.text, solution);
  out.json = {{"solution", solution}};
  return out;
}

Report verdict_report(const Exercise& exercise, const MyFile& mine, const ExerciseVerdict& verdict,
                      bool wants_hint) {
  Report out;
  out.line(exercise.lesson + "  " + exercise.title + "  " + path_words(mine));
  if (mine.text == mine.given)
    out.line(
        "  This is the skeleton as it was given: it is meant to fail, and the first check says where to "
        "begin.");
  if (mine.is_of_older_edition) {
    out.line("  The exercise has changed since you began. What is different now in what is given:");
    add_difference(out, mine.given, mine.skeleton);
  }
  int shown = 0;
  if (verdict.problem) {
    add_problem(out, *verdict.problem);
  } else {
    for (const ExerciseCheck& check : exercise.checks) {
      const bool held = std::find(verdict.held.begin(), verdict.held.end(), check.name) != verdict.held.end();
      out.line(fmt::format("  [{}] {}", held ? "x" : check.name == verdict.failed ? "!" : " ", check.says));
      if (check.name != verdict.failed) continue;
      add_finding(out, verdict);
      shown = shown_hints(exercise, my_folder(project_home()), check.name, wants_hint);
      add_hints(out, exercise, check, shown);
    }
    // What the checks did not have in mind has no name among them: a part that cannot even be loaded.
    if (!verdict.failed.empty() && exercise.find(verdict.failed) == nullptr) add_finding(out, verdict);
  }
  out.line(fmt::format("compiled in {:.1f} s, checked in {:.1f} s", verdict.compile_s, verdict.check_s));
  if (verdict.passed()) {
    out.line("All of it holds.");
    add_wrapped(out, "  ", exercise.after);
    out.line(fmt::format("next: {} trains with your part; ./isobar check {} --solution shows ours",
                         exercise.run_command(), exercise.lesson));
  } else {
    out.line(fmt::format("next: ./isobar check {0} again, or --hint for more; --watch looks after each save",
                         exercise.lesson));
  }
  out.json = {{"lesson", exercise.lesson},
              {"file", mine.path.string()},
              {"passed", verdict.passed()},
              {"checks", check_json(exercise, verdict)},
              {"failed", verdict.failed},
              {"expected", verdict.finding.expected},
              {"came", verdict.finding.came},
              {"look", verdict.finding.look},
              {"problem", verdict.problem ? Json(verdict.problem->what) : Json()},
              {"where", verdict.problem ? Json(verdict.problem->where) : Json()},
              {"hints", shown},
              {"compile_s", verdict.compile_s},
              {"check_s", verdict.check_s}};
  return out;
}

}  // namespace isobar
