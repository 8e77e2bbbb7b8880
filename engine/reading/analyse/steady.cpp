#include "analyse/steady.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/text.h"
#include "log/operators.h"
#include "log/run_reader.h"

namespace isobar {

namespace {

std::optional<double> field_of(const std::map<std::string, double, std::less<>>& fields,
                               std::string_view name) {
  const auto found = fields.find(name);
  return found != fields.end() && found->second >= 0 ? std::optional(found->second) : std::nullopt;
}

Spread block_means(const Curve& curve, std::size_t begin) {
  constexpr std::size_t kBlocks = 10, kLeastSteps = 3;
  const std::size_t steps = curve.y.size() - begin;
  const std::size_t blocks = std::min(kBlocks, steps / kLeastSteps);
  std::vector<double> means;
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::size_t from = begin + steps * i / blocks, to = begin + steps * (i + 1) / blocks;
    means.push_back(curve.y.extent(from, to).sum / static_cast<double>(to - from));
  }
  return Spread(means);
}

std::size_t values_from(const CurveTable& table, std::size_t first, const std::string& name) {
  const Curve* const curve = table.find(name);
  return curve == nullptr ? 0 : curve->y.size() - curve->index_of_row(first);
}

/// Over how many of the steady steps a field's mean is: a step without a time, or without any stage, is
/// none of them, and any other field that it lacks is 0.
std::size_t steps_of(const CurveTable& table, std::size_t first, const std::string& field) {
  if (field == "step_us") return values_from(table, first, "train/step_us");
  if (std::ranges::find(kStageKeys, field) == kStageKeys.end()) return table.places.step.size() - first;
  std::size_t out = 0;
  for (const std::string& key : kStageKeys) out = std::max(out, values_from(table, first, "train/" + key));
  return out;
}

}  // namespace

std::optional<double> SteadyFigures::mean(std::string_view field) const { return field_of(means, field); }

std::optional<double> SteadyFigures::last(std::string_view field) const { return field_of(lasts, field); }

SteadyFigures steady_figures(const RunView& view, const RunSeries& series, std::optional<RanksView> ranks) {
  constexpr std::string_view kPrefix = "train/";
  SteadyFigures out;
  out.view = view;
  out.samples_per_s = view.summary.samples_per_s;
  out.ranks = std::move(ranks);
  // Ranks that do not wait for each other have rates of their own: the run is as fast as its slowest.
  if (out.ranks && out.ranks->samples_per_s() > 0) out.samples_per_s = out.ranks->samples_per_s();
  const CurveTable& table = series.steps();
  const std::size_t first = table.places.step.lower_bound(static_cast<double>(view.steady_from()));
  out.steps = static_cast<std::int64_t>(table.places.step.size() - first);
  for (const auto& [name, curve] : table.curves) {
    const std::string field = name.substr(kPrefix.size());
    if (!curve.y.empty()) out.lasts[field] = curve.y.back();
    const std::size_t begin = curve.index_of_row(first);
    if (begin >= curve.y.size()) continue;
    out.means[field] =
        curve.y.extent(begin, curve.y.size()).sum / static_cast<double>(steps_of(table, first, field));
    if (field == "step_us") out.blocks = block_means(curve, begin);
  }
  return out;
}

SteadyFigures steady_figures(const std::filesystem::path& run) {
  RunReader reader(run, /*keep_series=*/true);
  reader.read_all();
  std::optional<RanksView> ranks;
  if (reader.view().summary.world > 1) ranks = read_ranks(run);
  return steady_figures(reader.view(), reader.series(), std::move(ranks));
}

Spread over(const Repeats& repeats, const FigureOf& figure) {
  std::vector<double> values;
  for (const SteadyFigures& one : repeats) {
    if (const auto value = figure(one); value >= 0) values.push_back(*value);
  }
  return Spread(values);
}

std::optional<double> rate_of(const SteadyFigures& run) {
  return run.samples_per_s > 0 ? std::optional(run.samples_per_s) : std::nullopt;
}

Spread rates(const Repeats& repeats) { return over(repeats, rate_of); }

Spread means(const Repeats& repeats, std::string_view field) {
  return over(repeats, [&](const SteadyFigures& one) { return one.mean(field); });
}

