// The part of a lesson that the learner writes: its skeleton, and a look at what was written, once or after
// each save.
#include <fmt/format.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "analyse/line_diff.h"
#include "check/yours.h"
#include "cli/commands.h"
#include "cli/report.h"
#include "cli/shared_options.h"
#include "course/course.h"
#include "exercise/exercise.h"
#include "exercise/verdict.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

void add_difference(Report& out, const std::string& old_text, const std::string& new_text) {
  for (const DiffLine& line : diff_lines(old_text, new_text)) {
    if (line.kind == DiffLine::Kind::same) continue;
    const bool added = line.kind == DiffLine::Kind::added;
    out.line(fmt::format("  {:>4} {} {}", added ? line.new_number : line.old_number, added ? '+' : '-',
                         printable(line.text, 200)));
  }
}

/// The first line that a learner is to write, 1 where none is marked: what an editor is opened at.
int first_gap(const std::string& text) {
  const std::string before = text.substr(0, text.find("// YOU: ") + 1);  // npos + 1 is 0
  return 1 + static_cast<int>(std::ranges::count(before, '\n'));
}

Json check_json(const Exercise& exercise, const ExerciseVerdict& verdict) {
  return json_list(exercise.checks, [&](const ExerciseCheck& check) {
    const bool held = verdict.holds(check), failed = verdict.fails(check);
    const char* const state = held ? "holds" : failed ? "fails" : "not looked at";
    return ISOBAR_NAMED(check.name, check.says, state);
  });
}

void add_problem(Report& out, const CompileProblem& problem) {
  out.wrapped("  ", problem.what);
  if (!problem.where.empty()) out.line("  " + problem.where);
  for (const std::string& line : problem.lines) out.line("  " + line);
}

void add_finding(Report& out, const ExerciseVerdict& verdict) {
  const CheckFinding& finding = verdict.finding;
  out.wrapped("        expected  ", printable(finding.expected, 600));
  out.wrapped("        came      ", printable(finding.came, 1200));
  out.wrapped("        look at   ", printable(finding.look, 600));
}

int add_hints(Report& out, const Exercise& exercise, const ExerciseVerdict& verdict, bool one_more) {
  const Hints hints = hints_of(exercise, verdict.failed, verdict.finding.sentence());
  const int shown = shown_hints(exercise, my_folder(project_home()), hints, one_more);
  for (int i = 0; i < shown; ++i)
    out.wrapped(fmt::format("        hint {}/{}  ", i + 1, hints.texts.size()),
                hints.texts[static_cast<std::size_t>(i)]);
  return shown;
}

std::string path_words(const MyFile& mine) { return as_typed(mine.path).string(); }

std::vector<Exercise> all_exercises(const fs::path& home) {
  std::vector<Exercise> out;
  for (const std::string& lesson : lesson_names(home))
    if (has_exercise(home, lesson)) out.push_back(read_exercise(home, lesson));
  return out;
}

Report exercise_list(const fs::path& home) {
  Report out;
  std::vector<Row> rows;
  for (const Exercise& exercise : all_exercises(home)) {
    const fs::path file = my_folder(home) / exercise.own_name();
    std::error_code code;
    const bool begun = fs::exists(fs::symlink_status(file, code));  // readable or not
    rows.emplace_back()
        .add("lesson", "lesson", exercise.lesson, exercise.lesson)
        .add("title", "what you write", exercise.title, exercise.title)
        .add("minutes", "minutes", std::to_string(exercise.minutes), exercise.minutes)
        .add("file", "your file", begun ? as_typed(file).string() : "not begun", file.string())
        .json["begun"] = begun;
  }
  out.rows("exercises", rows, 4);
  out.line("./isobar exercise LESSON puts its skeleton into my/; any of them can be begun at any time");
  return out;
}

