#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/cpu_math.h"
#include "kernels/head_loss.h"

namespace isobar {
namespace {

using Four = float __attribute__((vector_size(16)));
using Order = std::int32_t __attribute__((vector_size(16)));
constexpr std::int64_t kTile = 2048;  // values: a part of a line that is brought into the order of the tokens

/// to[q width + c] = from[c plane + q] for q, c = 0 .. 3.
ISOBAR_INLINE void transpose_four(const float* from, std::int64_t plane, float* to, std::int64_t width) {
  Four rows[4];
  for (std::int64_t c = 0; c < 4; ++c) std::memcpy(&rows[c], from + c * plane, sizeof(Four));
  constexpr Order kLow = {0, 4, 1, 5};
  constexpr Order kHigh = {2, 6, 3, 7};
  constexpr Order kFirst = {0, 1, 4, 5};
  constexpr Order kSecond = {2, 3, 6, 7};
  const Four low01 = __builtin_shuffle(rows[0], rows[1], kLow);
  const Four low23 = __builtin_shuffle(rows[2], rows[3], kLow);
  const Four high01 = __builtin_shuffle(rows[0], rows[1], kHigh);
  const Four high23 = __builtin_shuffle(rows[2], rows[3], kHigh);
  const Four out[4] = {__builtin_shuffle(low01, low23, kFirst), __builtin_shuffle(low01, low23, kSecond),
                       __builtin_shuffle(high01, high23, kFirst), __builtin_shuffle(high01, high23, kSecond)};
  for (std::int64_t q = 0; q < 4; ++q) std::memcpy(to + q * width, &out[q], sizeof(Four));
}

/// to[q width + c] = from[c plane + q] for q = 0 .. height - 1, c = 0 .. width - 1.
ISOBAR_INLINE void transpose(const float* from, std::int64_t plane, float* to, std::int64_t height,
                             std::int64_t width) {
  const std::int64_t whole_height = height / 4 * 4;
  const std::int64_t whole_width = width / 4 * 4;
  for (std::int64_t c = 0; c < whole_width; c += 4) {
    for (std::int64_t q = 0; q < whole_height; q += 4) {
      transpose_four(from + c * plane + q, plane, to + q * width + c, width);
    }
  }
  for (std::int64_t q = 0; q < height; ++q) {
    for (std::int64_t c = q < whole_height ? whole_width : 0; c < width; ++c) {
      to[q * width + c] = from[c * plane + q];
    }
  }
}

/// How the values of one line of one patch lie: P x C of them side by side in the tokens, c fastest; in the
/// target neighbours of q are neighbours and channels are planes apart.
struct Layout {
  explicit Layout(const HeadLossShape& shape)
      : across(shape.width / shape.patch),
        line(shape.patch * shape.channels),
        plane(shape.height * shape.width),
        shape(shape) {}

  /// For all patches across the image at height y: use(index of a token's value, the target's values that
  /// belong to it and to those behind it, how many).
  template <typename Use>
  ISOBAR_INLINE void for_each_tile(const float* target, std::int64_t sample, std::int64_t y,
                                   const Use& use) const {
    const std::int64_t wide = std::min(shape.channels, kTile);
    const std::int64_t high = std::min(std::max<std::int64_t>(kTile / shape.channels, 1), shape.patch);
    const std::int64_t row = sample * (shape.height / shape.patch) + y / shape.patch;
    const float* const image = target + sample * shape.channels * plane + y * shape.width;
    float tile[kTile];
    for (std::int64_t column = 0; column < across; ++column) {
      const std::int64_t token = ((row * across + column) * shape.patch + y % shape.patch) * line;
      for (std::int64_t q = 0; q < shape.patch; q += high) {
        for (std::int64_t c = 0; c < shape.channels; c += wide) {
          const std::int64_t height = std::min(high, shape.patch - q);
          const std::int64_t width = std::min(wide, shape.channels - c);
          transpose(image + c * plane + column * shape.patch + q, plane, tile, height, width);
          use(token + q * shape.channels + c, tile, height * width);
        }
      }
    }
  }

