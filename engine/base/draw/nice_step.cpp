#include "draw/nice_step.h"

#include <algorithm>
#include <cmath>

namespace isobar {

double nice_step(double range, double count) {
  const double rough = range / std::max(1.0, count);
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double part = rough / power;
  return power * (part > 5 ? 10 : part > 2 ? 5 : part > 1 ? 2 : 1);
}

}  // namespace isobar
