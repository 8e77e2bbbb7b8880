#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "analyse/chrome_trace.h"
#include "analyse/pipeline_run.h"
#include "analyse/ranks.h"
#include "analyse/recorded_runs.h"
#include "analyse/timeline.h"
#include "cli/commands.h"
#include "cli/memory_report.h"
#include "cli/run_lines.h"
#include "cli/runs_command.h"
#include "cli/show_mesh.h"
#include "cli/show_pipeline.h"
#include "core/named_file.h"
#include "draw/svg_canvas.h"
#include "launch/spawn.h"
#include "log/event_files.h"
#include "log/gradient_histograms.h"
#include "log/operators.h"
#include "log/replay.h"
#include "log/run_files.h"
#include "plot/lesson_view.h"
#include "plot/scaling_picture.h"
#include "record/console.h"
#include "record/run_folder.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr const char* kShow = "./isobar show";
constexpr const char* kShowHint = "./isobar show RUN ...; --help lists what there is";

void show_types(const fs::path& run, bool json) {
  check_run_folder(run);
  const OperatorTable table = read_operators(run);
  Report out;
  out.json = operators_json(table);
  out.line(printable(run.filename().string()));
  out.lines(type_lines(table));
  out.print(json);
}

struct ShowArguments {
  std::string run, replay, into, file;
  fs::path curve;
  bool replace = false;  ///< what `file`, `curve` or the trace names
  bool json = false, live = false, recorded = false, types = false, gradients = false, picture = false;
  bool memory = false, mesh = false;
  int per_node = 0;                ///< ranks of a node of --mesh; 0 = as they ran
  std::string svg;                 ///< the picture of --memory
  double speed = 0;                ///< speed of a replay; 0 = none is wanted
  std::int64_t gradients_at = -1;  ///< the step, -1 = the last one
  bool timeline = false;
  int rank = 0;                           ///< whose spans or memory are drawn; a trace has all
  std::optional<std::string> trace_file;  ///< to be written, a Chrome trace
  TimelineWish wish;

  bool asks_timeline() const { return timeline || trace_file; }
};

bool is_svg(const std::string& name) { return fs::path(name).extension() == ".svg"; }

void check(const ShowArguments& out, bool has_into, bool has_rank, bool has_step, bool has_steps) {
  const auto refuse = [](const char* what) { throw Error(what, kShow, kShowHint); };
  if (out.run.empty()) refuse("which run?");
  if (!out.timeline && !out.memory && has_rank)
    refuse("--rank chooses whose timeline --timeline or --memory draws");
  if (!out.timeline && (has_steps || (has_step && !out.gradients)))
    refuse("--step and --steps choose what --timeline draws, and --step what --gradients does");
  if (has_into && (out.speed == 0 || out.into.empty()))
    refuse("--into names the new folder that --replay plays into");
  const bool live_or_curve = out.live || !out.curve.empty();
  if (out.speed > 0 && (out.json || out.types || out.gradients || out.asks_timeline() || !out.curve.empty()))
    refuse("--replay goes with --into and --recorded alone");
  if (out.asks_timeline() && live_or_curve)
    refuse("--timeline and --trace go with neither --follow nor --curve");
  if (out.gradients && (out.asks_timeline() || live_or_curve))
    refuse("--gradients goes with --step and --json alone");
  if (!out.file.empty() && (!out.picture || !is_svg(out.file)))
    refuse("name one run; a second word is the .svg file of --picture");
  if (out.picture &&
      (out.json || out.types || out.gradients || out.asks_timeline() || live_or_curve || out.speed > 0))
    refuse("--picture goes with --recorded alone");
  if (out.picture && out.recorded && out.file.empty())
    refuse("--recorded --picture needs a file: nothing is written beside a recorded run");
  if (out.types && (out.gradients || out.asks_timeline() || live_or_curve))
    refuse("--types goes with --json alone");
  if (out.memory &&
      (out.types || out.gradients || out.picture || out.asks_timeline() || live_or_curve || out.speed > 0))
    refuse("--memory goes with --rank, --svg and --json alone");
  if (!out.svg.empty() && !out.memory) refuse("--svg names the file of --memory");
  if (out.mesh && (out.memory || out.types || out.gradients || out.picture || out.asks_timeline() ||
                   live_or_curve || out.speed > 0))
    refuse("--mesh goes with --gpus-per-node and --json alone");
  if (out.per_node > 0 && !out.mesh) refuse("--gpus-per-node places the ranks of --mesh");
}

