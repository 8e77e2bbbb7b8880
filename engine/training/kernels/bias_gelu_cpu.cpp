#include <cmath>

#include "kernels/bias_gelu.h"
#include "kernels/column_sums.h"
#include "kernels/cpu_math.h"
#include "kernels/cpu_sums.h"

namespace isobar {
namespace {

/// gelu(u) = u Phi(u) and its derivative Phi(u) + u phi(u), where Phi and phi are the normal distribution and
/// its density. The value is right to 3 + u^2 units in the last place of float32 (below -13, to 1e-37), the
/// slope to 8 x 2^-24.
struct ErfForm {
  ISOBAR_INLINE static float value(float u) {
    const float tail = normal_tail(std::abs(u), exp_of_minus(0.5F * u * u));
    return u * (u < 0 ? tail : 1.0F - tail);
  }
  ISOBAR_INLINE static float slope(float u) {
    const float bell = exp_of_minus(0.5F * u * u);
    const float tail = normal_tail(std::abs(u), bell);
    return (u < 0 ? tail : 1.0F - tail) + u * (0.398942280F * bell);
  }
};

/// u / 2 (1 + tanh z) = u S(2 z) with the logistic S and 2 z = u (k0 + k1 u^2).
struct TanhForm {
  static constexpr float kLinear = 1.59576912F;   // 2 sqrt(2 / pi)
  static constexpr float kCubic = 0.0713548163F;  // 0.044715 of it

  /// From 100 on S is 0 or 1, and u^2 must not become infinite.
  ISOBAR_INLINE static float square(float u) { return std::abs(u) < 100.0F ? u * u : 1e4F; }
  ISOBAR_INLINE static float value(float u) {
    const float z = u * (kLinear + kCubic * square(u));
    const float small = exp_of_minus(std::abs(z));
    return u * ((z < 0 ? small : 1.0F) / (1.0F + small));
  }
  ISOBAR_INLINE static float slope(float u) {
    const float squared = square(u);
    const float z = u * (kLinear + kCubic * squared);
    const float small = exp_of_minus(std::abs(z));
    const float larger = 1.0F / (1.0F + small);  // the larger of S(z) and S(-z)
    const float smaller = small * larger;
    return (z < 0 ? smaller : larger) + u * (larger * smaller) * (kLinear + 3.0F * kCubic * squared);
  }
};

template <typename Type, typename Form>
struct GeluForward {
  const BiasGeluForward& job;

  ISOBAR_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    const std::int64_t columns = job.columns;
    const float* const bias = job.bias;
    for (std::int64_t row = begin; row < end; ++row) {
      const auto* const x = static_cast<const typename Type::Stored*>(job.x) + row * columns;
      auto* const y = static_cast<typename Type::Stored*>(job.y) + row * columns;
#pragma omp simd
      for (std::int64_t c = 0; c < columns; ++c) y[c] = Type::store(Form::value(Type::load(x[c]) + bias[c]));
    }
  }
};

/// Pieces begin .. end - 1 of the rows; each leaves its sums in its row of the scratch.
template <typename Type, typename Form>
struct GeluBackward {
  const BiasGeluBackward& job;

  ISOBAR_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t piece = begin; piece < end; ++piece) {
      float* const sums = job.scratch + piece * job.columns;
      for (std::int64_t c = 0; c < job.columns; ++c) sums[c] = 0;
      const std::int64_t last = row_piece_begin(job.rows, piece + 1);
      for (std::int64_t row = row_piece_begin(job.rows, piece); row < last; ++row) one_row(row, sums);
    }
  }

  ISOBAR_INLINE void one_row(std::int64_t row, float* sums) const {
    const std::int64_t columns = job.columns;
    const float* const bias = job.bias;
    const auto* const x = static_cast<const typename Type::Stored*>(job.x) + row * columns;
    const auto* const dy = static_cast<const typename Type::Stored*>(job.dy) + row * columns;
    auto* const dx = static_cast<typename Type::Stored*>(job.dx) + row * columns;
#pragma omp simd
    for (std::int64_t c = 0; c < columns; ++c) {
      const float gradient = Type::load(dy[c]) * Form::slope(Type::load(x[c]) + bias[c]);
      dx[c] = Type::store(gradient);
      sums[c] += gradient;
    }
  }
};

template <typename Form>
void forward(const BiasGeluForward& job, InstructionSet set) {
  with_type(job.type, [&]<typename Type>(Type) {
    for_parts(set, job.rows, job.rows * job.columns, GeluForward<Type, Form>{job});
  });
}

template <typename Form>
void backward(const BiasGeluBackward& job, InstructionSet set) {
  with_type(job.type, [&]<typename Type>(Type) {
    for_parts(set, row_pieces(job.rows), job.rows * job.columns, GeluBackward<Type, Form>{job});
  });
  add_pieces(set, {row_pieces(job.rows), job.columns, job.scratch, job.dbias});
}

}  // namespace

void bias_gelu_cpu(const BiasGeluForward& job, InstructionSet set) {
  if (job.tanh_form) return forward<TanhForm>(job, set);
  forward<ErfForm>(job, set);
}

void bias_gelu_cpu(const BiasGeluBackward& job, InstructionSet set) {
  if (job.tanh_form) return backward<TanhForm>(job, set);
  backward<ErfForm>(job, set);
}

}  // namespace isobar
