#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "analyse/run_case.h"
#include "cli/commands.h"
#include "cli/runs_command.h"
#include "config/option_parser.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "course/progress.h"
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

/// Its head names who made it (page/html.cpp).
bool is_report(const fs::path& file) {
  std::string head(512, '\0');
  std::ifstream(file).read(head.data(), static_cast<std::streamsize>(head.size()));
  return head.find("<meta name=\"generator\" content=\"Isobar\">") != std::string::npos;
}

/// A page of ours may be made again; nothing else is written over.
void check_target(const fs::path& file) {
  const std::string extension = file.extension().string();
  if (extension != ".html" && extension != ".htm")
    throw Error("a report is an .html file", "-o " + printable(file.string(), 4096), "-o report.html");
  std::error_code code;
  if (fs::exists(file, code) && !fs::is_regular_file(file, code))
    throw Error("it exists and is not a file", printable(file.string(), 4096), "name another with -o");
  if (fs::exists(file, code) && !is_report(file))
    throw Error("the file is there, and is no report of ours", printable(file.string(), 4096),
                "name another with -o; nothing is written over");
}

}  // namespace

int report_command(const Words& words) {
  Words names;
  fs::path file = "report.html";
  ReportWish wish;
  bool answers = false, no_maps = false;
  OptionParser app("Runs as one page to hand in or keep: it needs no network, no script and no other file",
                   kReport);
  app.add("RUNS", names, "folders, names, or last; the first is what the others are compared with");
  app.add("-o,--out", file, "the .html file; default report.html");
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
  write_file_whole(file, std::string_view(page));
  std::printf("written: %s (%s)\n", printable(as_typed(file).string(), 4096).c_str(),
              human_bytes(page.size()).c_str());
  return 0;
}

}  // namespace isobar
