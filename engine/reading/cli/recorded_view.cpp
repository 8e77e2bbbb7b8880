#include "cli/recorded_view.h"

#include <fmt/format.h>

#include <cstdio>

#include "analyse/recorded_runs.h"
#include "cli/run_lines.h"
#include "cli/start.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace isobar {

namespace fs = std::filesystem;

fs::path recorded_folder(const std::string& lesson) {
  const fs::path home = project_home();
  const LessonInfo info = read_lesson(home, lesson);
  const std::vector<RecordedRun> runs = recorded_runs(home, info.name);
  if (!runs.empty()) return runs.front().folder;
  throw Error("no run of " + info.name + " was recorded or predicted yet",
              (info.file.parent_path() / "recorded").string(),
              "./isobar predict " + info.name + ", or on a machine with a GPU: ./isobar record " + info.name);
}

void print_other_recorded(const std::string& lesson, const fs::path& shown) {
  const std::vector<RecordedRun> runs = recorded_runs(project_home(), lesson);
  if (const RecordedRun* const other = telling_other(runs);
      other != nullptr && runs.front().folder == shown) {
    Report out;
    out.wrapped("beside it: " + pair_sentence(runs.front(), *other));
    out.print(/*as_json=*/false);
  }
  bool first = true;
  for (const RecordedRun& run : runs) {
    if (run.folder == shown) continue;
    if (first) std::puts("also there:");
    first = false;
    std::printf("  %-44s %10s  %s%s\n", run.folder.filename().string().c_str(),
                run.view.summary.samples_per_s > 0
                    ? fmt::format("{:.1f} /s", run.view.summary.samples_per_s).c_str()
                    : "-",
                provenance_text(run.view).c_str(),
                run.view.point.empty() ? "" : ("; " + printable(run.view.point, 100)).c_str());
  }
}

int show_instead_of_running(const LessonInfo& lesson) {
  const Error why = needs_device(lesson);
  const std::vector<RecordedRun> runs = recorded_runs(project_home(), lesson.name);
  if (runs.empty()) throw why;
  std::fprintf(stderr, "isobar: %s\n", why.text().c_str());
  std::fprintf(stderr, "instead, a run that is %s:\n", provenance_text(runs.front().view).c_str());
  run_report(runs.front().folder).print(/*as_json=*/false);
  print_other_recorded(lesson.name, runs.front().folder);
  return static_cast<int>(why.code());
}

}  // namespace isobar
