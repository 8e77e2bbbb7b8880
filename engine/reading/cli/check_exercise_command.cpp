// Looks at a learner's file: once, or after each save.
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "cli/commands.h"
#include "cli/exercise_text.h"
#include "cli/lesson_options.h"
#include "cli/start.h"
#include "config/option_parser.h"
#include "core/error.h"
#include "core/files.h"
#include "course/course.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

struct CheckOptions {
  bool wants_hint = false;
  bool wants_solution = false;
  bool json = false;
};

fs::path build_folder() { return program_folder().parent_path(); }

MyFile own_file(const Exercise& exercise) {
  return find_my_file(exercise, my_folder(project_home()), "./isobar check " + exercise.lesson);
}

/// The beat is done with it, once.
void keep_passed(const Exercise& exercise) {
  const std::string beat = beat_name(Beat::build);
  const auto file = progress_file();
  if (!read_progress(file).has_beat(exercise.lesson, beat)) ProgressWriter(file).beat(exercise.lesson, beat);
}

bool check_once(const Exercise& exercise, const CheckOptions& options) {
  const MyFile mine = own_file(exercise);
  const ExerciseVerdict verdict = check_exercise(exercise, mine, build_folder());
  verdict_report(exercise, mine, verdict, options.wants_hint).print(options.json);
  std::fflush(stdout);
  keep_verdict(exercise, my_folder(project_home()), verdict, mine);
  if (verdict.passed()) keep_passed(exercise);
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
  const auto next =
      std::find_if(all.begin(), all.end(), [&](auto& one) { return one.lesson > exercise.lesson; });
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

/// The name of the exercise to go on with; "" where the learner left.
std::string watch_until_left(const Exercise& exercise, const std::string& next, bool& passed) {
  const SingleKeys keys;
  CheckOptions options;
  char key = kSaved;
  while (true) {
    const fs::path file = own_file(exercise).path;
    const auto seen = fs::last_write_time(file);  // what is saved during the check is another file
    options.wants_hint = key == 'h';
    if (key == 'h' || key == kSaved) passed = check_once(exercise, options);
    if (key == 's') solution_report(exercise, own_file(exercise)).print(/*as_json=*/false);
    std::printf("waiting for you to save %s; h hint, s solution%s, q quit\n", as_typed(file).c_str(),
                next.empty() ? "" : ", n next exercise");
    std::fflush(stdout);
    key = wait_for(keys, file, seen);
    if (key == 'q' || key == 4) return "";
    if (key == 'n' && !next.empty()) return next;
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

int check_exercise_command(const Words& words) {
  std::string name;
  bool watches = false;
  CheckOptions options;
  OptionParser app(
      "Looks at your part of a lesson, check by check, and says of the first that does not hold what was "
      "expected, what came and where to look. The exit code is 0 when all of it holds, else 1",
      "./isobar check");
  app.add("LESSON", name, "such as 02_workers");
  app.flag("--hint", options.wants_hint, "one more hint for the check that does not hold");
  app.flag("--solution", options.wants_solution,
           "from your file to the solution, line by line; checks nothing");
  app.flag("--watch", watches,
           "looks again after each save, until q; h, s and n ask for a hint, the solution, the next");
  app.flag("--json", options.json, "one JSON object instead of the text");
  if (!app.parse(words, {.where = "./isobar check", .example = "02_workers"})) return 0;
  const LessonInfo lesson = named_lesson(name, "./isobar check LESSON");
  const Exercise exercise = read_exercise(project_home(), lesson.name);
  if (options.wants_solution) {
    solution_report(exercise, own_file(exercise)).print(options.json);
    return 0;
  }
  if (watches) return watch(exercise);
  return check_once(exercise, options) ? 0 : static_cast<int>(Exit::failed);
}

}  // namespace isobar
