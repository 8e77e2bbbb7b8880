// ./isobar bench gui: how quick the window is with many runs and long ones, and what it costs when nothing
// happens.
#include <dirent.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "bench/bench_report.h"
#include "bench/make_runs.h"
#include "core/clock.h"
#include "core/proc.h"
#include "core/text.h"
#include "gui/headless.h"
#include "launch/child_process.h"
#include "record/json_line.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

struct Sizes {
  int runs = 1000;
  int steps = 10'000;
  int long_steps = 1'000'000;
  int repeats = 3;
};

double since_s(std::int64_t begin_us) { return static_cast<double>(steady_us() - begin_us) * 1e-6; }

AppOptions options_for(const TempFolder& folder, const fs::path& runs) {
  AppOptions options = options_in(folder);
  options.places = {runs};
  return options;
}

/// From nothing to a frame that shows the list with final values and ten curves.
double start_seconds(const TempFolder& folder, const fs::path& runs, int count) {
  const std::int64_t begin_us = steady_us();
  // As high as shows the curves too, which stand below the scoreboard.
  Headless window(options_for(folder, runs), 1440, 2400);
  window.state().view = View::compare;
  window.until(
      "the list",
      [&] { return static_cast<int>(window.app().feed_state().runs->runs.size()) >= std::min(10, count); },
      120);
  for (std::size_t i = 0; i < 10; ++i) {
    window.state().compared.insert(window.app().feed_state().runs->runs[i]->id);
  }
  window.until(
      "the runs",
      [&] {
        const FeedState state = window.app().feed_state();
        const bool all = static_cast<int>(state.runs->runs.size()) == count && state.runs->unread == 0;
        return all && window.app().is_settled();
      },
      120);
  const double seconds = since_s(begin_us);
  const auto read = window.app().feed_state().runs;
  for (const auto& run : read->runs) {
    if (!run->view.summary.has_scores)
      throw Error("a run without its final values", run->id, "", Exit::failed);
  }
  if (window.count_colour(window.box("train loss"), window.app().ui().theme().series[0]) == 0) {
    throw Error("the curves are not drawn", "bench gui", "", Exit::failed);
  }
  return seconds;
}

double frame_ms(Headless& window) {
  const std::int64_t begin_us = steady_us();
  window.frames(1);
  return since_s(begin_us) * 1e3;
}

/// Frames of the Watch view of a run with a million steps while it is dragged; milliseconds each.
std::vector<double> pan_frames(const TempFolder& folder, const fs::path& runs, BenchRow& reading) {
  const std::int64_t begin_us = steady_us();
  Headless window(options_for(folder, runs));
  window.until(
      "the long run", [&] { return window.app().is_settled() && !window.state().run.empty(); }, 300);
  reading.values.push_back(since_s(begin_us));
  window.frames(30);
  const Box plot = window.box("throughput");
  const float y = (plot.y0 + plot.y1) / 2;
  window.wheel({(plot.x0 + plot.x1) / 2, y}, 2, /*control=*/true);
  std::vector<double> out;
  float x = plot.x1 - 60;
  window.move_to(x, y);
  window.press(true);
  for (int i = 0; i < 300; ++i) {
    x += i % 100 < 50 ? -4.0F : 4.0F;
    window.put_mouse(x, y);
    out.push_back(frame_ms(window));
  }
  window.press(false);
  return out;
}

