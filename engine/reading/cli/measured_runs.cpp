#include "cli/measured_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "cli/commands.h"
#include "core/clock.h"
#include "core/nvidia.h"
#include "launch/rank_launcher.h"
#include "record/run_folder.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kEndColumns = 75;

double seconds_since(std::int64_t begin_us) { return static_cast<double>(steady_us() - begin_us) * 1e-6; }

bool is_stop(int code) { return code == 130 || code == 143; }

/// Workers that share a slow disk finish their batches at about the same time, so that batches come in rounds
/// of as many as there are workers: a rate is right over whole rounds only.
std::int64_t whole_rounds(std::int64_t steps, const Config& config) {
  const std::int64_t round =
      config.loader.kind == LoaderKind::workers ? std::max<std::int64_t>(1, config.data.workers) : 1;
  return (steps + round - 1) / round * round;
}

}  // namespace

Json MeasuredPoint::folders_json() const {
  return json_list(runs, [](const fs::path& folder) { return folder.string(); });
}

void MeasuredPoint::add_to(Row& row, const std::string& mark) const {
  row.json["runs"] = folders_json();
  if (!failure.empty()) row.json["failure"] = failure;
  const Spread measured = rate();
  if (measured.empty()) return;
  row.add("samples_per_s", "samples/s", spread_text(Quantity::rate, measured) + mark, measured.median());
  row.json["min"] = measured.least();
  row.json["max"] = measured.most();
}

std::optional<double> MeasuredPoint::field(std::string_view field_name) const {
  return means(repeats, field_name).known_median();
}

std::optional<double> MeasuredPoint::last(std::string_view field_name) const {
  return over(repeats, [&](const SteadyFigures& one) { return one.last(field_name); }).known_median();
}

std::optional<double> MeasuredPoint::share(std::string_view field_name) const {
  return over(repeats,
              [&](const SteadyFigures& one) {
                const std::optional<double> part = one.mean(field_name), whole = one.mean("step_us");
                return part && whole > 0 ? std::optional(*part / *whole) : std::nullopt;
              })
      .known_median();
}

Spread MeasuredPoint::figures(double RunSummary::*figure) const {
  return over(repeats, [&](const SteadyFigures& one) { return one.view.summary.*figure; });
}

MeasuredRuns::MeasuredRuns(MeasurePlan plan, std::vector<MeasuredPoint> points)
    : plan_(std::move(plan)), points_(std::move(points)) {
  for (const MeasuredPoint& point : points_) {
    configs_.push_back(load_here(lesson_of(point), settings_of(point)));
    Config& config = configs_.back().config;
    if (!is_whole(point))
      config.train.steps = whole_rounds(plan_.arguments.steps, config) + kMeasureWarmUpSteps;
  }
  if (plan_.elsewhere) return;
  for (const MeasuredPoint& point : points_) check_can_run(lesson_of(point));
}

Settings MeasuredRuns::settings_of(const MeasuredPoint& point) const {
  Settings out = plan_.arguments.settings;
  if (!point.preset.empty()) out.preset = point.preset;
  out.sets.insert(out.sets.begin(), std::string("run.measure=") + (is_whole(point) ? "none" : "full"));
  out.sets.insert(out.sets.end(), point.sets.begin(), point.sets.end());
  return out;
}

int MeasuredRuns::prepare_data() {
  for (std::size_t i = 0; i < configs_.size(); ++i) {
    const LoadedConfig& loaded = configs_[i];
    // Without a driver the program reports why it cannot run, and making data first would only take time.
    const bool on_cuda = loaded.config.run.device.rfind("cuda", 0) == 0;
    if (on_cuda && !plan_.elsewhere && !has_nvidia_driver()) continue;
    if (const int code = ensure_data(lesson_of(points_[i]), loaded, plan_.arguments.json); code != 0)
      return code;
  }
  return 0;
}

int MeasuredRuns::run() {
  if (const int code = prepare_data(); code != 0) return code;
  int first_failure = 0;
  std::int64_t most = 0;
  for (const MeasuredPoint& point : points_) most = std::max(most, times_of(point));
  for (std::int64_t repeat = 0; repeat < most; ++repeat) {
    for (std::size_t i = 0; i < points_.size(); ++i) {
      if (points_[i].code != 0 || repeat >= times_of(points_[i]) || is_left_out(points_[i])) continue;
      const int code = run_once(points_[i], configs_[i].config, repeat);
      ++done_;
      if (code == 0) continue;
      stopped_ = is_stop(code);
      if (stopped_) std::fputs("stopped; what was measured so far is in runs/\n", stderr);
      if (stopped_ || plan_.stop_at_failure) return code;
      if (first_failure == 0) first_failure = code;
    }
  }
  return first_failure;
}

