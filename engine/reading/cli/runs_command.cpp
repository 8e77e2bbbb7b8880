#include "cli/runs_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analyse/spread.h"
#include "cli/commands.h"
#include "cli/report.h"
#include "cli/run_lines.h"
#include "cli/shared_options.h"
#include "jobs/job_script.h"
#include "log/event_files.h"
#include "log/run_files.h"
#include "log/run_reader.h"
#include "record/console.h"
#include "record/run_folder.h"
#include "record/run_removal.h"
#include "record/run_tree.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMostNoteBytes = 4096;
constexpr const char* kRuns = "runs";
constexpr const char* kRunsHint =
    "./isobar runs [FOLDER | GROUP] [--all]; runs name RUN NAME; runs note RUN TEXT; runs delete RUN [--yes]";
constexpr std::size_t kMostForeign = 5;  // folders that are named

/// "[sweep-20261121-010208-7295 at optim.lr=1e-3] ", "" for a run that stands alone; `listed`: its group is
/// what is listed.
std::string group_text(const RunView& view, bool listed) {
  if (view.group.empty()) return "";
  // The mark of a run that measures has the point.
  const bool tells_point = view.summary.measure.empty() && !view.point.empty();
  if (listed) return tells_point ? "[at " + printable(view.point, 60) + "] " : "";
  return "[" + printable(view.group, 60) + (tells_point ? " at " + printable(view.point, 60) : "") + "] ";
}

std::uint64_t folder_bytes(const fs::path& folder) {
  std::uint64_t bytes = 0;
  std::error_code code;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder, code)) {
    if (entry.is_regular_file(code)) bytes += entry.file_size(code);
  }
  return bytes;
}

struct ListedRun {
  FoundFolder found;
  RunView view = {};
  std::string problem = "";
  std::uint64_t bytes = 0;
};

ListedRun look_at(const FoundFolder& found) {
  ListedRun out{.found = found, .bytes = folder_bytes(found.path)};
  try {
    out.view = glance(found.path);
  } catch (const Error& error) {  // one folder that cannot be read hides no other
    out.problem = "[" + printable(error.what(), 100) + "] ";
  }
  return out;
}

TableRow run_row(const ListedRun& run, bool group_is_listed = false) {
  const RunView& view = run.view;
  const RunSummary& summary = view.summary;
  return {printable(run.found.name, 200),
          view.provenance.empty() ? state_name(view.state) : view.provenance,
          view.preset,
          fmt::format("{}/{}", summary.steps, summary.wanted_steps),
          summary.has_scores ? fmt::format("{:.4f}", summary.rmse) : "-",
          summary.samples_per_s > 0 ? fmt::format("{:.1f}", summary.samples_per_s) : "-",
          human_bytes(run.bytes),
          run.problem + (view.source.empty() ? "" : "[" + source_text(view) + "] ") + marks_text(view) +
              group_text(view, group_is_listed) + printable(note_of(run.found.path), 60)};
}

/// The value that all runs have, "" where they differ.
std::string common(const std::vector<const ListedRun*>& runs, std::string RunView::*field) {
  const std::string& first = runs.front()->view.*field;
  const bool same =
      std::ranges::all_of(runs, [&](const ListedRun* run) { return run->view.*field == first; });
  return same ? first : "";
}

