#include "analyse/step_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <vector>

#include "analyse/operators.h"
#include "core/text.h"

namespace isobar {
namespace {

double mean_of(const Repeats& repeats, std::string_view field) { return means(repeats, field).median(); }

Part part_of_class(std::string_view name) {
  return name == "attention" ? Part::attention : name == "gemm" ? Part::gemm : Part::memory;
}

/// Whether the device waited for launches: the host was as long at computing as the device, by the two clocks
/// of a CUDA device. On a CPU they are one.
bool is_launch_bound(const Repeats& repeats, double computing_us) {
  constexpr double kAsLong = 0.95;
  if (repeats.empty() || repeats.front().view.device.rfind("cuda", 0) != 0) return false;
  double host_us = 0;
  for (const char* const stage :
       {"forward_host_us", "backward_host_us", "optimize_host_us", "replay_host_us"})
    host_us += mean_of(repeats, stage);
  return host_us >= kAsLong * computing_us;
}

}  // namespace

TimeParts step_parts(const Repeats& repeats) {
  TimeParts out;
  const double step_us = mean_of(repeats, "step_us");
  if (!(step_us > 0)) return out;
  out[Part::data] = mean_of(repeats, "load_us");
  out[Part::link] = mean_of(repeats, "copy_us") + mean_of(repeats, "comm_us");
  double computing_us = 0;
  for (const char* const stage : {"forward_us", "backward_us", "optimize_us", "replay_us"})
    computing_us += mean_of(repeats, stage);
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
  if (is_launch_bound(repeats, computing_us)) {  // times of operators then hold the gaps before them
    out[Part::host] = computing_us;
  } else if (watched_us > 0) {
    const double scale = std::min(1.0, computing_us / watched_us);
    for (const char* const name : kOperatorClassNames) out[part_of_class(name)] += class_us(name) * scale;
    out[Part::host] = std::max(0.0, computing_us - watched_us);
  } else {
    out[Part::computing] = computing_us;
  }
  const double known_us = std::accumulate(out.shares.begin(), out.shares.end(), 0.0);
  const bool measures_io = repeats.front().view.summary.measure == "io";
  if (computing_us > 0 || measures_io) out[Part::host] += std::max(0.0, step_us - known_us);
  for (double& share : out.shares) share /= std::max(step_us, known_us);
  return out;
}

bool TimeParts::is_known() const {
  const double known = std::accumulate(shares.begin(), shares.end(), 0.0);
  return known > 0 && shares[static_cast<std::size_t>(largest())] >= 1 - known;
}

Part TimeParts::largest() const {
  return static_cast<Part>(std::max_element(shares.begin(), shares.end()) - shares.begin());
}

double TimeParts::computing() const {
  const TimeParts& own = *this;
  return own[Part::attention] + own[Part::gemm] + own[Part::memory] + own[Part::computing];
}

std::string TimeParts::text(std::size_t most) const {
  std::vector<std::size_t> order(shares.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t one, std::size_t other) { return shares[one] > shares[other]; });
  std::vector<std::string> out;
  for (const std::size_t i : order) {
    if (out.size() < most && shares[i] >= 0.005)
      out.push_back(fmt::format("{} {:.0f} %", kPartNames[i], 100 * shares[i]));
  }
  return joined(out);
}

}  // namespace isobar
