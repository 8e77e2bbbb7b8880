#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "analyse/run_case.h"
#include "cli/commands.h"
#include "cli/runs_command.h"
#include "config/option_parser.h"
#include "core/error.h"
#include "core/files.h"
#include "core/named_file.h"
#include "core/text.h"
#include "course/progress.h"
#include "page/html.h"
#include "page/report_page.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr const char* kReport = "./isobar report";
constexpr std::size_t kMostRuns = 50;

std::vector<fs::path> reported_runs(const Words& names) {
  if (names.empty())
    throw Error("which runs?", kReport, "./isobar report RUNS... -o report.html; RUN may be: last");
  if (names.size() > kMostRuns)
    throw Error("too many runs for a page", std::to_string(names.size()),
                "at most " + std::to_string(kMostRuns));
  return find_shown_runs(
      names, {"event files of another program are no run yet", "./isobar import makes one of them"});
}

void check_target(const NamedFile& file) {
  const std::string extension = file.path.extension().string();
  if (extension != ".html" && extension != ".htm")
    throw Error("a report is an .html file", "-o " + printable(file.path.string(), 4096), "-o report.html");
  place_of(file);
}

}  // namespace

int report_command(const Words& words) {
  Words names;
  NamedFile file = {.path = "report.html", .option = "-o", .kind = "report", .mark = kHtmlMark};
  ReportWish wish;
  bool answers = false, no_maps = false;
  OptionParser app("Runs as one page to hand in or keep: it needs no network, no script and no other file",
                   kReport);
  app.add("RUNS", names, "folders, names, or last; the first is what the others are compared with");
  app.add("-o,--out", file.path, "the .html file; default report.html");
  app.flag(kReplace, file.replace, kReplaceHelp);
  app.flag("--answers", answers, "with your answers to the questions of these lessons");
  app.add("--name", wish.author, "who hands it in; an alias will do");
  app.add("--title", wish.title, "of the page");
  app.flag("--no-maps", no_maps, "without maps: a smaller file");
  if (!app.parse(words, {.where = kReport})) return 0;
  check_target(file);
  wish.maps = !no_maps;
  const std::vector<RunCase> cases = read_cases(reported_runs(names));
  CourseProgress progress;
  if (answers) progress = read_progress(progress_file());
  const std::string page = report_page(cases, answers ? &progress : nullptr, project_home(), wish);
  write_named_file(file, page);
  std::printf("written: %s (%s)\n", printable(as_typed(file.path).string(), 4096).c_str(),
              human_bytes(page.size()).c_str());
  return 0;
}

}  // namespace isobar