Ended start_here(const WantedRun& run, const std::function<void()>& tick) {
  std::vector<std::string> words = words_of(run.settings);
  words.insert(words.begin(), {run.program.string(), "--run-dir", run.folder.string()});
  if (run.ranks <= 1) return supervise(words, {.quiet = true, .tick = tick});
  RankOptions options;
  options.quiet = true;
  options.tick = tick;
  RanksEnded all = launch_ranks(words, static_cast<int>(run.ranks), options);
  const RankEnded& first = all.ranks[static_cast<std::size_t>(std::max(0, all.first))];
  Ended out;
  out.code = all.code;
  out.signal = first.signal;
  out.peak_bytes = first.peak_bytes;
  out.asked = all.asked;
  out.errors = first.errors;
  out.out_of_memory = first.out_of_memory;
  if (all.first >= 0) out.errors = first_failure_text(all) + "\n" + out.errors;
  return out;
}

int MeasuredRuns::run_once(MeasuredPoint& point, const Config& config, std::int64_t repeat) {
  const std::string& lesson = lesson_of(point).name;
  const fs::path folder = reserve_run_folder("runs", lesson);
  if (group_.empty()) group_ = plan_.command + folder.filename().string().substr(lesson.size());
  WantedRun wanted = {program_folder() / lesson, folder, settings_of(point), config.run.ranks};
  std::vector<std::string>& sets = wanted.settings.sets;
  if (!is_whole(point)) sets.push_back(fmt::format("train.steps={}", config.train.steps));
  sets.push_back("run.group=" + group_);
  sets.push_back("run.point=" + point.name);
  sets.push_back(fmt::format("run.repeat={}", repeat));
  show(point, repeat, 0, /*begins=*/true);
  const std::int64_t begin_us = steady_us();
  const Ended ended =
      plan_.start(wanted, [&] { show(point, repeat, seconds_since(begin_us), /*begins=*/false); });
  const auto killed = killed_error(ended, wanted.program.string());
  const bool stopped =
      ended.asked != 0 && (ended.code == 0 || ended.code == 75 || ended.code == 128 + ended.asked);
  if (stopped) return take_failure(point, folder, 128 + ended.asked, "");
  const auto wrong = [&](const std::string& what, const std::string& said = "") {
    const Error error(what, folder.string(), "", Exit::failed);
    return take_failure(point, folder, static_cast<int>(error.code()), error.text() + "\n" + said);
  };
  if (point.fails && ended.code != *point.fails)
    return wrong(
        fmt::format("the run was to end with exit code {}, and ended with {}", *point.fails, ended.code),
        ended.errors);
  if (!point.fails && ended.code != 0)
    return take_failure(point, folder, ended.code,
                        killed && config.run.ranks <= 1 ? killed->text() + "\n" : ended.errors);
  SteadyFigures figures = is_run_folder(folder) ? steady_figures(folder) : SteadyFigures{};
  const bool is_scored = is_whole(point) && figures.view.summary.has_scores;  // a short one has no rate
  const bool has_rate = figures.samples_per_s > 0 || figures.view.summary.samples == 0;  // a bench has none
  if (!point.fails && !is_scored && (figures.steps == 0 || !has_rate))
    return wrong("the run left no step after its warm-up");
  if (point.for_times && is_disturbed(figures.view, config_of(folder))) disturbed_ = true;
  point.runs.push_back(folder);
  point.repeats.push_back(std::move(figures));
  point.wall_s.push_back(seconds_since(begin_us));
  return 0;
}

int MeasuredRuns::take_failure(MeasuredPoint& point, const fs::path& folder, int code,
                               const std::string& said) {
  std::error_code ignored;
  const bool unused = fs::is_empty(folder, ignored);
  if (unused) fs::remove(folder, ignored);
  point.code = code;
  point.failure = said;
  if (said.empty()) return code;
  if (console_.is_terminal() && !plan_.arguments.json) console_.progress("");
  std::fprintf(stderr, "%s failed%s:\n%s", point.name.c_str(),
               unused ? "" : (" (" + folder.string() + ")").c_str(), said.c_str());
  return code;
}

double MeasuredRuns::left_s() const {
  double known_s = 0;
  std::size_t known = 0;
  for (const MeasuredPoint& point : points_) {
    for (const double wall_s : point.wall_s) known_s += wall_s;
    known += point.wall_s.size();
  }
  if (known == 0) return -1;
  const double usual_s = known_s / static_cast<double>(known);
  double left = 0;
  for (const MeasuredPoint& point : points_) {
    if (point.code != 0 || is_left_out(point)) continue;
    const auto runs = static_cast<double>(times_of(point)) - static_cast<double>(point.wall_s.size());
    left += runs * (point.wall_s.empty() ? usual_s : Spread(point.wall_s).median());
  }
  return left;
}