/// The runs of one command as one line. Rates are those of whole steps: reading alone, or computing alone, is
/// no training.
TableRow group_row(const std::vector<const ListedRun*>& runs) {
  std::vector<double> rates;
  std::map<std::string, std::int64_t> states;
  std::uint64_t bytes = 0;
  for (const ListedRun* const run : runs) {
    const RunSummary& summary = run->view.summary;
    const bool trains = summary.measure.empty() || summary.measure == "none" || summary.measure == "full";
    if (trains && summary.samples_per_s > 0) rates.push_back(summary.samples_per_s);
    if (run->view.state != RunState::done) ++states[state_name(run->view.state)];
    bytes += run->bytes;
  }
  const Spread rate(rates);
  const std::string& group = runs.front()->view.group;
  const std::string lesson = common(runs, &RunView::lesson);
  std::string note = printable(group.substr(0, group.find('-')), 20) + " of " +
                     (lesson.empty() ? "several lessons" : printable(lesson, 60));
  for (const auto& [state, count] : states) note += fmt::format(", {} {}", count, state);
  return {printable(group, 200),
          counted(static_cast<std::int64_t>(runs.size()), "run"),
          common(runs, &RunView::preset),
          "",
          "",
          rate.empty() ? "-" : fmt::format("{:.1f} ({:.1f})", rate.most(), rate.median()),
          human_bytes(bytes),
          note};
}

/// A line each; unless they are `unfolded`, a group stands where the newest of it does.
std::vector<TableRow> listed_rows(const std::vector<ListedRun>& runs, bool unfolded) {
  std::map<std::string, std::vector<const ListedRun*>> groups;
  for (const ListedRun& run : runs) {
    if (!run.view.group.empty()) groups[run.view.group].push_back(&run);
  }
  std::vector<TableRow> out;
  for (const ListedRun& run : runs) {
    const auto group = groups.find(run.view.group);
    const bool alone = unfolded || group == groups.end() || group->second.size() < 2;
    if (alone) out.push_back(run_row(run));
    if (!alone && group->second.back() == &run) out.push_back(group_row(group->second));
  }
  return out;
}

bool has_begun(const fs::path& run) {
  std::error_code code;
  return fs::exists(RunFolder{run}.config_file(), code);
}

TableRow events_row(const FoundFolder& found, std::uint64_t bytes) {
  return {printable(found.name, 200), "events", "", "-", "-", "-", human_bytes(bytes), "TensorBoard"};
}

/// A job whose run has not begun: it waits, or was cancelled before it got nodes.
TableRow job_row(const FoundFolder& found, std::uint64_t bytes) {
  const std::string name = printable(found.name, 200);
  std::string note;
  try {
    const std::string typed = found.path == fs::path(kRuns) / found.name ? found.name : found.path.string();
    note = fmt::format("job {}: ./isobar submit {} --status", job_of_run(found.path).number,
                       printable(typed, 400));
  } catch (const Error& error) {
    note = "[" + printable(error.what(), 100) + "]";
  }
  return {name, "submitted", "", "-", "-", "-", human_bytes(bytes), note};
}

/// On a terminal that is too narrow presets, steps, scores and sizes are left out, then names and notes cut.
void print_table(Console& console, const std::vector<TableRow>& rows) {
  const Table table = {
      .columns = {"run", "state", {"preset", 1}, {"steps", 2}, {"RMSE", 3}, "samples/s", {"size", 4}, "note"},
      .left = 3,
      .cut = 0,
      .kept = 36,
      .words_last = true,
      .rows = rows};
  Report out;
  out.table(table, table_columns());
  out.print(console);
}

int list(Console& console, const fs::path& place, bool all) {
  std::vector<ListedRun> runs;
  for (const FoundFolder& found : list_runs(place)) runs.push_back(look_at(found));
  std::vector<FoundFolder> jobs = list_job_folders(place);
  std::erase_if(jobs, [](const FoundFolder& job) { return has_begun(job.path); });
  LeftOut left_out;
  const std::vector<FoundFolder> events = event_folders(place, &left_out);
  const std::vector<std::string> not_looked_at = left_out.sentences();
  if (runs.empty() && jobs.empty() && events.empty()) {
    console.line(place == kRuns ? "no run is here yet: ./isobar run 01"
                                : "no run is at any depth below " + printable(place.string()));
    console.lines(not_looked_at);
    return 0;
  }
  std::uint64_t all_bytes = 0;
  std::vector<TableRow> rows = listed_rows(runs, /*unfolded=*/all);
  const bool has_groups = rows.size() < runs.size();
  for (const ListedRun& run : runs) all_bytes += run.bytes;
  const auto tell = [&](const std::vector<FoundFolder>& folders, auto row) {
    for (const FoundFolder& found : folders) {
      const std::uint64_t bytes = folder_bytes(found.path);
      all_bytes += bytes;
      rows.push_back(row(found, bytes));
    }
  };
  tell(events, events_row);
  tell(jobs, job_row);
  print_table(console, rows);
  const std::string waiting = jobs.empty() ? "" : fmt::format(", {} submitted", jobs.size());
  const std::string foreign = events.empty() ? "" : fmt::format(", {} of event files", events.size());
  console.line(fmt::format("{}{}{}, {}", counted(static_cast<std::int64_t>(runs.size()), "run"), foreign,
                           waiting, human_bytes(all_bytes)));
  console.lines(not_looked_at);
  if (has_groups) console.line("a group has its best rate (and the median); ./isobar runs GROUP unfolds it");
  return 0;
}