  std::int64_t across;  ///< patches beside each other
  std::int64_t line;    ///< values of one line of a patch
  std::int64_t plane;
  HeadLossShape shape;
};

/// Items are the pieces of all samples, one sample after the other.
template <typename Type>
struct LossForward {
  const HeadLossForward& job;
  const Layout& layout;

  ISOBAR_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    const std::int64_t height = layout.shape.height;
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t sample = item / kHeadLossPieces;
      const std::int64_t piece = item % kHeadLossPieces;
      double squares[2] = {0, 0};
      const std::int64_t last = height * (piece + 1) / kHeadLossPieces;
      for (std::int64_t y = height * piece / kHeadLossPieces; y < last; ++y) {
        layout.for_each_tile(
            job.target, sample,
            y, [&](std::int64_t at, const float* tile, std::int64_t n) __attribute__((always_inline)) {
              add(at, tile, n, squares);
            });
      }
      job.scratch[2 * item] = squares[0];
      job.scratch[2 * item + 1] = squares[1];
    }
  }

  ISOBAR_INLINE void add(std::int64_t at, const float* tile, std::int64_t n, double* squares) const {
    const auto* const tokens = static_cast<const typename Type::Stored*>(job.tokens) + at;
    float error = 0;
    float size = 0;
#pragma omp simd reduction(+ : error, size)
    for (std::int64_t i = 0; i < n; ++i) {
      const float difference = Type::load(tokens[i]) - tile[i];
      error += difference * difference;
      size += tile[i] * tile[i];
    }
    squares[0] += static_cast<double>(error);
    squares[1] += static_cast<double>(size);
  }
};

/// Items are the lines of all samples.
template <typename Type>
struct LossBackward {
  const HeadLossBackward& job;
  const Layout& layout;

  ISOBAR_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    const std::int64_t height = layout.shape.height;
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t sample = item / height;
      const float factor = factor_of(sample);
      layout.for_each_tile(
          job.target, sample, item % height,
          [&](std::int64_t at, const float* tile, std::int64_t n)
              __attribute__((always_inline)) { write(at, tile, n, factor); });
    }
  }

  ISOBAR_INLINE float factor_of(std::int64_t sample) const {
    const double* const sums = job.sums + 2 * sample;
    if (sums[0] == 0) return 0;
    const double length = std::sqrt(sums[0]) * std::sqrt(sums[1]);
    return static_cast<float>(static_cast<double>(*job.dloss) /
                              (static_cast<double>(layout.shape.batch) * length));
  }

  ISOBAR_INLINE void write(std::int64_t at, const float* tile, std::int64_t n, float factor) const {
    const auto* const tokens = static_cast<const typename Type::Stored*>(job.tokens) + at;
    auto* const out = static_cast<typename Type::Stored*>(job.dtokens) + at;
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) out[i] = Type::store(factor * (Type::load(tokens[i]) - tile[i]));
  }
};

std::int64_t values_of(const HeadLossShape& shape) {
  return shape.batch * shape.channels * shape.height * shape.width;
}

}  // namespace

void head_loss_cpu(const HeadLossForward& job, InstructionSet set) {
  if (values_of(job.shape) == 0) return;
  const Layout layout(job.shape);
  with_type(job.type, [&]<typename Type>(Type) {
    for_parts(set, job.shape.batch * kHeadLossPieces, values_of(job.shape), LossForward<Type>{job, layout});
  });
  double loss = 0;
  for (std::int64_t sample = 0; sample < job.shape.batch; ++sample) {
    double* const sums = job.sums + 2 * sample;
    sums[0] = sums[1] = 0;
    const double* const pieces = job.scratch + sample * kHeadLossPieces * 2;
    for (std::int64_t i = 0; i < 2 * kHeadLossPieces; ++i) sums[i % 2] += pieces[i];
    loss += std::sqrt(sums[0] / sums[1]);
  }
  *job.loss = static_cast<float>(loss / static_cast<double>(job.shape.batch));
}

void head_loss_cpu(const HeadLossBackward& job, InstructionSet set) {
  if (values_of(job.shape) == 0) return;
  const Layout layout(job.shape);
  with_type(job.type, [&]<typename Type>(Type) {
    for_parts(set, job.shape.batch * job.shape.height, values_of(job.shape), LossBackward<Type>{job, layout});
  });
}

}  // namespace isobar
