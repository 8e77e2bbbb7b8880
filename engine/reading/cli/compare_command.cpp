// What is made of runs that are named: two or more against the first, what bounds one, or a page of some.

#include <cstdio>
#include <utility>

#include "analyse/run_case.h"
#include "cli/case_text.h"
#include "cli/commands.h"
#include "cli/memory_report.h"
#include "cli/runs_command.h"
#include "core/named_file.h"
#include "course/progress.h"
#include "log/run_files.h"
#include "page/html.h"
#include "page/report_page.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr const char* kCompare = "./isobar compare";
constexpr const char* kVerdict = "./isobar verdict";
constexpr const char* kReport = "./isobar report";
constexpr std::size_t kMostCompared = 200, kMostReported = 50;

constexpr NotARun kEvents = {"event files of another program lack the stages of a step",
                             "./isobar gui compares their curves"};

std::vector<fs::path> reported_runs(const Words& names) {
  if (names.empty())
    throw Error("which runs?", kReport, "./isobar report RUNS... -o report.html; RUN may be: last");
  if (names.size() > kMostReported)
    throw Error("too many runs for a page", std::to_string(names.size()),
                "at most " + std::to_string(kMostReported));
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

int compare_command(const Words& words) {
  Words names;
  bool json = false, memory = false, replace = false;
  std::string svg;
  OptionParser app(
      "Which run is faster than the first, by how much, why, and how sure that is; repeats of a run beside "
      "it "
      "are found and counted in",
      kCompare);
  app.add("RUNS", names, "two or more: folders, names, or last");
  app.flag("--json", json, "one JSON object instead of the text");
  app.flag("--memory", memory, "what a step of each holds in memory, side by side");
  app.add("--svg", svg, "draw the memory into this .svg file");
  app.flag(kReplace, replace, kReplaceHelp);
  if (!app.parse(words)) return 0;
  if (!svg.empty() && !memory)
    throw Error("--svg names the file of --memory", kCompare, "--memory --svg memory.svg");
  if (names.size() < 2)
    throw Error(names.empty() ? "which runs?" : "one run compares with nothing", kCompare,
                "./isobar compare A B; ./isobar runs lists them");
  if (names.size() > kMostCompared)
    throw Error("too many runs at once", std::to_string(names.size()),
                "at most " + std::to_string(kMostCompared));
  if (memory) {
    compare_memory(find_shown_runs(names, kEvents), named_svg(svg, replace), json);
    return 0;
  }
  compare_report(read_cases(find_shown_runs(names, kEvents)), text_columns(), table_columns()).print(json);
  return 0;
}

int verdict_command(const Words& words) {
  std::string name;
  bool json = false;
  OptionParser app("What bounds a run and by how much, one thing to notice, one to try", kVerdict);
  app.add("RUN", name, "a folder, a name, or last");
  app.flag("--json", json, "one JSON object instead of the text");
  if (!app.parse(words)) return 0;
  if (name.empty()) throw Error("which run?", kVerdict, "./isobar verdict last; ./isobar runs lists them");
  const fs::path folder = find_shown_run(name);
  check_run_folder(folder);
  const RunCase run = std::move(read_cases({folder}).front());
  verdict_report(run, verdict_of(run), text_columns()).print(json);
  return 0;
}

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
