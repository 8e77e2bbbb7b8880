#include <cmath>

#include "kernels/column_sums.h"
#include "kernels/cpu_math.h"
#include "kernels/cpu_sums.h"
#include "kernels/residual_norm.h"

namespace isobar {
namespace {

template <typename Type>
struct NormForward {
  const ResidualNormForward& job;
  using Stored = typename Type::Stored;

  ISOBAR_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t row = begin; row < end; ++row) {
      const float* const x = job.x + row * job.columns;
      if (job.a == nullptr) {
        normalise(row, x, sum_of(x));
      } else {
        float* const sum = job.sum + row * job.columns;
        const float total = add(row, x, sum);
        normalise(row, sum, total);
      }
    }
  }

  ISOBAR_INLINE float sum_of(const float* values) const {
    float total = 0;
#pragma omp simd reduction(+ : total)
    for (std::int64_t c = 0; c < job.columns; ++c) total += values[c];
    return total;
  }

  /// sum = x + (a + branch bias); returns its sum.
  ISOBAR_INLINE float add(std::int64_t row, const float* x, float* sum) const {
    const Stored* const a = static_cast<const Stored*>(job.a) + row * job.columns;
    const float* const branch_bias = job.branch_bias;
    float total = 0;
    if (branch_bias == nullptr) {
#pragma omp simd reduction(+ : total)
      for (std::int64_t c = 0; c < job.columns; ++c) {
        const float value = x[c] + Type::load(a[c]);
        sum[c] = value;
        total += value;
      }
    } else {
#pragma omp simd reduction(+ : total)
      for (std::int64_t c = 0; c < job.columns; ++c) {
        const float value = x[c] + (Type::load(a[c]) + branch_bias[c]);
        sum[c] = value;
        total += value;
      }
    }
    return total;
  }

  /// The variance in a second look at the row: exact where the mean is far from zero, and the row is in L1.
  ISOBAR_INLINE void normalise(std::int64_t row, const float* values, float total) const {
    const auto count = static_cast<float>(job.columns);
    const float mean = total / count;
    float squares = 0;
#pragma omp simd reduction(+ : squares)
    for (std::int64_t c = 0; c < job.columns; ++c) squares += (values[c] - mean) * (values[c] - mean);
    const float rstd = 1.0F / std::sqrt(squares / count + job.eps);
    job.mean[row] = mean;
    job.rstd[row] = rstd;
    Stored* const y = static_cast<Stored*>(job.y) + row * job.columns;
    const float* const weight = job.weight;
    const float* const bias = job.bias;
#pragma omp simd
    for (std::int64_t c = 0; c < job.columns; ++c) {
      y[c] = Type::store((values[c] - mean) * rstd * weight[c] + bias[c]);
    }
  }
};

/// Pieces begin .. end - 1 of the rows. The scratch holds the pieces of dweight, then of dbias, then of
/// dbranch_bias.
template <typename Type>
struct NormBackward {
  const ResidualNormBackward& job;
  using Stored = typename Type::Stored;

  ISOBAR_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    const std::int64_t columns = job.columns;
    const std::int64_t matrix = row_pieces(job.rows) * columns;
    for (std::int64_t piece = begin; piece < end; ++piece) {
      float* const dweight = job.scratch + piece * columns;
      float* const dbias = dweight + matrix;
      float* const dbranch = dbias + matrix;
      for (std::int64_t c = 0; c < columns; ++c) dweight[c] = dbias[c] = dbranch[c] = 0;
      const std::int64_t last = row_piece_begin(job.rows, piece + 1);
      for (std::int64_t row = row_piece_begin(job.rows, piece); row < last; ++row) {
        one_row(row, dweight, dbias, dbranch);
      }
    }
  }

  ISOBAR_INLINE void one_row(std::int64_t row, float* dweight, float* dbias, float* dbranch) const {
    const std::int64_t columns = job.columns;
    const float* const values = job.sum + row * columns;
    const float* const weight = job.weight;
    const Stored* const dy = static_cast<const Stored*>(job.dy) + row * columns;
    const float mean = job.mean[row];
    const float rstd = job.rstd[row];
    float sum = 0;
    float product = 0;
#pragma omp simd reduction(+ : sum, product)
    for (std::int64_t c = 0; c < columns; ++c) {
      const float normal = (values[c] - mean) * rstd;
      const float gradient = Type::load(dy[c]);
      sum += gradient * weight[c];
      product += gradient * weight[c] * normal;
      dweight[c] += gradient * normal;
      dbias[c] += gradient;
    }
    const auto count = static_cast<float>(columns);
    const float* const direct = job.dsum == nullptr ? nullptr : job.dsum + row * columns;
    float* const dx = job.dx + row * columns;
    const float mean_g = sum / count;
    const float mean_gn = product / count;
    const auto through_norm = [&](std::int64_t c) __attribute__((always_inline)) {
      const float normal = (values[c] - mean) * rstd;
      return rstd * (Type::load(dy[c]) * weight[c] - mean_g - normal * mean_gn);
    };
    if (direct == nullptr) {
#pragma omp simd
      for (std::int64_t c = 0; c < columns; ++c) dx[c] = through_norm(c);
    } else {
#pragma omp simd
      for (std::int64_t c = 0; c < columns; ++c) dx[c] = direct[c] + through_norm(c);
    }
    hand_on(row, dx, dbranch);
  }

  /// What follows from dsum_total: the gradient of the branch, and its bias's.
  ISOBAR_INLINE void hand_on(std::int64_t row, const float* dx, float* dbranch) const {
    if (job.da != nullptr) {
      Stored* const da = static_cast<Stored*>(job.da) + row * job.columns;
#pragma omp simd
      for (std::int64_t c = 0; c < job.columns; ++c) da[c] = Type::store(dx[c]);
    }
    if (job.dbranch_bias == nullptr) return;
#pragma omp simd
    for (std::int64_t c = 0; c < job.columns; ++c) dbranch[c] += dx[c];
  }
};

}  // namespace

void residual_norm_cpu(const ResidualNormForward& job, InstructionSet set) {
  with_type(job.type, [&]<typename Type>(Type) {
    for_parts(set, job.rows, job.rows * job.columns, NormForward<Type>{job});
  });
}

void residual_norm_cpu(const ResidualNormBackward& job, InstructionSet set) {
  const std::int64_t pieces = row_pieces(job.rows);
  with_type(job.type, [&]<typename Type>(Type) {
    for_parts(set, pieces, job.rows * job.columns, NormBackward<Type>{job});
  });
  const float* part = job.scratch;
  for (float* const sums : {job.dweight, job.dbias, job.dbranch_bias}) {
    if (sums != nullptr) add_pieces(set, {pieces, job.columns, part, sums});
    part += pieces * job.columns;
  }
}

}  // namespace isobar