Report exercise_report(const Exercise& exercise, const MyFile& mine, bool is_new) {
  Report out;
  out.line(exercise.lesson + "  " + exercise.title);
  out.line(fmt::format("  {}  {}:{}", is_new ? "skeleton put into" : "yours, as it was:", path_words(mine),
                       first_gap(mine.text)));
  if (!exercise.first.empty()) out.wrapped("  ", exercise.first_step());
  out.wrapped("  ", exercise.text);
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

Report exercise_verdict(const Exercise& exercise, const MyFile& mine, const ExerciseVerdict& verdict,
                        bool wants_hint) {
  Report out;
  out.line(exercise.lesson + "  " + exercise.title + "  " + path_words(mine));
  if (mine.text == mine.given)
    out.line(
        "  This is the skeleton as it was given: it is meant to fail, and the first check reports where to "
        "begin.");
  if (mine.is_of_older_edition) {
    out.line("  The exercise has changed since you began. What is different now in what is given:");
    add_difference(out, mine.given, mine.skeleton);
  }
  const bool is_first_step = has_first_step_alone(exercise, mine, verdict);
  int shown = 0;
  if (verdict.problem) {
    add_problem(out, *verdict.problem);
  } else {
    for (const ExerciseCheck& check : exercise.checks) {
      out.line(fmt::format("  [{}] {}",
                           verdict.holds(check)                     ? 'x'
                           : verdict.fails(check) && !is_first_step ? '!'
                                                                    : ' ',
                           check.says));
      if (!verdict.fails(check)) continue;
      if (!is_first_step) add_finding(out, verdict);
      if (!is_first_step || wants_hint) shown = add_hints(out, exercise, verdict, wants_hint);
    }
    // What the checks did not have in mind has no name among them: a part that cannot even be loaded.
    if (!verdict.failed.empty() && exercise.find(verdict.failed) == nullptr) add_finding(out, verdict);
  }
  out.line(fmt::format("compiled in {:.1f} s, checked in {:.1f} s", verdict.compile_s, verdict.check_s));
  if (((is_first_step && !wants_hint) || verdict.passed()) && !verdict.picture.empty()) {
    out.line("What your first step does:");
    out.lines(split(verdict.picture.substr(0, verdict.picture.size() - 1), '\n'));
  }
  if (is_first_step) {
    out.wrapped("First step done; next: " + exercise.find(verdict.failed)->says +
                ". --hint helps with it; --watch looks after each save");
  } else if (verdict.passed()) {
    out.line("All of it holds.");
    out.wrapped("  ", exercise.after);
    out.line(fmt::format("next: {} trains with your part; ./isobar check {} --solution shows ours",
                         exercise.run_command(), exercise.lesson));
  } else {
    out.line(fmt::format("next: ./isobar check {0} again, or --hint for more; --watch looks after each save",
                         exercise.lesson));
  }
  const std::string& file = mine.path.native();
  const Json checks = check_json(exercise, verdict), hints = shown;
  const Json problem = verdict.problem ? Json(verdict.problem->what) : Json();
  const Json where = verdict.problem ? Json(verdict.problem->where) : Json();
  const CheckFinding& found = verdict.finding;
  out.json = ISOBAR_NAMED(exercise.lesson, file, verdict.passed(), checks, verdict.failed, found.expected,
                          found.came, found.look, problem, where, hints, verdict.picture, verdict.compile_s,
                          verdict.check_s);
  return out;
}

struct CheckOptions {
  bool wants_hint = false, wants_solution = false;
  bool is_sure = false;  ///< to see the solution early
  bool json = false;
};

fs::path build_folder() { return program_folder().parent_path(); }

MyFile own_file(const Exercise& exercise) {
  return find_my_file(exercise, my_folder(project_home()), "./isobar check " + exercise.lesson);
}

/// Notes in the progress file, once, what was done for an exercise that is not built yet.
void note(const Exercise& exercise, const std::string& what) {
  const auto file = progress_file();
  const CourseProgress progress = read_progress(file);
  if (!progress.has_done(exercise.lesson, kBuilt) && !progress.has_done(exercise.lesson, what))
    ProgressWriter(file).done(exercise.lesson, what);
}

void show_solution(const Exercise& exercise, const CheckOptions& options) {
  const MyFile mine = own_file(exercise);
  if (!options.is_sure) refuse_early_solution(exercise, my_folder(project_home()));
  solution_report(exercise, mine).print(options.json);
  note(exercise, kSolutionShown);
}

bool check_once(const Exercise& exercise, const CheckOptions& options) {
  const MyFile mine = own_file(exercise);
  setenv("ISOBAR_COLUMNS", std::to_string(terminal_columns()).c_str(), 1);  // for what a check draws
  const ExerciseVerdict verdict = check_exercise(exercise, mine, build_folder());
  exercise_verdict(exercise, mine, verdict, options.wants_hint).print(options.json);
  std::fflush(stdout);
  keep_verdict(exercise, my_folder(project_home()), verdict);
  if (verdict.passed()) note(exercise, kBuilt);
  const Hints hints = hints_of(exercise, verdict.failed, verdict.finding.sentence());
  if (const int shown = kept_hints(exercise, my_folder(project_home()), hints);
      options.wants_hint && shown > 0)
    note(exercise, fmt::format("{}{} {}", kHintShown, hints.of, shown));
  return verdict.passed();
}

/// Keys one at a time, for as long as it lives.
class SingleKeys {
 public:
  SingleKeys() {
    tcgetattr(STDIN_FILENO, &before_);
    termios single = before_;
    single.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    tcsetattr(STDIN_FILENO, TCSANOW, &single);
  }
  ~SingleKeys() { tcsetattr(STDIN_FILENO, TCSANOW, &before_); }
  SingleKeys(const SingleKeys&) = delete;
  SingleKeys& operator=(const SingleKeys&) = delete;
  /// 0 after a while without one; 'q' at the end of input.
  char next() const {
    pollfd wanted{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    if (poll(&wanted, 1, 200) <= 0) return 0;
    char key = 0;
    return ::read(STDIN_FILENO, &key, 1) == 1 ? key : 'q';
  }

 private:
  termios before_{};
};

std::string next_lesson(const Exercise& exercise) {
  const std::vector<Exercise> all = all_exercises(project_home());
  const auto next = std::ranges::find_if(all, [&](auto& one) { return one.lesson > exercise.lesson; });
  return next == all.end() ? "" : next->lesson;
}

constexpr char kSaved = 1;

/// Until the file is another than it was at `seen`, or a key asks for something.
char wait_for(const SingleKeys& keys, const fs::path& file, fs::file_time_type seen) {
  while (true) {
    if (const char key = keys.next(); key != 0) return key;
    std::error_code code;
    if (const auto now = fs::last_write_time(file, code); !code && now != seen) return kSaved;
  }
}

/// The name of the next exercise; "" where the learner left.
std::string watch_until_left(const Exercise& exercise, const std::string& next, bool& passed) {
  const SingleKeys keys;
  CheckOptions options;
  char key = kSaved;
  while (true) {
    const fs::path file = own_file(exercise).path;
    const auto seen = fs::last_write_time(file);  // what is saved during the check is another file
    options.wants_hint = key == 'h';
    if (key == 'h' || key == kSaved) passed = check_once(exercise, options);
    if (key == 's') {
      try {
        show_solution(exercise, options);
      } catch (const Error& error) {
        say_error("", error);
      }
    }
    std::string on = passed ? "Enter or n begins " + next + ", " : "n next exercise, ";
    if (next.empty()) on.clear();
    std::printf("waiting for you to save %s; %ss solution, %sq quit\n", as_typed(file).c_str(),
                passed ? "" : "h hint, ", on.c_str());
    std::fflush(stdout);
    key = wait_for(keys, file, seen);
    if (key == 'q' || key == 4) return "";
    if ((key == 'n' || (passed && key == '\n')) && !next.empty()) return next;
  }
}

int watch(const Exercise& exercise) {
  if (!can_ask())
    throw Error("--watch needs a terminal", "./isobar check", "without it one verdict is given");
  bool passed = false;
  const std::string next = watch_until_left(exercise, next_lesson(exercise), passed);
  if (next.empty()) return passed ? 0 : 1;
  const std::string isobar = (project_home() / "isobar").string();
  if (start_and_wait({isobar, "exercise", next}) != 0) return 1;
  become({isobar, "check", next, "--watch"});
}

}  // namespace

int exercise_command(const Words& words) {
  std::string name;
  bool json = false;
  bool prints = false;
  OptionParser app(
      "The part of a lesson that you write: puts its skeleton into my/, and never over a file of yours",
      "./isobar exercise");
  app.add("LESSON", name, "its number or name, such as 02; without one all exercises are listed");
  app.flag("--print", prints, "prints the skeleton, and puts nothing anywhere");
  app.flag("--json", json, "one JSON object instead of the text");
  if (!app.parse(words, {.where = "./isobar exercise", .example = "02"})) return 0;
  const fs::path home = project_home();
  if (name.empty()) {
    exercise_list(home).print(json);
    return 0;
  }
  const Exercise exercise = read_exercise(home, find_lesson(home, name).name);
  if (prints) {
    std::fputs(read_skeleton(exercise).c_str(), stdout);
    return 0;
  }
  const bool is_new = place_my_file(exercise, my_folder(home));
  exercise_report(exercise, read_my_file(exercise, my_folder(home)), is_new).print(json);
  return 0;
}

int check_exercise_command(const Words& words) {
  std::string name;
  bool watches = false;
  CheckOptions options;
  OptionParser app(
      "Looks at your part of a lesson, check by check, and reports of the first that does not hold what was "
      "expected, what came and where to look. The exit code is 0 when all of it holds, else 1",
      "./isobar check");
  app.add("LESSON", name, "its number or name, such as 02");
  app.flag("--hint", options.wants_hint, "one more hint for the check that does not hold");
  app.flag("--solution", options.wants_solution,
           "from your file to the solution, line by line, after three checks; checks nothing");
  app.flag("--yes", options.is_sure, "with --solution: also before three checks of your file were made");
  app.flag("--watch", watches,
           "looks again after each save, until q; h, s and n ask for a hint, the solution, the next");
  app.flag("--json", options.json, "one JSON object instead of the text");
  if (!app.parse(words, {.where = "./isobar check", .example = "02"})) return 0;
  const LessonInfo lesson = named_lesson(name, "./isobar check LESSON");
  const Exercise exercise = read_exercise(project_home(), lesson.name);
  if (options.wants_solution) {
    show_solution(exercise, options);
    return 0;
  }
  if (watches) return watch(exercise);
  return check_once(exercise, options) ? 0 : static_cast<int>(Exit::failed);
}

namespace {

constexpr const char* kMine = "--mine";
constexpr const char* kPrograms = "mine_";

/// The learner's part of the lesson as a library in the folder. Error (exit code 2) where there is none, or
/// it does not compile.
fs::path compiled_part(const Exercise& exercise, const fs::path& folder) {
  const MyFile mine =
      find_my_file(exercise, my_folder(project_home()), "./isobar run " + exercise.lesson + " --mine");
  const std::string name = known_as(mine.path);
  const fs::path build = program_folder().parent_path();
  const fs::path library = folder / (exercise.lesson + ".so");
  std::optional<CompileProblem> problem = forbidden_include(mine.text, exercise, name);
  if (!problem)
    problem =
        compile_part({build, exercise.lesson, Watch::none, mine.path, library, exercise.solution_file()});
  if (problem) throw Error(problem->what, problem->where, "./isobar check " + exercise.lesson + " says more");
  return library;
}

}  // namespace

int run_any_command(const Words& words) {
  Words others = words;
  if (std::erase(others, kMine) == 0) return run_command(words, show_instead_of_running);
  if (others.empty() || others.front().starts_with('-') || std::ranges::count(others, "--help") > 0)
    return run_command(others, show_instead_of_running);
  const Exercise exercise = read_exercise(project_home(), find_lesson(project_home(), others.front()).name);
  const PartFolder folder;
  setenv(kPartVariable, compiled_part(exercise, folder.path()).c_str(), 1);
  setenv(kYoursVariable, known_as(my_folder(project_home()) / exercise.own_name()).c_str(), 1);
  return run_command(others, show_instead_of_running, kPrograms);
}

}  // namespace isobar
