// What `main` of a lesson does around its page.
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "core/error.h"
#include "core/files.h"
#include "launch/supervise.h"
#include "run/run.h"

namespace isobar {
namespace {

/// Of several ranks one that fails says so and is gone: whatever still waits for another rank would hold it
/// up.
[[noreturn]] void leave_hard(const std::string& lesson, const Error& error) {
  guarded_main(lesson, [&]() -> int { throw error; });
  std::fflush(nullptr);
  _exit(static_cast<int>(error.code()));
}

int body(const std::string& lesson_name, int argc, char** argv, void (*page)(Run&), JoinRanks join_ranks) {
  const LessonInfo lesson = read_lesson(project_home(), lesson_name);
  const RunArguments arguments = parse_run_arguments({argv + 1, argv + argc}, lesson, project_home());
  if (arguments.help) {
    std::fputs(arguments.help_text.c_str(), stdout);
    return static_cast<int>(Exit::done);
  }
  Run run(lesson, arguments, {argv, argv + argc}, join_ranks);
  try {
    page(run);
    return run.finish();
  } catch (const std::exception& error) {
    const Error told = run.explained(error);
    run.fail(told);
    if (run.comm().size() > 1) leave_hard(lesson_name, told);
    throw told;
  }
}

}  // namespace

int run_lesson(const std::string& lesson, int argc, char** argv, void (*page)(Run&), JoinRanks join_ranks) {
  follow_launcher();
  std::signal(SIGXFSZ, SIG_IGN);  // so that a file size limit is an error that can be told
  std::signal(SIGPIPE, SIG_IGN);  // so that training goes on when nobody reads what it says any more
  return guarded_main(lesson, [&] { return body(lesson, argc, argv, page, join_ranks); });
}

}  // namespace isobar
