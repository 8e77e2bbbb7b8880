#include <cmath>

#include "kernels/cpu_math.h"
#include "kernels/head_loss.h"

namespace isobar {
namespace {

/// Where the values of one line of one patch lie: P x C of them in the tokens, c fastest, and the same in the
/// target, where neighbours of q are neighbours and channels are planes apart.
struct Line {
  std::int64_t token = 0;
  std::int64_t target = 0;
};

struct Layout {
  explicit Layout(const HeadLossShape& shape)
      : across(shape.width / shape.patch),
        line(shape.patch * shape.channels),
        plane(shape.height * shape.width),
        shape(shape) {}

  /// The line at height y of the patch in column `column`.
  ISOBAR_INLINE Line at(std::int64_t sample, std::int64_t y, std::int64_t column) const {
    const std::int64_t token = (sample * (shape.height / shape.patch) + y / shape.patch) * across + column;
    return {(token * shape.patch + y % shape.patch) * line,
            sample * shape.channels * plane + y * shape.width + column * shape.patch};
  }

  std::int64_t across;  ///< patches beside each other
  std::int64_t line;    ///< values of one line of a patch
  std::int64_t plane;
  HeadLossShape shape;
};

/// Items are the pieces of all samples, one sample after the other.
template <typename Type>
struct Forward {
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
        for (std::int64_t column = 0; column < layout.across; ++column) {
          add(layout.at(sample, y, column), squares);
        }
      }
      job.scratch[2 * item] = squares[0];
      job.scratch[2 * item + 1] = squares[1];
    }
  }

  ISOBAR_INLINE void add(const Line& line, double* squares) const {
    const auto* const tokens = static_cast<const typename Type::Stored*>(job.tokens) + line.token;
    const float* const target = job.target + line.target;
    const std::int64_t channels = layout.shape.channels;
    float error = 0;
    float size = 0;
    for (std::int64_t q = 0; q < layout.shape.patch; ++q) {
#pragma omp simd reduction(+ : error, size)
      for (std::int64_t c = 0; c < channels; ++c) {
        const float wanted = target[c * layout.plane + q];
        const float difference = Type::load(tokens[q * channels + c]) - wanted;
        error += difference * difference;
        size += wanted * wanted;
      }
    }
    squares[0] += static_cast<double>(error);
    squares[1] += static_cast<double>(size);
  }
};

/// Items are the lines of all samples.
template <typename Type>
struct Backward {
  const HeadLossBackward& job;
  const Layout& layout;

  ISOBAR_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    const std::int64_t height = layout.shape.height;
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t sample = item / height;
      const float factor = factor_of(sample);
      for (std::int64_t column = 0; column < layout.across; ++column) {
        write(layout.at(sample, item % height, column), factor);
      }
    }
  }

  ISOBAR_INLINE float factor_of(std::int64_t sample) const {
    const double* const sums = job.sums + 2 * sample;
    if (sums[0] == 0) return 0;
    const double length = std::sqrt(sums[0]) * std::sqrt(sums[1]);
    return static_cast<float>(static_cast<double>(*job.dloss) /
                              (static_cast<double>(layout.shape.batch) * length));
  }

  ISOBAR_INLINE void write(const Line& line, float factor) const {
    const auto* const tokens = static_cast<const typename Type::Stored*>(job.tokens) + line.token;
    auto* const out = static_cast<typename Type::Stored*>(job.dtokens) + line.token;
    const float* const target = job.target + line.target;
    const std::int64_t channels = layout.shape.channels;
    for (std::int64_t q = 0; q < layout.shape.patch; ++q) {
#pragma omp simd
      for (std::int64_t c = 0; c < channels; ++c) {
        const std::int64_t at = q * channels + c;
        out[at] = Type::store(factor * (Type::load(tokens[at]) - target[c * layout.plane + q]));
      }
    }
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
    for_parts(set, job.shape.batch * kHeadLossPieces, values_of(job.shape), Forward<Type>{job, layout});
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
    for_parts(set, job.shape.batch * job.shape.height, values_of(job.shape), Backward<Type>{job, layout});
  });
}

}  // namespace isobar
