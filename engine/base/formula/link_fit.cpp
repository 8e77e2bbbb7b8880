#include "formula/link_fit.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace isobar {
namespace {

/// One size's equation, divided by its time: a x + b y = 1.
struct Equation {
  double x, y;
};

/// a and b = 1/B, neither below 0.
std::pair<double, double> solved(const std::vector<Equation>& equations) {
  double xx = 0, xy = 0, yy = 0, x1 = 0, y1 = 0;
  for (const Equation& one : equations) {
    xx += one.x * one.x;
    xy += one.x * one.y;
    yy += one.y * one.y;
    x1 += one.x;
    y1 += one.y;
  }
  const double determinant = xx * yy - xy * xy;
  const double a = (x1 * yy - y1 * xy) / determinant, b = (y1 * xx - x1 * xy) / determinant;
  if (a < 0) return {0, y1 / yy};
  if (b < 0) return {x1 / xx, 0};
  return {a, b};
}

}  // namespace

double all_reduce_us(AllReduceKind kind, const Link& link, int ranks, double bytes) {
  switch (kind) {
    case AllReduceKind::naive:
      return naive_all_reduce_us(link, ranks, bytes);
    case AllReduceKind::tree:
      return tree_all_reduce_us(link, ranks, bytes);
    case AllReduceKind::ring:
      break;
  }
  return ring_all_reduce_us(link, ranks, bytes);
}

std::vector<TimedSize> medians_by_size(const std::vector<TimedSize>& times) {
  std::map<double, std::vector<double>> by_size;
  for (const TimedSize& one : times) {
    const bool counts = one.bytes > 0 && one.time_us > 0 && std::isfinite(one.bytes + one.time_us);
    if (counts) by_size[one.bytes].push_back(one.time_us);
  }
  std::vector<TimedSize> out;
  for (auto& [bytes, all] : by_size) {
    std::sort(all.begin(), all.end());
    const std::size_t middle = all.size() / 2;
    out.push_back({bytes, all.size() % 2 == 1 ? all[middle] : (all[middle - 1] + all[middle]) / 2});
  }
  return out;
}

std::optional<LinkFit> fit_link(AllReduceKind kind, int ranks, const std::vector<TimedSize>& times) {
  LinkFit out;
  out.medians = medians_by_size(times);
  if (ranks < 2 || out.medians.size() < 2) return std::nullopt;
  std::vector<Equation> equations;
  for (const TimedSize& one : out.medians) {
    const double latency_part = all_reduce_us(kind, {.latency_us = 1}, ranks, one.bytes);
    const double bytes_part = all_reduce_us(kind, {.bytes_per_us = 1}, ranks, one.bytes);
    equations.push_back({latency_part / one.time_us, bytes_part / one.time_us});
  }
  const auto [a, b] = solved(equations);
  out.link = {.latency_us = a, .bytes_per_us = b > 0 ? 1 / b : 0};
  for (const Equation& one : equations) out.worst = std::max(out.worst, std::abs(a * one.x + b * one.y - 1));
  return out;
}

}  // namespace isobar