double worst_noise_frame_ms(const TempFolder& folder, const fs::path& runs) {
  Headless window(options_for(folder, runs));
  window.settle();
  window.frames(10);
  double worst = 0;
  const auto all = window.app().feed_state().runs->runs;
  for (std::size_t i = 0; i < all.size(); i += 10) {
    window.state().run = all[i]->id;
    window.state().compared.insert(all[i]->id);
    for (const View view : {View::watch, View::compare, View::maps}) {
      window.state().view = view;
      for (int k = 0; k < 40; ++k) {  // while it is read, and after
        worst = std::max(worst, frame_ms(window));
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    }
  }
  return worst;
}

/// From a line in the file to the frame that shows it, in seconds.
std::vector<double> latencies(const TempFolder& folder) {
  const fs::path run = write_run(folder, {.name = "live", .steps = 100, .status = ""});
  Headless window(options_in(folder));
  window.settle();
  std::vector<double> out;
  for (int step = 100; step < 120; ++step) {
    std::ofstream(run / "rank-0000.jsonl", std::ios::app) << step_line(step, 0.5, 1000);
    const std::int64_t begin_us = steady_us();
    window.until("the step", [&] {
      return window.app().feed_state().runs->find(run.string())->view.summary.steps == step + 1;
    });
    out.push_back(since_s(begin_us));
    std::this_thread::sleep_for(std::chrono::milliseconds(37 * (step % 7)));
  }
  return out;
}

/// Ticks of processor time that the window below `parent` has used; -1 when it is not there.
long window_ticks(pid_t parent) {
  for (const pid_t process : numbered_entries("/proc")) {
    const auto stat = stat_of(proc_folder(process));
    if (!stat.empty() && stat[kName] == "isobar-gui" && std::stoi(stat[kParent]) == parent)
      return std::stol(stat[kUserTicks]) + std::stol(stat[kSystemTicks]);
  }
  return -1;
}

/// Share of one core that the real window takes while nothing happens, in percent.
std::vector<double> idle_percent(const TempFolder& folder, const fs::path& runs) {
  const fs::path script = project_home() / "cmake/setup/with_display.sh";
  struct Ended : ChildProcess {
    using ChildProcess::ChildProcess;
    ~Ended() { send(SIGTERM); }
  } child({script.string(), "1440x900", std::string(ISOBAR_BIN) + "/isobar-gui", runs.string()},
          folder.path(), folder / "window.log");
  std::vector<double> out;
  std::this_thread::sleep_for(std::chrono::seconds(8));
  for (int i = 0; i < 3; ++i) {
    const long before = window_ticks(child.pid());
    const std::int64_t begin_us = steady_us();
    std::this_thread::sleep_for(std::chrono::seconds(5));
    const long after = window_ticks(child.pid());
    if (before < 0 || after < 0) break;
    out.push_back(100 * static_cast<double>(after - before) / static_cast<double>(sysconf(_SC_CLK_TCK)) /
                  since_s(begin_us));
  }
  child.send(SIGTERM);
  for (int i = 0; i < 100 && !child.exit_code(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return out;
}

void add(BenchReport& report, const BenchRow& row) {
  if (row.values.empty()) {
    report.say(fmt::format("  {:<46} not measured here", row.name));
    return;
  }
  report.add(row);
}

void measure(const TempFolder& folder, const Sizes& sizes, BenchReport& report) {
  const fs::path many = folder / "many";
  const fs::path one = folder / "one";
  const fs::path noise = folder / "noise";
  report.say(fmt::format("writing {} runs of {} steps, one of {} ...", human_count(sizes.runs),
                         human_count(sizes.steps), human_count(sizes.long_steps)));
  make_runs(many, sizes.runs, sizes.steps, [&](int done) {
    if (done % 250 == 0) report.say(fmt::format("  {} of {}", done, sizes.runs));
  });
  make_runs(one, 1, sizes.long_steps, [](int) {});
  make_noise(noise, 300);
  BenchRow warm{"list of all runs and ten curves, from the start", "s", {}, 2};
  BenchRow cold{"the same, streams not in memory", "s", {}, 0};
  for (int i = 0; i < sizes.repeats; ++i) {
    warm.values.push_back(start_seconds(folder, many, sizes.runs));
    forget_pages(many);
    cold.values.push_back(start_seconds(folder, many, sizes.runs));
  }
  add(report, warm);
  add(report, cold);
  BenchRow reading{"reading the longest run", "s", {}, 0};
  BenchRow pan{"a frame while its Watch view is dragged", "ms", pan_frames(folder, one, reading), 16};
  BenchRow worst{
      "the slowest of these frames", "ms", {*std::max_element(pan.values.begin(), pan.values.end())}, 100};
  add(report, reading);
  add(report, pan);
  add(report, worst);
  add(report, {"slowest frame over 300 folders of noise", "ms", {worst_noise_frame_ms(folder, noise)}, 100});
  add(report, {"from a written line to its frame", "s", latencies(folder), 1});
  add(report, {"one core while nothing happens", "%", idle_percent(folder, many), 2});
}

int run(int argc, char** argv) {
  Sizes sizes;
  OptionParser parser("How quick the window is, measured without a display", "./isobar bench gui");
  BenchReport report("gui", parser);
  parser.add("--runs", sizes.runs, "finished runs").in_range(10, 20000);
  parser.add("--steps", sizes.steps, "steps of each").in_range(10, 1000000);
  parser.add("--long-steps", sizes.long_steps, "steps of the longest run").in_range(1000, 10000000);
  if (!report.parse(argc, argv)) return 0;
  if (report.quick()) sizes.repeats = 1;
  const TempFolder folder;
  const double bytes = 300.0 * sizes.runs * sizes.steps + 300.0 * sizes.long_steps;
  const fs::space_info space = fs::space(folder.path());
  if (static_cast<double>(space.available) < bytes * 1.2) {
    throw Error(
        fmt::format("too little disk: {} are needed", human_bytes(static_cast<std::uint64_t>(bytes * 1.2))),
        folder.path().string(), "TMPDIR=/another/folder, or fewer with --runs", Exit::failed);
  }
  report.begin();
  measure(folder, sizes, report);
  return report.finish();
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("isobar bench gui", [&] { return run(argc, argv); });
}
