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
