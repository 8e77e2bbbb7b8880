#include "analyse/intervals.h"

#include <algorithm>

namespace isobar {

std::vector<Interval> union_of(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  std::vector<Interval> out;
  for (const Interval& next : intervals) {
    if (next.end <= next.begin) continue;
    if (!out.empty() && next.begin <= out.back().end) {
      out.back().end = std::max(out.back().end, next.end);
    } else {
      out.push_back(next);
    }
  }
  return out;
}

std::vector<Interval> common_to(const std::vector<Interval>& one, const std::vector<Interval>& other) {
  std::vector<Interval> out;
  for (std::size_t i = 0, j = 0; i < one.size() && j < other.size();) {
    const std::int64_t begin = std::max(one[i].begin, other[j].begin);
    const std::int64_t end = std::min(one[i].end, other[j].end);
    if (begin < end) out.push_back({begin, end});
    if (one[i].end < other[j].end) {
      ++i;
    } else {
      ++j;
    }
  }
  return out;
}

std::int64_t length_of(const std::vector<Interval>& intervals) {
  std::int64_t sum = 0;
  for (const Interval& interval : intervals) sum += interval.end - interval.begin;
  return sum;
}

}  // namespace isobar