double mean_us(const Repeats& repeats, std::string_view field) {
  return std::max(0.0, means(repeats, field).median());
}

double computing_us(const Repeats& repeats, bool of_host) {
  double out = 0;
  for (const std::string stage : {"forward", "backward", "optimize", "replay"})
    out += mean_us(repeats, stage + (of_host ? "_host_us" : "_us"));
  return out;
}

double recorded_apart(const RunView& run) {
  const bool is_gpu = !run.device.empty() && !run.device.starts_with("cpu");
  return is_gpu ? kGpuApart : kProcessorsApart;
}

double far_apart(const RunView& one, const RunView& other) {
  if (one.summary.is_crowded() || other.summary.is_crowded()) return 0;
  return recorded_apart(one) * recorded_apart(other);
}

double far_apart(const Repeats& one, const Repeats& other) {
  const auto is_crowded = [](const SteadyFigures& run) { return run.view.summary.is_crowded(); };
  if (one.empty() || other.empty() || std::ranges::any_of(one, is_crowded) ||
      std::ranges::any_of(other, is_crowded))
    return 0;
  return far_apart(one.front().view, other.front().view);
}

namespace {

Part part_of_class(std::string_view name) {
  return name == "attention" ? Part::attention : name == "gemm" ? Part::gemm : Part::memory;
}

/// Whether the device waited for launches: the host was as long at computing as the device, by the two clocks
/// of a CUDA device. On a CPU they are one.
bool is_launch_bound(const Repeats& repeats) {
  constexpr double kAsLong = 0.95;
  return !repeats.empty() && repeats.front().view.device.starts_with("cuda") &&
         computing_us(repeats, /*of_host=*/true) >= kAsLong * computing_us(repeats);
}

}  // namespace

TimeParts step_parts(const Repeats& repeats) {
  TimeParts out;
  const double step_us = mean_us(repeats, "step_us");
  if (!(step_us > 0)) return out;
  out[Part::data] = mean_us(repeats, "load_us");
  out[Part::link] = mean_us(repeats, "copy_us") + mean_us(repeats, "comm_us");
  const double all_us = computing_us(repeats);
  const auto class_us = [&](const char* name) {
    return over(repeats,
                [&](const SteadyFigures& one) {
                  const WatchedSummary& watched = one.view.summary.watched;
                  return watched.step < 0 ? -1 : watched.time_us(name);
                })
        .median();
  };
  double watched_us = 0;
  for (const char* const name : kOperatorClassNames) watched_us += class_us(name);
  if (is_launch_bound(repeats)) {  // times of operators then hold the gaps before them
    out[Part::host] = all_us;
  } else if (watched_us > 0) {
    const double scale = std::min(1.0, all_us / watched_us);
    for (const char* const name : kOperatorClassNames) out[part_of_class(name)] += class_us(name) * scale;
    out[Part::host] = std::max(0.0, all_us - watched_us);
  } else {
    out[Part::computing] = all_us;
  }
  const double known_us = std::accumulate(out.shares.begin(), out.shares.end(), 0.0);
  const bool measures_io = repeats.front().view.summary.measure == "io";
  if (all_us > 0 || measures_io) out[Part::host] += std::max(0.0, step_us - known_us);
  for (double& share : out.shares) share /= std::max(step_us, known_us);
  return out;
}

bool TimeParts::is_known() const {
  const double known = std::accumulate(shares.begin(), shares.end(), 0.0);
  return known > 0 && shares[static_cast<std::size_t>(largest())] >= 1 - known;
}

Part TimeParts::largest() const {
  return static_cast<Part>(std::ranges::max_element(shares) - shares.begin());
}

double TimeParts::computing() const {
  const TimeParts& own = *this;
  return own[Part::attention] + own[Part::gemm] + own[Part::memory] + own[Part::computing];
}

std::string TimeParts::text(std::size_t most) const {
  std::vector<std::size_t> order(shares.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order,
                           [&](std::size_t one, std::size_t other) { return shares[one] > shares[other]; });
  std::vector<std::string> out;
  for (const std::size_t i : order) {
    if (out.size() < most && shares[i] >= 0.005)
      out.push_back(fmt::format("{} {:.0f} %", kPartNames[i], 100 * shares[i]));
  }
  return joined(out);
}

}  // namespace isobar
