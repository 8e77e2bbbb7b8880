#include "analyse/run_case.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/machine.h"
#include "core/number_text.h"
#include "core/processors.h"
#include "log/run_reader.h"
#include "record/run_folder.h"
#include "record/run_tree.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

void add_repeats(RunCase& out, const std::vector<KnownRun>& beside) {
  const RunView own = out.view();
  if (!is_whole(own) || out.config.empty()) return;
  std::error_code code;
  for (const KnownRun& other : beside) {
    if (out.repeats.size() == kMostRunRepeats) return;
    if (!is_repeat(out.config, other.config) || fs::equivalent(other.folder, out.folder, code)) continue;
    try {
      SteadyFigures figures = steady_figures(other.folder);
      const RunView& view = figures.view;
      if (!is_whole(view) || view.lesson != own.lesson || view.provenance != own.provenance ||
          figures.steps == 0)
        continue;
      if (figures.view.summary.is_crowded() != own.summary.is_crowded()) {
        if (!own.summary.is_crowded()) ++out.crowded;
        continue;
      }
      out.repeats.push_back(std::move(figures));
      out.folders.push_back(other.folder);
    } catch (const Error&) {  // as above
    }
  }
}

/// The share of the time that the loop's thread waits for a processor because its own run wants more of them
/// than there are: threads of tensor operations and of reading, of all ranks.
double own_wait(const RunView& view, const ConfigText& config) {
  const auto threads = number_of<double>(value_in(config, "environment.threads"));
  if (!threads || view.host != host_name()) return 0;
  const RunSummary& summary = view.summary;
  const double reading =
      summary.wall_s > 0 ? static_cast<double>(summary.read_cpu_us) * 1e-6 / summary.wall_s : 0;
  // Buckets are summed on the processors by a thread of their own, beside backward.
  const bool on_cpu = value_in(config, "environment.device") == "cpu";
  const double summing =
      on_cpu && summary.step_us > 0 ? std::min(1.0, summary.comm_total_us / summary.step_us) : 0;
  const double ranks = static_cast<double>(std::max<std::int64_t>(1, summary.world));
  const double wanted = ranks * (*threads + reading + summing);
  return std::max(0.0, 1 - processors_here().time / std::max(1.0, wanted));
}

}  // namespace

bool is_whole(const RunView& view) {
  const bool is_recorded =
      view.provenance == "recorded" && view.source.empty();  // settings of imports are not all known
  return view.state == RunState::done && view.attempt == 0 && view.replay_of.empty() &&
         (view.provenance.empty() || is_recorded);
}

bool is_disturbed(const RunView& view, const ConfigText& config) {
  return view.summary.processor_wait > kCrowdedWait + own_wait(view, config);
}

RunCase read_case(const fs::path& run) {
  RunReader reader(run, /*keep_series=*/true);
  reader.read_all();
  RunCase out;
  out.folder = run;
  try {
    out.config = config_of(run);
  } catch (const Error&) {  // its settings are not known
  }
  std::optional<RanksView> ranks;
  if (reader.view().summary.world > 1) ranks = read_ranks(run);
  out.repeats.push_back(steady_figures(reader.view(), reader.series(), std::move(ranks)));
  out.folders.push_back(run);
  out.series = std::move(reader.series());
  return out;
}

double RunCase::samples_a_step() const {
  const RunSummary& summary = view().summary;
  return summary.steps > 0
             ? std::round(static_cast<double>(summary.samples) / static_cast<double>(summary.steps))
             : 0;
}

std::vector<KnownRun> known_runs(const fs::path& parent) {
  constexpr std::size_t kMostLooked = 2000;
  std::error_code code;
  std::vector<std::pair<fs::file_time_type, fs::path>> found;
  for (const fs::path& folder : entries_in(parent)) {
    const auto time = fs::last_write_time(RunFolder{folder}.config_file(), code);
    if (!code) found.emplace_back(time, folder);
  }
  std::sort(found.rbegin(), found.rend());
  if (found.size() > kMostLooked) found.resize(kMostLooked);
  std::vector<KnownRun> out;
  for (auto& [time, folder] : found) {
    try {
      out.push_back({folder, config_of(folder)});
    } catch (const Error&) {  // what cannot be read is not known
    }
  }
  return out;
}

std::vector<RunCase> read_cases(const std::vector<fs::path>& runs) {
  std::map<fs::path, std::vector<KnownRun>> beside;
  std::error_code code;
  std::vector<RunCase> out;
  for (const fs::path& run : runs) {
    out.push_back(read_case(run));
    const fs::path parent = fs::weakly_canonical(run, code).parent_path();
    const auto [at, is_new] = beside.try_emplace(parent);
    if (is_new) at->second = known_runs(parent);
    add_repeats(out.back(), at->second);
  }
  return out;
}

}  // namespace isobar
