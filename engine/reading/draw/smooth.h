#pragma once
// Exponential moving averages of curves, kept up to date as the curves grow.
#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "analyse/run_series.h"

namespace isobar {

/// s_i = w s_(i-1) + (1 - w) y_i, divided by 1 - w^(i+1) so that the begin is not pulled to zero; values that
/// are not finite leave a gap and do not count.
class Smoother {
 public:
  /// The smoothed form of `curve`; `id` tells it from others. Valid until the next call with this id.
  const Curve& smoothed(const std::string& id, const Curve& curve, double weight);

 private:
  struct Entry {
    double weight = -1;
    Curve out;
    double sum = 0;
    double norm = 1;
    double last_seen = 0;
  };
  std::map<std::string, Entry> entries_;
};

}  // namespace isobar
