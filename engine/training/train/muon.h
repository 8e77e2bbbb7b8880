#pragma once
// Muon (Jordan 2024, kellerjordan.github.io/posts/muon): a matrix moves by its momentum made orthonormal, so
// that all its directions are learned at one pace. It needs whole matrices, where Adam takes each value by
// itself.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "train/fused_adam.h"

namespace isobar {

/// The matrix [n, m] with its singular values brought near 1, in float32: X = M / |M|_F, then five times
/// X <- a X + (b A + c A A) X with A = X X^T and a, b, c = 3.4445, -4.7750, 2.0315 (Newton and Schulz's
/// iteration, Jordan's coefficients: singular values come to 0.7 to 1.2 and stay). About 5 (4 s^2 l + 2 s^3)
/// operations, s and l the shorter and the longer side.
at::Tensor orthonormalised(const at::Tensor& matrix);

/// Matrices of blocks (parameters "blocks.*" of two dimensions; q, k and v are three, joined or not) by
///   m = 0.95 m + 0.05 g;  u = 0.05 g + 0.95 m (Nesterov);  w -= lr 0.2 sqrt(max(n, m)) orthonormalised(u),
/// where 0.2 sqrt(max(n, m)) makes the update as large as Adam's, so that its learning rate serves (Liu et
/// al. 2025, arXiv 2502.16982). All else by Adam. Length of the gradient, clip_norm and loss scale as for
/// FusedAdam.
///
/// Where ranks share parameters out, u is gathered in float32 ("momentum 3" of bucket 3): S (n - 1) / n more
/// a step, S the bytes of all buckets with a matrix in it. A rank then works out each matrix of which it owns
/// a part, so that one on a border is worked out twice.
class Muon final : public FusedAdam {
 public:
  /// Arguments are FusedAdam's; no rank of a model has a piece of a matrix (config/validate.cpp).
  Muon(Parameters& parameters, const OptimConfig& config, const FusionConfig& fusion,
       const TensorParallel& ranks = {});

  std::string why_not_captured() const override;
  /// "momentum.<matrix>", and Adam's of all else.
  std::vector<NamedTensor> moments() const override;
  std::int64_t matrices_worked_out() const { return worked_out_; }  ///< in the last update

 private:
  /// What this rank owns of each parameter, in the order of Parameters::all; often nothing.
  struct Own {
    bool is_matrix = false;
    at::Tensor first, second = {};  ///< momentum, or Adam's mean and square; [n], n may be 0
    bool is_empty() const { return first.numel() == 0; }
  };
  /// What travels together.
  struct Bucket {
    std::int64_t begin = 0, count = 0;       ///< elements, as of Parameter::flat_begin
    std::int64_t own_begin = 0;              ///< first own element among all own ones
    std::int64_t part = 0;                   ///< own elements
    bool has_matrix = false;                 ///< on whichever rank
    std::vector<std::size_t> matrices = {};  ///< this rank owns some of each; places in own_
  };
  void apply(GradScaler& scaler) override;
  std::vector<Bucket> buckets() const;
  /// u of a whole bucket.
  at::Tensor gathered_update(std::size_t number, const Bucket& bucket);
  void move(const Parameter& matrix, const at::Tensor& update, const Bucket& bucket);

  std::vector<Own> own_;
  std::int64_t worked_out_ = 0;
};

}  // namespace isobar