std::optional<ShowArguments> parse_show(const Words& words) {
  ShowArguments out;
  std::string trace;
  std::int64_t step = 0;
  OptionParser app("What a run reports, while it runs or afterwards", kShow);
  app.add("RUN", out.run, "a folder, a name, or last; with --recorded a lesson");
  app.flag("--follow", out.live, "keep reporting until the run ends");
  app.flag("--json", out.json, "one JSON object instead of the text");
  app.flag("--picture", out.picture,
           "draw the idea of its lesson from this run, into FILE or picture.svg in its folder");
  app.add("FILE", out.file, "of --picture, a .svg file");
  app.add("--curve", out.curve, "draw the loss into this .svg file");
  app.flag(kReplace, out.replace, kReplaceHelp);
  app.flag("--recorded", out.recorded, "the run recorded beside this lesson");
  app.group("A replay");
  app.add("--replay", out.replay, "replay a finished run at this speed: 20x, 1x, 0.5x");
  const auto into = app.add("--into", out.into, "replay into this new folder, for others to watch");
  app.group("Within a step");
  app.flag("--timeline", out.timeline, "what ran when: the loop, the device, the loaders");
  const auto first = app.add("--step", step, "the first step to draw").at_least(0);
  const auto steps = app.add("--steps", out.wish.steps, "how many steps to draw").at_least(1);
  const auto rank = app.add("--rank", out.rank, "of this rank").at_least(0);
  const auto traced = app.add("--trace", trace, "write the timeline into this .json file, for Perfetto");
  app.flag("--memory", out.memory, "what one step holds in memory, by category, and at its peak");
  app.add("--svg", out.svg, "draw the memory into this .svg file");
  app.flag("--mesh", out.mesh, "ranks on their nodes, their groups, and what links carry in a step");
  app.add("--gpus-per-node", out.per_node, "with --mesh: as if so many ranks were on each node").at_least(1);
  app.flag("--gradients", out.gradients,
           "how large the gradients of --step are; default: the last recorded step");
  app.flag("--types", out.types, "the operators of each module, with their input and output types");
  if (!app.parse(words, {.where = kShow, .hint = kShowHint})) return std::nullopt;
  if (is_svg(out.run) && out.picture) std::swap(out.run, out.file);  // --picture FILE.svg RUN
  if (!out.replay.empty()) out.speed = parse_speed(out.replay, "--replay");
  out.rank = std::min(out.rank, kMostRanks);
  if (traced.given()) out.trace_file = trace;
  if (first.given()) (out.gradients ? out.gradients_at : out.wish.first) = step;
  check(out, into.given(), rank.given(), first.given(), steps.given());
  if (out.recorded) out.run = find_lesson(project_home(), out.run).name;
  return out;
}

void write_picture(const fs::path& into, const char* option, const ShowArguments& asked,
                   const std::string& svg, Console& console) {
  write_named_file(
      {.path = into, .option = option, .kind = "picture", .mark = kSvgMark, .replace = asked.replace}, svg);
  console.line("drawn: " + printable(into.string(), 4096));
}

/// The picture of the lesson's idea, from this run. Error (exit code 2) when there is nothing to draw.
void show_picture(const fs::path& run, const ShowArguments& asked, Console& console) {
  const OwnPicture picture = own_picture(run);
  if (!picture.nothing.empty())
    throw Error(picture.nothing, printable(run.filename().string()), picture.hint);
  const fs::path into = asked.file.empty() ? run / "picture.svg" : fs::path(asked.file);
  write_picture(into, "--picture", asked, drawing_svg(picture.drawing), console);
}