void MeasuredRuns::show(const MeasuredPoint& point, std::int64_t repeat, double since_s, bool begins) {
  if (plan_.arguments.json || (!begins && !console_.is_terminal())) return;
  std::int64_t all = 0;
  for (const MeasuredPoint& each : points_) all += times_of(each);
  const double left = left_s();
  const std::string time =
      left < 0 ? "" : fmt::format(", about {} left", about_seconds(std::max(0.0, left - since_s)));
  console_.progress(fmt::format("run {} of {}: {}, {} {}{}{}", done_ + 1, all, point.name,
                                plan_.command == "quartet" ? "trial" : "repeat", repeat + 1,
                                begins ? "" : fmt::format(", {}", human_seconds(since_s)), time));
}

SharedProcessors shared_processors(const MeasuredRuns& runs) {
  SharedProcessors out;
  for (const MeasuredPoint& point : runs.points()) {
    for (const SteadyFigures& one : point.repeats) {
      const RunSummary& summary = one.view.summary;
      ++out.of;
      if (summary.is_crowded()) ++out.runs;
      out.most_wait = std::max(out.most_wait, summary.processor_wait);
    }
  }
  return out;
}

const RunView* MeasuredRuns::first_view() const {
  for (const MeasuredPoint& point : points_) {
    if (!point.repeats.empty()) return &point.repeats.front().view;
  }
  return nullptr;
}

std::string MeasuredRuns::device() const {
  const RunView* const view = first_view();
  return view == nullptr ? "this machine" : view->device;
}

Json head_json(const std::string& command, const std::string& what, const Json& steps,
               const MeasuredRuns& runs, const MeasureArguments& arguments) {
  return {{command, what},
          {"preset", runs.config(0).preset},
          {"device", runs.device()},
          {"provenance", "measured here"},
          {"group", runs.group()},
          {"steps", steps},
          {"repeats", arguments.repeats},
          {"stopped", runs.was_stopped()},
          {"crowded_runs", shared_processors(runs).runs}};
}

void add_end(Report& report, const MeasuredRuns& runs, const std::string& what) {
  if (const SharedProcessors shared = shared_processors(runs); shared.runs > 0) {
    report.wrapped(fmt::format("! processors were shared in {} of {} runs: {}", shared.runs, shared.of,
                               crowded_sentence(shared.most_wait)),
                   kEndColumns);
  }
  report.line(fmt::format("  each {} is a run: ./isobar runs {}", what, runs.group()));
}

fs::path write_in_group(const MeasuredRuns& runs, const std::string& name, const std::string& text) {
  const fs::path folder = fs::path("runs") / runs.group();
  std::error_code code;
  fs::create_directories(folder, code);
  if (code) throw system_error("cannot make the folder", folder.string(), code.value());
  write_file_whole(folder / name, text);
  return folder / name;
}

std::string measured_what(const MeasuredRuns& runs, const MeasureArguments& arguments,
                          const std::string& what) {
  const LoadedConfig& loaded = runs.config(0);
  std::string steps = "whole runs";
  if (!arguments.whole) {
    std::int64_t least = loaded.config.train.steps;
    std::int64_t most = least;
    for (std::size_t i = 0; i < runs.points().size(); ++i) {
      least = std::min(least, runs.config(i).config.train.steps);
      most = std::max(most, runs.config(i).config.train.steps);
    }
    steps = fmt::format("{}{} steps after {} of warm-up", least - kMeasureWarmUpSteps,
                        most > least ? fmt::format(" to {}", most - kMeasureWarmUpSteps) : "",
                        kMeasureWarmUpSteps);
  }
  const std::int64_t world = loaded.config.run.ranks;
  const bool same = std::ranges::all_of(runs.points(), [&](const MeasuredPoint& point) {
    return point.repeats.empty() || point.repeats.front().view.summary.world == world;
  });
  const std::string ranks = same && world > 1 ? fmt::format(", {} ranks", world) : "";
  return fmt::format("{}{} on {}{}, {}, {} in turn{} (measured here)", arguments.lesson.name,
                     loaded.preset.empty() ? "" : ", preset " + loaded.preset, runs.device(), ranks, steps,
                     counted(arguments.repeats, what), runs.was_stopped() ? ", stopped before the end" : "");
}

}  // namespace isobar
