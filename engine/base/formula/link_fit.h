#pragma once
// Latency and bandwidth of a link, from how long all-reduces of several sizes took.
#include <optional>
#include <vector>

#include "config/choices.h"
#include "formula/link.h"

namespace isobar {

/// By the formula of formula/link.h.
double all_reduce_us(AllReduceKind kind, const Link& link, int ranks, double bytes);

struct TimedSize {
  double bytes = 0;
  double time_us = 0;
};

/// The median time of each size, the smallest first. What has no size or no time does not count.
std::vector<TimedSize> medians_by_size(const std::vector<TimedSize>& times);

struct LinkFit {
  Link link;
  std::vector<TimedSize> medians;  ///< by size
  double worst = 0;  ///< the largest distance of a median from the curve, as a part of the median
};

/// Least squares over the medians: t = a (time at a = 1, B without limit) + 1/B (time at a = 0, B = 1).
/// Residuals count as a part of the time, else the largest size alone would decide. Neither is below 0; an
/// infinite B is 0, as in Link. Nothing for one rank, and for fewer than two sizes with a time.
std::optional<LinkFit> fit_link(AllReduceKind kind, int ranks, const std::vector<TimedSize>& times);

}  // namespace isobar
