#pragma once
// Low-rank factors of a matrix: M is nearly P Q^T, with P [n, r] and Q [m, r].
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "core/seam.h"

namespace isobar {

/// Makes the columns of `factor` [n, r] (float32 or float64) orthonormal in place: modified Gram-Schmidt,
/// twice (Giraud et al. 2005), so that they are orthogonal to rounding. A column that the ones before it span
/// is replaced by what is left of a unit vector, so that its rank is not lost for good. Equal bits give equal
/// bits. On a CUDA device by libtorch's QR.
void orthonormalise(const at::Tensor& factor);

/// [columns, rank] normal numbers, which depend on (seed, name, turn) only, on the device of `like`.
at::Tensor random_factor(std::int64_t columns, std::int64_t rank, std::int64_t seed, const std::string& name,
                         std::int64_t turn, const at::Tensor& like);

/// One round of alternate compression of one matrix (Zhang et al. 2023). In a step that sends Q, `matrix` is
/// the transposed view.
struct FactorRound {
  at::Tensor matrix;  ///< [n, m] in: gradient plus error; out: the error, M - sent kept^T
  at::Tensor kept;    ///< [m, r] in: the mean of all ranks that was sent a step before; out: orthonormal
  at::Tensor sent;    ///< [n, r] out: M kept
};

/// The engine's round.
void alternate_round(const FactorRound& round);

namespace seams {

inline constinit Seam<at::Tensor(std::int64_t columns, std::int64_t rank, std::int64_t seed,
                                 const std::string& name, std::int64_t turn, const at::Tensor& like)>
    random_factor{isobar::random_factor};
inline constinit Seam<void(const FactorRound&)> alternate_round{isobar::alternate_round};

}  // namespace seams
}  // namespace isobar