/// The histogram of gradients of step `at` or the last before it (a negative step: the last of all), or all
/// of them as JSON.
void show_gradients(const fs::path& run, std::int64_t at, bool json) {
  const std::vector<GradientHistogram> all = read_gradient_histograms(run);
  Report out;
  out.json = gradients_json(all, run.filename().string());
  out.line(printable(run.filename().string()));
  if (!json) out.lines(gradient_lines(histogram_at(all, at)));
  out.print(json);
}

constexpr std::uint64_t kMostRangeBytes =
    4 << 20;  // from all ranks, to find the steps that they have in common
constexpr std::size_t kMostTracedRanks = 64;

/// All ranks side by side. Those of one machine have one clock; another machine's is set so that collectives
/// end at the same time as on rank 0.
void write_trace(const fs::path& run, const NamedFile& file, RunReader& reader, Report& out) {
  const RanksView view = read_ranks(run);
  const SpanTable first = read_spans(run);
  const std::string lesson = reader.view().lesson.empty() ? "" : ": " + reader.view().lesson;
  ChromeTrace trace(place_of(file));
  trace.add(first, &reader.series(), {.rank = 0, .name = "rank 0" + lesson, .shift_us = 0});
  std::size_t guessed = 0;
  std::size_t left_out = 0;
  for (const RankFigures& rank : view.ranks) {
    std::error_code code;
    if (rank.rank == 0 || !fs::exists(RunFolder{run}.spans_file(rank.rank), code)) continue;
    if (static_cast<std::size_t>(rank.rank) >= kMostTracedRanks) {
      ++left_out;
      continue;
    }
    const SpanTable table = read_spans(run, rank.rank);
    const bool one_clock =
        rank.host == view.ranks.front().host && table.origin_us >= 0 && first.origin_us >= 0;
    if (!one_clock) ++guessed;
    const std::string clock = one_clock ? "" : " (clock set by the ends of collectives)";
    trace.add(table, nullptr,
              {.rank = rank.rank,
               .name = fmt::format("rank {}{}{}", rank.rank, lesson, clock),
               .shift_us = one_clock ? table.origin_us - first.origin_us : ends_apart_us(first, table)});
  }
  trace.finish();
  if (guessed > 0)
    out.line(
        fmt::format("{} ranks have another clock than rank 0: theirs is set so that collectives end at the "
                    "same time",
                    guessed));
  if (left_out > 0) out.line(fmt::format("{} more ranks are left out", left_out));
  out.line("written: " + file.path.string() + " (open it at https://ui.perfetto.dev or chrome://tracing)");
}

/// Draws the timeline of a run, or prints it as JSON, or writes it as a Chrome trace.
void show_timeline(const fs::path& run, const ShowArguments& asked, Console& console) {
  RunReader reader(run, /*keep_series=*/true);
  reader.read_all();
  const std::int64_t world = reader.view().summary.world;
  if (asked.rank >= world) {
    throw Error(fmt::format("the run has no rank {}", asked.rank), "--rank",
                world == 1 ? "it is of one process: leave it out" : fmt::format("from 0 to {}", world - 1));
  }
  const SpanTable table = with_works(read_spans(run, asked.rank));
  const std::string name = printable(run.filename().string()) +
                           (world > 1 ? fmt::format(", rank {} of {}", asked.rank, world) : "");
  if (asked.trace_file) {
    const std::string& file = *asked.trace_file;
    if (fs::path(file).extension() != ".json") {
      throw Error("a trace is a .json file", printable(file), "./isobar show RUN --trace trace.json");
    }
    Report written;
    write_trace(
        run,
        {.path = file, .option = "--trace", .kind = "trace", .mark = kTraceMark, .replace = asked.replace},
        reader, written);
    if (!asked.json) written.print(console);
  }
  if (!asked.timeline && !asked.json) return;
  TimelineWish wish = asked.wish;
  try {
    if (world > 1) wish.steady = read_ranks(run, kMostRangeBytes).compared();
  } catch (const Error&) {  // another rank's stream cannot be read: this one's steps are all there is
  }
  const Timeline timeline = make_timeline(table, reader.series(), wish);
  Report out;
  out.json = timeline_json(table, timeline, name);
  add_pipeline_step(out, run, wish.steady, wish.first);
  out.line(name);
  const bool colour = console.is_terminal() && std::getenv("NO_COLOR") == nullptr;
  out.lines(draw_timeline(table, timeline, {terminal_columns(), colour}));
  out.line("");
  out.lines(timeline_lines(table, timeline));
  out.print(asked.json);
}

