#include "cli/show_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <optional>

#include "analyse/curve_svg.h"
#include "analyse/operators.h"
#include "analyse/ranks.h"
#include "analyse/replay.h"
#include "analyse/run_files.h"
#include "analyse/run_reader.h"
#include "cli/follow_run.h"
#include "cli/gradients_command.h"
#include "cli/recorded_view.h"
#include "cli/run_lines.h"
#include "cli/runs_command.h"
#include "cli/show_events.h"
#include "cli/timeline_command.h"
#include "cli/words.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "launch/spawn.h"
#include "record/console.h"
#include "record/run_folder.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr double kSilent_s = 10;  // a step may take that long; more may be a file system that stalls

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
  return fmt::format("{}  {}{}{}{}", printable(reader.folder().filename().string()), state, reason,
                     silent + ahead, marks.empty() ? "" : "  " + marks.substr(0, marks.size() - 1));
}

/// "activations 5.3 MB, weights 1.9 MB, ..."
std::string memory_text(const RunView& view) {
  std::vector<std::string> parts;
  for (const auto& [category, bytes] : view.memory) parts.push_back(category + " " + human_bytes(bytes));
  return join(parts, ", ");
}

/// `where` is the folder to name, which of a replay need not be the one that is read.
void print_whole(const RunReader& reader, Console& console, const fs::path& where) {
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
    console.line(fmt::format("  {} line{} of the stream could not be read", view.unread_lines,
                             view.unread_lines == 1 ? "" : "s"));
  if (view.summary.world > 1) {
    for (const std::string& line : rank_lines(read_ranks(reader.folder()))) console.line(line);
  }
  console.line("  run          " + printable(where.string(), 4096));
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
  console.line(printable(run.filename().string()));
  for (const std::string& line : type_lines(table)) console.line(line);
}

constexpr const char* kShow = "./isobar show";
constexpr const char* kShowUsage =
    "./isobar show RUN [--follow | --replay SPEED [--into FOLDER]] [--json] [--curve FILE.svg] [--timeline "
    "[--step N] [--steps K] [--rank R]] "
    "[--trace FILE.json] [--gradients [--step N]] [--types]; RUN is a folder, a name, or last; N counts from "
    "0; SPEED is 20x, 1x, 0.5x; ./isobar show LESSON --recorded";

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

struct ReplayRequest {
  double speed = 0;              ///< 0 = none is wanted
  std::optional<fs::path> into;  ///< the folder to play into, for others to watch; else one that nobody keeps
};

/// Takes what asks for a replay out of `arguments`; `alone`: nothing else is asked for.
ReplayRequest take_replay(std::vector<std::string>& arguments, bool alone) {
  ReplayRequest out;
  const std::optional<std::string> speed = take_value(arguments, "--replay", kShow, kShowUsage);
  const std::optional<std::string> into = take_value(arguments, "--into", kShow, kShowUsage);
  if (speed) out.speed = parse_speed(*speed, "--replay");
  if (into) out.into = *into;
  if (into && (!speed || into->empty()))
    throw Error("--into names the new folder that --replay plays into", kShow, kShowUsage);
  if (speed && !alone) throw Error("--replay goes with --into and --recorded alone", kShow, kShowUsage);
  return out;
}

/// Of another program.
int show_events(const fs::path& folder) {
  Console console;
  for (const std::string& line : event_lines(folder)) console.line(line);
  return 0;
}

/// Ctrl-C and its kin, which end a replay and leave nothing behind.
class StopKeys {
 public:
  StopKeys() { std::signal(SIGXFSZ, SIG_IGN); }  // a file size limit is an error that can be told
  bool asked() {
    const int number = signals_.next(0);
    if (number == SIGTSTP) raise(SIGSTOP);
    if (number == SIGINT || number == SIGTERM || number == SIGHUP) asked_ = number;
    return asked_ != 0;
  }
  int code() const { return 128 + asked_; }

 private:
  HeldSignals signals_;
  int asked_ = 0;
};

int show_replay(const fs::path& run, const ReplayRequest& request) {
  StopKeys keys;  // before there are threads, which are not to hear them
  Console console;
  std::optional<PrivateRunFolder> own;
  const fs::path into = request.into ? *request.into : own.emplace(run).path();
  Replay replay(run, into, {.speed = request.speed, .with_fields = request.into.has_value()});
  const RunSummary played = glance(run).summary;
  console.line(fmt::format("replay of {} at {:g}x: {} in {}{}", printable(run.filename().string()),
                           request.speed, human_seconds(played.wall_s),
                           human_seconds(played.wall_s / request.speed),
                           own ? "" : "; live in " + printable(into.string(), 4096)));
  RunReader reader(replay.folder());
  ReplayThread playing(replay);
  const bool whole = follow_run(reader, console,
                                {.more_comes = [&] { return !playing.is_over(); },
                                 .stop = [&] { return playing.failed() || keys.asked(); }});
  playing.stop();
  playing.rethrow();
  if (!whole) {
    while (reader.update()) {
    }
    console.line(fmt::format("the replay was stopped after {} of {} steps", reader.view().summary.steps,
                             played.wanted_steps));
    return keys.code();
  }
  print_whole(reader, console, own ? run : into);
  return 0;
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
  const bool asks_timeline = timeline.draw || timeline.trace_file;
  const ReplayRequest replay =
      take_replay(arguments, !json && !types && !gradients && !asks_timeline && !curve);
  refuse_unknown(arguments,
                 {"--follow", "--json", "--curve", "--timeline", "--step", "--steps", "--rank", "--trace",
                  "--recorded", "--gradients", "--types", "--replay", "--into"},
                 kShow, kShowUsage);
  if (arguments.size() != 1) throw Error("which run?", kShow, kShowUsage);
  if (asks_timeline && (live || curve))
    throw Error("--timeline and --trace go with neither --follow nor --curve", kShow, kShowUsage);
  if (gradients && (asks_timeline || live || curve))
    throw Error("--gradients goes with --step and --json alone", kShow, kShowUsage);
  if (types && (gradients || asks_timeline || live || curve))
    throw Error("--types goes with --json alone", kShow, kShowUsage);
  const fs::path run = recorded ? recorded_folder(arguments.front()) : find_shown_run(arguments.front());
  if (replay.speed > 0) return show_replay(run, replay);
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
  if (!json && !curve && !is_run_folder(run) && !event_files(run).empty()) return show_events(run);
  RunReader reader(run);
  while (reader.update()) {
  }
  Console console;
  if (live && !is_over(reader.view())) {
    console.line(head_line(reader));
    follow_run(reader, console);
  }
  if (curve) {
    write_file_whole(*curve, draw_curve(reader));
    console.line("drawn: " + *curve);
  } else if (json) {
    std::printf("%s\n", to_json(reader).c_str());
  } else {
    print_whole(reader, console, run);
    if (recorded) print_other_recorded(arguments.front(), run);
  }
  return 0;
}

void show_run(const fs::path& run) {
  RunReader reader(run);
  while (reader.update()) {
  }
  Console console;
  print_whole(reader, console, run);
}

}  // namespace isobar
