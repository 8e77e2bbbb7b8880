#include "cli/show_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <thread>

#include "analyse/curve_svg.h"
#include "analyse/operators.h"
#include "analyse/ranks.h"
#include "analyse/run_files.h"
#include "analyse/run_reader.h"
#include "batch/slurm.h"
#include "batch/submitted_job.h"
#include "cli/gradients_command.h"
#include "cli/recorded_view.h"
#include "cli/run_lines.h"
#include "cli/timeline_command.h"
#include "cli/words.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "record/console.h"
#include "record/run_folder.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMostNoteBytes = 4096;
constexpr double kSilent_s = 10;  // a step may take that long; more may be a file system that stalls

/// "[fault no_shuffle] [disk of 290 MB/s] ", "" for a plain run.
std::string marks_text(const RunView& view) {
  std::string out;
  for (const std::string& mark : marks_of(view)) out += "[" + mark + "] ";
  return out;
}

/// "[sweep-20261121-010208-7295 at optim.lr=1e-3] ", "" for a run that stands alone.
std::string group_text(const RunView& view) {
  if (view.group.empty()) return "";
  // Of a run that measures, its mark tells the point.
  const bool tells_point = view.summary.measure.empty() && !view.point.empty();
  return "[" + printable(view.group, 60) + (tells_point ? " at " + printable(view.point, 60) : "") + "] ";
}

std::string head_line(const RunReader& reader) {
  const RunView& view = reader.view();
  const std::string reason = view.reason.empty() ? "" : ": " + view.reason;
  const std::string age = fmt::format("last sign {} ago", human_seconds(view.age_s));
  const bool stalls = view.state == RunState::running && view.age_s >= kSilent_s;
  const std::string ahead = view.clock_ahead_s > 0
                                ? fmt::format("; the clock of its file system is {} ahead of this one",
                                              human_seconds(view.clock_ahead_s))
                                : "";
  const std::string silent = view.state == RunState::died ? ": it never said its end; " + age
                             : stalls                     ? ": " + age
                                                          : "";
  const std::string marks = marks_text(view);
  const std::string state = view.provenance.empty() ? state_name(view.state) : provenance_text(view);
  return fmt::format("{}  {}{}{}{}", reader.folder().filename().string(), state, reason, silent + ahead,
                     marks.empty() ? "" : "  " + marks.substr(0, marks.size() - 1));
}

/// "activations 5.3 MB, weights 1.9 MB, ..."
std::string memory_text(const RunView& view) {
  std::vector<std::string> parts;
  for (const auto& [category, bytes] : view.memory) parts.push_back(category + " " + human_bytes(bytes));
  return join(parts, ", ");
}

void print_whole(const RunReader& reader, Console& console) {
  const RunView& view = reader.view();
  console.line(head_line(reader));
  if (view.state == RunState::empty) return;
  const std::string host = view.host.empty() ? "" : " of " + view.host;
  console.line(fmt::format("  {}{}, on {}{}, {} {}", view.lesson,
                           view.preset.empty() ? "" : ", preset " + view.preset, view.device, host,
                           view.provenance == "predicted" ? "made" : "started", view.started));
  if (!view.provenance.empty() && !view.point.empty())
    console.line("  with         " + printable(view.point, 200));
  for (const RunScores& scores : view.scores) console.line(scores_line(scores));
  if (!view.memory.empty()) console.line("  predicted    " + memory_text(view));
  for (const std::string& line : summary_lines(view.summary, view.provenance)) console.line(line);
  if (view.unread_lines > 0)
    console.line(fmt::format("  {} lines of the stream could not be read", view.unread_lines));
  if (view.summary.world > 1) {
    for (const std::string& line : rank_lines(read_ranks(reader.folder()))) console.line(line);
  }
  console.line("  run          " + reader.folder().string());
}

/// The table of the types that each module got and gave.
void show_types(const fs::path& run, bool json) {
  const RunReader reader(run);  // says when it is no run
  const OperatorTable table = read_operators(run);
  if (json) {
    std::printf("%s\n", operators_json(table).c_str());
    return;
  }
  Console console;
  console.line(run.filename().string());
  for (const std::string& line : type_lines(table)) console.line(line);
}

bool is_over(const RunView& view) { return view.state != RunState::running && view.state != RunState::empty; }

