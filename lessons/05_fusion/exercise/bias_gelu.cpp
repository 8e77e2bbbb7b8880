// Lesson 05: bias and GELU in one pass over memory, forward and backward.
// exercise.h says what is given and what is promised; ./isobar check 05_fusion looks at what you wrote.
#include <algorithm>
#include <cmath>
#include <vector>

#include "05_fusion/exercise/exercise.h"

namespace isobar::mine {

constexpr float kRootOfHalf = 0.707106781F;
constexpr float kOneByRootOfTwoPi = 0.398942280F;

/// Phi(u): how much of the normal distribution lies below u.
static float below(float u) {
  // BEGIN With std::erf or std::erfc. Which of them has digits left at u = -6?
  //> return 0 * u;
  return 0.5F * std::erfc(-u * kRootOfHalf);
  // END
}

/// phi(u): its density.
static float density(float u) { return kOneByRootOfTwoPi * std::exp(-0.5F * u * u); }

void bias_gelu_forward(std::span<const float> x, std::span<const float> bias, std::span<float> y) {
  // BEGIN One pass: y = gelu(x + bias), row by row.
  const std::size_t columns = bias.size();
  for (std::size_t row = 0; row < x.size(); row += columns) {
    for (std::size_t c = 0; c < columns; ++c) {
      const float u = x[row + c] + bias[c];
      y[row + c] = u * below(u);
    }
  }
  // END
}

void bias_gelu_backward(std::span<const float> x, std::span<const float> bias, std::span<const float> dy,
                        std::span<float> dx, std::span<float> dbias) {
  // BEGIN One pass: dx, and its sum over the rows in dbias. density() is yours to use.
  const std::size_t columns = bias.size();
  std::fill(dbias.begin(), dbias.end(), 0.0F);
  for (std::size_t row = 0; row < x.size(); row += columns) {
    for (std::size_t c = 0; c < columns; ++c) {
      const float u = x[row + c] + bias[c];
      const float slope = below(u) + u * density(u);
      const float gradient = dy[row + c] * slope;
      dx[row + c] = gradient;
      dbias[c] += gradient;
    }
  }
  // END
}

}  // namespace isobar::mine
