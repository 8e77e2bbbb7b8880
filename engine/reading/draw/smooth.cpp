#include "draw/smooth.h"

#include <cmath>
#include <limits>

namespace isobar {
namespace {

constexpr std::size_t kMostKept = 512;

bool same(double one, double other) { return one == other || (std::isnan(one) && std::isnan(other)); }

}  // namespace

const Curve& Smoother::smoothed(const std::string& id, const Curve& curve, double weight) {
  if (entries_.size() > kMostKept && entries_.count(id) == 0) entries_.clear();
  Entry& entry = entries_[id];
  const std::size_t done = entry.out.y.size();
  const bool goes_on = entry.weight == weight && done <= curve.y.size() &&
                       (done == 0 || same(curve.y[done - 1], entry.last_seen));
  if (!goes_on) entry = Entry{weight, {}, 0, 1, 0};
  for (std::size_t i = entry.out.y.size(); i < curve.y.size(); ++i) {
    const double value = curve.y[i];
    double out = std::numeric_limits<double>::quiet_NaN();
    if (std::isfinite(value)) {
      entry.sum = weight * entry.sum + (1 - weight) * value;
      entry.norm *= weight;
      out = entry.sum / (1 - entry.norm);
    }
    entry.out.push(curve.row(i), out);
    entry.last_seen = value;
  }
  return entry.out;
}

}  // namespace isobar
