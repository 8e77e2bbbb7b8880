// ./isobar bench check: how long a learner waits, from a save to the verdict, for each exercise with its
// solution: that is the longest, since every check is run. There is no peer: it is a time that must stay
// short.
#include <fcntl.h>
#include <fmt/format.h>

#include "bench/bench_report.h"
#include "bench/pipes.h"
#include "config/lesson.h"
#include "core/clock.h"
#include "core/files.h"
#include "core/json.h"
#include "support/bin_folder.h"
#include "support/temp_folder.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

constexpr int kPatience_s = 300;
constexpr double kGoal_s = 20;
constexpr int kRepeats = 5;

struct Answered {
  int code = 0;
  double seconds = 0;
  std::string text;
};

/// One command of ours, with the learner's files in `my`.
Answered ask(const std::vector<std::string>& words, const TempFolder& folder) {
  std::vector<std::string> whole = {bin_folder(ISOBAR_BIN) + "/isobar-cli"};
  whole.insert(whole.end(), words.begin(), words.end());
  auto [our_end, their_end] = make_pipe();
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, their_end.number(), 1);
  Answered out;
  const std::int64_t begin_us = steady_us();
  const pid_t pid = start_program(
      whole,
      {"ISOBAR_MY=" + (folder / "my").string(), "ISOBAR_PROGRESS=" + (folder / "progress.jsonl").string()},
      files);
  their_end.close();
  LineReader reader(std::move(our_end));
  while (const std::optional<std::string> line = reader.next(begin_us + kPatience_s * 1'000'000LL))
    out.text += *line + "\n";
  out.code = wait_for_end(pid, kPatience_s);
  out.seconds = static_cast<double>(steady_us() - begin_us) * 1e-6;
  return out;
}

isobar::Json must(const Answered& answered, const std::string& what) {
  if (answered.code == 0) return isobar::Json::parse(answered.text);
  throw Error(fmt::format("{} ended with exit code {}", what, answered.code), "isobar-cli",
              answered.text.substr(0, 300), Exit::failed);
}

void measure(const std::string& lesson, int repeats, BenchReport& report) {
  const TempFolder folder;
  const fs::path file = must(ask({"exercise", lesson, "--json"}, folder), "exercise").at("file").as_text();
  const std::string solution =
      must(ask({"check", lesson, "--solution", "--yes", "--json"}, folder), "check --solution")
          .at("solution")
          .as_text();
  BenchRow whole{lesson + ": from a save to the verdict", "s", {}, kGoal_s};
  BenchRow compile{lesson + ": of it compiling", "s", {}};
  for (int i = 0; i <= repeats; ++i) {
    // Another file each time, or what was compiled before would be taken. The first brings all into the page
    // cache.
    write_file_whole(file, solution + fmt::format("// {}\n", i));
    const Answered answered = ask({"check", lesson, "--json"}, folder);
    const isobar::Json verdict = must(answered, "check " + lesson);
    if (i == 0) continue;
    whole.values.push_back(answered.seconds);
    compile.values.push_back(verdict.at("compile_s").as_number());
  }
  report.add(whole);
  report.add(compile);
}

int run(int argc, char** argv) {
  OptionParser parser("From a save to the verdict, for each exercise", "./isobar bench check");
  BenchReport report("check", parser);
  if (!report.parse(argc, argv)) return 0;
  report.begin();
  for (const std::string& lesson : lesson_names(project_home())) {
    if (!fs::exists(project_home() / "lessons" / lesson / "exercise/exercise.toml")) continue;
    try {
      measure(lesson, report.quick() ? 1 : kRepeats, report);
    } catch (const Error& error) {
      report.refuse(lesson, "", error);
    }
  }
  return report.finish();
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("bench check", [&] { return run(argc, argv); });
}