/// The runs of one group below runs/. Error (exit code 2) where there is none.
int list_group(Console& console, const std::string& group) {
  std::vector<TableRow> rows;
  std::vector<std::string> groups;
  for (const FoundFolder& found : list_runs(kRuns)) {
    const ListedRun run = look_at(found);
    if (!run.view.group.empty()) groups.push_back(run.view.group);
    if (run.view.group == group) rows.push_back(run_row(run, /*group_is_listed=*/true));
  }
  if (rows.empty())
    throw Error("there is no folder and no group of runs \"" + printable(group, 80) + "\"", "./isobar runs",
                did_you_mean(group, groups, kRunsHint));
  print_table(console, rows);
  return 0;
}

/// The folder of a job that is named; "last" is the newest run, not the newest job.
fs::path job_named(const std::string& name) {
  return name == "last" ? fs::path() : find_job_folder(name, kRuns);
}

void refuse_running(const fs::path& run) {
  RunReader reader(run);
  reader.read_all();
  if (reader.view().state == RunState::running) {
    throw Error("the run is still running", run.string(), "stop it first");
  }
}

void name_run(const fs::path& run, const std::string& name) {
  kNameRule(name, {"the name of a run", "./isobar runs name"});
  const fs::path to = run.parent_path() / name;
  if (fs::exists(to)) throw Error("the name is taken", to.string(), "choose another");
  std::error_code code;
  fs::rename(run, to, code);
  if (code) throw system_error("the run cannot be renamed", run.string(), code.value());
}

/// A job that still has a place in Slurm's queue comes back to its folder, under its name.
void refuse_queued(const fs::path& run) {
  const SubmittedJob job = job_of_run(run);
  if (job.number == 0 && has_begun(run)) return;
  if (job.number == 0)
    throw Error("the job of this folder is not known", run.string(), "its job.toml names none; look there");
  std::optional<Slurm> slurm;
  try {
    slurm.emplace();
  } catch (const Error&) {  // a copy on a machine without Slurm
    if (has_begun(run)) return;
    throw;
  }
  const JobState state = slurm->state(job.number);
  if (state.is_over()) return;
  throw Error(fmt::format("job {} is not over: Slurm calls it {}", job.number, printable(state.state, 40)),
              run.string(), fmt::format("./isobar submit --cancel {} ends it", job.number));
}

/// The folder that `name` names, of a run that is over or of a job that will not begin.
fs::path find_ended(const std::string& name) {
  fs::path run = job_named(name);
  if (run.empty()) run = find_run(name, kRuns);
  const bool is_job = !find_job_folder(run.string(), kRuns).empty();
  if (!is_job || has_begun(run)) refuse_running(run);  // what is no run at all too
  if (is_job) refuse_queued(run);
  return run;
}

/// "notes.txt, plots/a.png and 3 more"
std::string foreign_text(const std::vector<fs::path>& foreign) {
  std::vector<std::string> named;
  for (std::size_t i = 0; i < std::min(kMostForeign, foreign.size()); ++i)
    named.push_back(printable(foreign[i].string(), 80));
  const std::size_t more = foreign.size() - named.size();
  return joined(named) + (more > 0 ? fmt::format(" and {} more", more) : "");
}

