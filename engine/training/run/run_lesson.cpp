// What `main` of a lesson does around its page.
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "core/error.h"
#include "core/files.h"
#include "core/nvidia.h"
#include "launch/supervise.h"
#include "run/run_end.h"

namespace isobar {
namespace {

[[noreturn]] void leave(int code) {
  std::fflush(nullptr);
  _exit(code);
}

/// A rank of several that fails reports it and exits at once: waits for other ranks would hold it
/// up.
[[noreturn]] void leave_hard(const std::string& lesson, const Error& error) {
  leave(guarded_main(lesson, [&]() -> int { throw error; }));
}

/// libtorch would forget its operators one by one, which takes 0.1 s. Profilers of CUDA and the
/// sanitizers want to see the end of a program.
bool ends_at_once() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#else
  return !has_nvidia_driver();
#endif
}

int body(const std::string& lesson_name, int argc, char** argv, void (*page)(Run&), JoinRanks join_ranks) {
  const LessonInfo lesson = read_lesson(project_home(), lesson_name);
  const RunArguments arguments = parse_run_arguments({argv + 1, argv + argc}, lesson, project_home());
  if (arguments.help) {
    std::fputs(arguments.help_text.c_str(), stdout);
    return static_cast<int>(Exit::done);
  }
  RunParts parts(lesson, arguments, {argv, argv + argc}, join_ranks);
  try {
    Run run(parts);
    page(run);
    return finish(parts);
  } catch (const std::exception& error) {
    const Error told = explained(parts, error);
    fail(parts, told);
    if (parts.groups.world().size() > 1) leave_hard(lesson_name, told);
    throw told;
  }
}

}  // namespace

int run_lesson(const std::string& lesson, int argc, char** argv, void (*page)(Run&), JoinRanks join_ranks) {
  follow_launcher();
  std::signal(SIGXFSZ, SIG_IGN);  // so that a file size limit is an error that can be reported
  std::signal(SIGPIPE, SIG_IGN);  // so that training continues when nobody reads its output any more
  const int code = guarded_main(lesson, [&] { return body(lesson, argc, argv, page, join_ranks); });
  if (ends_at_once()) leave(code);
  return code;
}

}  // namespace isobar
