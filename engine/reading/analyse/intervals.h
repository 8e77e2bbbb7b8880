#pragma once
// Stretches of time as sets: what counts is when something ran, not how often it was said.
#include <cstdint>
#include <vector>

namespace isobar {

struct Interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;  ///< not part of it
  bool operator==(const Interval&) const = default;
};

/// The same times as intervals that are in order and do not touch; empty ones are dropped.
std::vector<Interval> union_of(std::vector<Interval> intervals);

/// What two unions have in common.
std::vector<Interval> common_to(const std::vector<Interval>& one, const std::vector<Interval>& other);

/// Length of a union.
std::int64_t length_of(const std::vector<Interval>& intervals);

}  // namespace isobar