/// Takes what a run wrote; what its user put beside it stays.
int delete_run(const std::string& typed, bool yes, Console& console) {
  const fs::path run = find_ended(typed);
  const std::string name = printable(run.string());
  const std::vector<fs::path> foreign = foreign_in_run(run);
  const bool is_link = fs::is_symlink(run);
  std::uint64_t bytes = folder_bytes(run);
  for (const fs::path& file : foreign)
    bytes -= fs::is_regular_file(run / file) ? fs::file_size(run / file) : 0;
  const std::string what = is_link ? fmt::format("the link {} (the run stays at {})", name,
                                                 printable(fs::read_symlink(run).string()))
                                   : fmt::format("{} ({})", name, human_bytes(bytes));
  const std::string kept = foreign.empty() ? "" : "; no run wrote " + foreign_text(foreign) + ": kept";
  if (!yes && can_ask() && !agrees("delete " + what + kept + "?")) {
    console.line("nothing was deleted");
    return 0;
  }
  remove_run(run);
  console.line("deleted " + what + kept);
  return 0;
}

}  // namespace

fs::path find_shown_run(const std::string& name) {
  const fs::path job = job_named(name);
  if (!job.empty() && !has_begun(job))
    throw Error(fmt::format("the run of job {} has not begun", job_of_run(job).number), job.string(),
                "./isobar submit " + printable(name) + " --status prints how far it is");
  return find_run(name, kRuns);
}

std::vector<fs::path> find_shown_runs(const std::vector<std::string>& names, const NotARun& events) {
  std::vector<fs::path> out;
  std::error_code code;
  for (const std::string& name : names) {
    const fs::path run = find_shown_run(name);
    if (!is_run_folder(run) && !event_files(run).empty()) throw Error(events.what, run.string(), events.hint);
    const bool is_twice = std::ranges::any_of(out, [&](const fs::path& other) {
      return fs::weakly_canonical(other, code) == fs::weakly_canonical(run, code);
    });
    if (is_twice) throw Error("the run is named twice", printable(name, 200), "name another");
    out.push_back(run);
  }
  return out;
}

int runs_command(const Words& words) {
  Words what;
  bool yes = false, all = false;
  OptionParser app(
      "The runs below runs/ or FOLDER, those of one command as one line, or the runs of such a GROUP; or "
      "names, "
      "notes or deletes one, which RUN names: a folder, a name, or last",
      "./isobar runs [FOLDER | GROUP] | name RUN NAME | note RUN TEXT | delete RUN");
  app.add("WORDS", what, "as above; put -- before a text that begins with -");
  app.flag("--all", all, "every run on a line of its own");
  app.flag("--yes", yes, "delete without a question");
  if (!app.parse(words)) return 0;
  Console console;
  if (what.empty()) return list(console, kRuns, all);
  const std::string& verb = what.front();
  if (std::error_code code; what.size() == 1 && fs::is_directory(verb, code)) return list(console, verb, all);
  if (verb == "note" && what.size() == 3) {
    write_file_whole(find_run(what[1], kRuns) / "note.txt", printable(what[2], kMostNoteBytes / 2));
    return 0;
  }
  if (verb == "name" && what.size() == 3) {
    name_run(find_ended(what[1]), what[2]);
    return 0;
  }
  if (verb == "delete" && what.size() == 2) return delete_run(what[1], yes, console);
  if (verb == "delete" && what.size() > 2)
    throw Error("which run?", "./isobar runs delete", "./isobar runs delete RUN [--yes]; one at a time");
  if (what.size() == 1 && verb != "name" && verb != "note" && verb != "delete")
    return list_group(console, verb);
  throw Error("what about the runs?", "./isobar runs", kRunsHint);
}

}  // namespace isobar