/// Ctrl-C and its kin, which end a replay and leave nothing behind.
class StopKeys {
 public:
  StopKeys() { std::signal(SIGXFSZ, SIG_IGN); }  // a file size limit is an error that can be reported
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

int show_replay(const fs::path& run, const ShowArguments& request) {
  StopKeys keys;  // before there are threads, which are not to hear them
  Console console;
  std::optional<PrivateRunFolder> own;
  const fs::path into = request.into.empty() ? own.emplace(run).path() : fs::path(request.into);
  Replay replay(run, into, {.speed = request.speed, .with_fields = !own});
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
    reader.read_all();
    console.line(fmt::format("the replay was stopped after {} of {} steps", reader.view().summary.steps,
                             played.wanted_steps));
    return keys.code();
  }
  run_report(reader, own ? run : into).print(console);
  return 0;
}

/// The run to open for a lesson: the newest recorded one, else the predicted one.
fs::path recorded_folder(const std::string& lesson) {
  const fs::path home = project_home();
  const LessonInfo info = read_lesson(home, lesson);
  const std::vector<RecordedRun> runs = recorded_runs(home, info.name);
  if (!runs.empty()) return runs.front().folder;
  throw Error("no run of " + info.name + " was recorded or predicted yet",
              (info.file.parent_path() / "recorded").string(),
              "./isobar predict " + info.name + ", or on a machine with a GPU: ./isobar record " + info.name);
}

/// What one of the lesson's other recorded and predicted runs shows beside this one, and a line for each.
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

void show_run(const fs::path& run, const ShowArguments& asked, Console& console) {
  RunReader reader(run);
  reader.read_all();
  if (asked.live && !is_over(reader.view())) {
    console.line(head_line(reader));
    follow_run(reader, console);
  }
  if (!asked.curve.empty()) {
    return write_picture(asked.curve, "--curve", asked, draw_curve(reader), console);
  }
  const Report out = run_report(reader);
  if (asked.json) return out.print(/*as_json=*/true);
  out.print(console);
  if (asked.recorded) print_other_recorded(asked.run, run);
}

void refuse_within_a_step(const fs::path& run) {
  if (is_run_folder(run) && !glance(run).source.empty())
    throw Error("a log of another program has nothing from within a step", printable(run.filename().string()),
                "./isobar show RUN shows what it has");
}

}  // namespace

int show_command(const Words& words) {
  const std::optional<ShowArguments> asked = parse_show(words);
  if (!asked) return 0;
  const fs::path run = asked->recorded ? recorded_folder(asked->run) : find_shown_run(asked->run);
  if (asked->speed > 0) return show_replay(run, *asked);
  if (asked->asks_timeline() || asked->types || asked->gradients || asked->memory || asked->mesh)
    refuse_within_a_step(run);
  Console console;
  if (asked->mesh) {
    show_mesh(run, asked->per_node, asked->json);
  } else if (asked->memory) {
    show_memory(run, asked->rank, named_svg(asked->svg, asked->replace), asked->json);
  } else if (asked->picture) {
    show_picture(run, *asked, console);
  } else if (asked->types) {
    show_types(run, asked->json);
  } else if (asked->gradients) {
    show_gradients(run, asked->gradients_at, asked->json);
  } else if (asked->asks_timeline()) {
    show_timeline(run, *asked, console);
  } else if (asked->curve.empty() && !is_run_folder(run) && !event_files(run).empty()) {
    event_report(run).print(asked->json);
  } else {
    show_run(run, *asked, console);
  }
  return 0;
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
