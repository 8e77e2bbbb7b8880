#include "analyse/pipe_idle.h"

#include <algorithm>
#include <optional>

#include "analyse/spread.h"
#include "core/error.h"
#include "core/number_text.h"
#include "log/run_files.h"

namespace isobar {
namespace {

struct BusyStep {
  double us = 0, busy_us = 0;
};

/// Nothing where the rank's step has no pipeline, or the host does not know how long the device computed.
std::optional<BusyStep> busy_step(const CurveTable& table, std::int64_t step) {
  const std::size_t row = table.places.step.lower_bound(static_cast<double>(step));
  if (row >= table.places.step.size() || table.places.step[row] != static_cast<double>(step))
    return std::nullopt;
  const Curve *const us = table.find("train/pipe_us"), *const busy_us = table.find("train/pipe_busy_us");
  if (us == nullptr || busy_us == nullptr) return std::nullopt;
  const std::optional<double> whole = us->at_row(row), busy = busy_us->at_row(row);
  if (!(whole > 0) || !(busy > 0)) return std::nullopt;
  return BusyStep{*whole, *busy};
}

}  // namespace

std::int64_t stages_a_rank_in(const std::filesystem::path& run) {
  try {
    return std::max<std::int64_t>(1, number_of<int>(value_in(config_of(run), "mesh.chunks")).value_or(1));
  } catch (const Error&) {
    return 1;
  }
}

PipeIdle pipe_idle(const std::vector<RunLog>& logs, std::int64_t first_step, std::int64_t last_step) {
  std::vector<std::vector<double>> idle(logs.size());
  std::vector<double> all;
  for (std::int64_t step = first_step; step <= last_step; ++step) {
    std::vector<std::optional<BusyStep>> ranks;
    double longest_us = 0, busy_us = 0, count = 0;
    for (const RunLog& log : logs) {
      ranks.push_back(busy_step(log.series().steps(), step));
      if (!ranks.back()) continue;
      longest_us = std::max(longest_us, ranks.back()->us);
      busy_us += ranks.back()->busy_us;
      ++count;
    }
    if (!(longest_us > 0)) continue;
    all.push_back(std::clamp(1 - busy_us / (count * longest_us), 0.0, 1.0));
    for (std::size_t i = 0; i < ranks.size(); ++i)
      if (ranks[i]) idle[i].push_back(std::clamp(1 - ranks[i]->busy_us / longest_us, 0.0, 1.0));
  }
  PipeIdle out;
  if (!all.empty()) out.all = Spread(all).median();
  for (const std::vector<double>& of_rank : idle)
    out.ranks.push_back(of_rank.empty() ? std::nullopt : std::optional(Spread(of_rank).median()));
  return out;
}

}  // namespace isobar