void follow(RunReader& reader, Console& console) {
  std::size_t told = 0;
  auto shown = std::chrono::steady_clock::now() - std::chrono::hours(1);
  while (!is_over(reader.view())) {
    const bool changed = reader.update();
    for (; told < reader.view().scores.size(); ++told) console.line(scores_line(reader.view().scores[told]));
    const auto every = std::chrono::milliseconds(console.is_terminal() ? 100 : 2000);
    if (changed && reader.view().summary.steps > 0 && std::chrono::steady_clock::now() - shown > every) {
      console.progress(live_line(reader.view()));
      shown = std::chrono::steady_clock::now();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

std::uint64_t folder_bytes(const fs::path& folder) {
  std::uint64_t bytes = 0;
  std::error_code code;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder, code)) {
    if (entry.is_regular_file(code)) bytes += entry.file_size(code);
  }
  return bytes;
}

constexpr const char* kRow = "{:<42} {:<9} {:<10} {:>13} {:>9} {:>11} {:>8}  {}";

std::string run_row(const fs::path& path, std::uint64_t bytes) {
  RunView view;
  std::string problem;
  try {
    view = glance(path);
  } catch (const Error& error) {  // one folder that cannot be read hides no other
    problem = "[" + printable(error.what(), 100) + "] ";
  }
  const RunSummary& summary = view.summary;
  const std::string rmse = summary.has_scores ? fmt::format("{:.4f}", summary.rmse) : "-";
  const std::string rate = summary.samples_per_s > 0 ? fmt::format("{:.1f}", summary.samples_per_s) : "-";
  return fmt::format(kRow, path.filename().string(),
                     view.provenance.empty() ? state_name(view.state) : view.provenance.c_str(), view.preset,
                     fmt::format("{}/{}", summary.steps, summary.wanted_steps), rmse, rate,
                     human_bytes(bytes),
                     problem + marks_text(view) + group_text(view) + printable(note_of(path), 60));
}

bool has_begun(const fs::path& run) {
  std::error_code code;
  return fs::exists(RunFolder{run}.config_file(), code);
}

/// A job whose run has not begun: it waits, or was cancelled before it got nodes.
std::string job_row(const fs::path& folder, std::uint64_t bytes) {
  const std::string name = folder.filename().string();
  std::string note;
  try {
    note = fmt::format("job {}: ./isobar submit {} --status", job_of_run(folder).number, name);
  } catch (const Error& error) {
    note = "[" + printable(error.what(), 100) + "]";
  }
  return fmt::format(kRow, name, "submitted", "", "-", "-", "-", human_bytes(bytes), note);
}

int list(Console& console) {
  const std::vector<fs::path> runs = list_runs("runs");
  std::vector<fs::path> jobs = list_job_folders("runs");
  jobs.erase(std::remove_if(jobs.begin(), jobs.end(), has_begun), jobs.end());
  if (runs.empty() && jobs.empty()) {
    console.line("no run is here yet: ./isobar run 01_baseline");
    return 0;
  }
  console.line(fmt::format(kRow, "run", "state", "preset", "steps", "RMSE", "samples/s", "size", "note"));
  std::uint64_t all_bytes = 0;
  const auto tell = [&](const std::vector<fs::path>& folders, auto row) {
    for (const fs::path& path : folders) {
      const std::uint64_t bytes = folder_bytes(path);
      all_bytes += bytes;
      console.line(row(path, bytes));
    }
  };
  tell(runs, run_row);
  tell(jobs, job_row);
  const std::string waiting = jobs.empty() ? "" : fmt::format(", {} submitted", jobs.size());
  console.line(fmt::format("{} runs{}, {}", runs.size(), waiting, human_bytes(all_bytes)));
  return 0;
}

/// The folder of a job that is named; "last" is the newest run, not the newest job.
fs::path job_named(const std::string& name) {
  return name == "last" ? fs::path() : find_job_folder(name, "runs");
}

/// The run that `name` names. Error (exit code 2) for a job's that has not begun too.
fs::path find_shown(const std::string& name) {
  const fs::path job = job_named(name);
  if (!job.empty() && !has_begun(job))
    throw Error(fmt::format("the run of job {} has not begun", job_of_run(job).number), job.string(),
                "./isobar submit " + printable(name) + " --status tells how far it is");
  return find_run(name, "runs");
}

void refuse_running(const fs::path& run) {
  RunReader reader(run);
  while (reader.update()) {
  }
  if (reader.view().state == RunState::running) {
    throw Error("the run is still going on", run.string(), "stop it first");
  }
}

/// Gives a run that is over another folder name.
void name_run(const fs::path& run, const std::string& name) {
  const bool plain = !name.empty() && name.size() <= 64 && name[0] != '-' && name[0] != '.' &&
                     std::all_of(name.begin(), name.end(), is_name_letter);
  if (!plain) {
    throw Error("\"" + printable(name, 40) + "\" is no name for a run", "./isobar runs name",
                "1 to 64 letters, digits, '.', '_' and '-', not beginning with '-' or '.'");
  }
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
  if (run.empty()) run = find_run(name, "runs");
  const bool is_job = !find_job_folder(run.string(), "runs").empty();
  if (!is_job || has_begun(run)) refuse_running(run);  // what is no run at all too
  if (is_job) refuse_queued(run);
  return run;
}

/// Only a folder that holds a run or a job is ever touched.
void remove_run(const fs::path& run) {
  std::error_code code;
  fs::remove_all(run, code);
  if (code) throw system_error("the run cannot be deleted", run.string(), code.value());
}

constexpr const char* kShow = "./isobar show";
constexpr const char* kShowUsage =
    "./isobar show RUN [--follow] [--json] [--curve FILE.svg] [--timeline [--step N] [--steps K] [--rank R]] "
    "[--trace FILE.json] [--gradients [--step N]] [--types]; RUN is a folder, a name, or last; N counts from "
    "0; "
    "./isobar show LESSON --recorded";

/// Takes what asks for the histogram of gradients out of `arguments`: the step, -1 = the last one, or nothing
/// when it is not asked for.
std::optional<std::int64_t> take_gradients(std::vector<std::string>& arguments) {
  if (!take_flag(arguments, "--gradients")) return std::nullopt;
  const std::optional<std::string> step = take_value(arguments, "--step", kShow, kShowUsage);
  return step ? parse_steps("--step", *step, 0) : -1;
}

/// Takes what asks for the timeline out of `arguments`.
TimelineRequest take_timeline(std::vector<std::string>& arguments, bool json) {
  TimelineRequest out;
  out.json = json;
  out.draw = take_flag(arguments, "--timeline");
  out.trace_file = take_value(arguments, "--trace", kShow, kShowUsage);
  const std::optional<std::string> first = take_value(arguments, "--step", kShow, kShowUsage);
  const std::optional<std::string> steps = take_value(arguments, "--steps", kShow, kShowUsage);
  const std::optional<std::string> rank = take_value(arguments, "--rank", kShow, kShowUsage);
  if (!out.draw && rank) throw Error("--rank chooses whose timeline --timeline draws", kShow, kShowUsage);
  if (rank) out.rank = static_cast<int>(std::min<std::int64_t>(parse_steps("--rank", *rank, 0), kMostRanks));
  if (!out.draw && (first || steps))
    throw Error("--step and --steps choose what --timeline draws, and --step what --gradients does", kShow,
                kShowUsage);
  if (first) out.wish.first = parse_steps("--step", *first, 0);
  if (steps) out.wish.steps = parse_steps("--steps", *steps, 1);
  return out;
}

}  // namespace

int show_command(const std::vector<std::string>& words) {
  std::vector<std::string> arguments = words;
  const bool json = take_flag(arguments, "--json");
  const bool live = take_flag(arguments, "--follow");
  const bool recorded = take_flag(arguments, "--recorded");
  const bool types = take_flag(arguments, "--types");
  const std::optional<std::string> curve = take_value(arguments, "--curve", kShow, kShowUsage);
  const std::optional<std::int64_t> gradients = take_gradients(arguments);
  const TimelineRequest timeline = take_timeline(arguments, json);
  refuse_unknown(arguments,
                 {"--follow", "--json", "--curve", "--timeline", "--step", "--steps", "--rank", "--trace",
                  "--recorded", "--gradients", "--types"},
                 kShow, kShowUsage);
  if (arguments.size() != 1) throw Error("which run?", kShow, kShowUsage);
  const bool asks_timeline = timeline.draw || timeline.trace_file;
  if (asks_timeline && (live || curve))
    throw Error("--timeline and --trace go with neither --follow nor --curve", kShow, kShowUsage);
  if (gradients && (asks_timeline || live || curve))
    throw Error("--gradients goes with --step and --json alone", kShow, kShowUsage);
  if (types && (gradients || asks_timeline || live || curve))
    throw Error("--types goes with --json alone", kShow, kShowUsage);
  const fs::path run = recorded ? recorded_folder(arguments.front()) : find_shown(arguments.front());
  if (types) {
    show_types(run, json);
    return 0;
  }
  if (gradients) {
    show_gradients(run, *gradients, json);
    return 0;
  }
  if (asks_timeline) {
    show_timeline(run, timeline);
    return 0;
  }
  RunReader reader(run);
  while (reader.update()) {
  }
  Console console;
  if (live && !is_over(reader.view())) {
    console.line(head_line(reader));
    follow(reader, console);
  }
  if (curve) {
    write_file_whole(*curve, draw_curve(reader));
    console.line("drawn: " + *curve);
  } else if (json) {
    std::printf("%s\n", to_json(reader).c_str());
  } else {
    print_whole(reader, console);
    if (recorded) print_other_recorded(arguments.front(), run);
  }
  return 0;
}

void show_run(const fs::path& run) {
  RunReader reader(run);
  while (reader.update()) {
  }
  Console console;
  print_whole(reader, console);
}

int runs_command(const std::vector<std::string>& arguments) {
  Console console;
  if (arguments.empty()) return list(console);
  if (arguments.front() == "note" && arguments.size() == 3) {
    write_file_whole(find_run(arguments[1], "runs") / "note.txt",
                     printable(arguments[2], kMostNoteBytes / 2));
    return 0;
  }
  if (arguments.front() == "name" && arguments.size() == 3) {
    name_run(find_ended(arguments[1]), arguments[2]);
    return 0;
  }
  if (arguments.front() == "delete" && arguments.size() == 2) {
    const fs::path run = find_ended(arguments[1]);
    const std::uint64_t bytes = folder_bytes(run);
    remove_run(run);
    console.line(fmt::format("deleted {} ({})", run.string(), human_bytes(bytes)));
    return 0;
  }
  throw Error("what about the runs?", "./isobar runs",
              "./isobar runs; runs name RUN NAME; runs note RUN TEXT; runs delete RUN");
}

}  // namespace isobar
