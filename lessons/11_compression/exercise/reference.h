#pragma once
// Alternate compression in double precision, right or with a mistake, beside which a learner's is checked.
#include <ATen/TensorOperators.h>
#include <ATen/ops/linalg_qr.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "11_compression/exercise/part.h"

namespace isobar::exercise {

struct Shape {
  std::int64_t n = 1, m = 1, r = 1;
};

constexpr double kClose = 1e-5;

inline double largest(const at::Tensor& values) { return values.abs().max().item<double>(); }

/// All values, beside the largest of `b`.
inline bool is_close(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && largest(a.to(at::kDouble) - b.to(at::kDouble)) <=
                                       kClose * std::max(1e-3, largest(b.to(at::kDouble)));
}

inline bool is_orthonormal(const at::Tensor& columns) {
  const at::Tensor wide = columns.to(at::kDouble), angles = wide.t().mm(wide);
  return largest(angles - angles.diagonal().sign().diag()) < kClose &&
         largest(angles.diagonal() - 1) < kClose;
}

/// Orthonormal columns that span what those of `factor` span, which are independent.
inline at::Tensor span_of(const at::Tensor& factor) {
  return std::get<0>(at::linalg_qr(factor.to(at::kDouble)));
}

inline at::Tensor mean_of(const std::vector<at::Tensor>& parts) {
  at::Tensor sum = parts[0].to(at::kDouble, /*non_blocking=*/false, /*copy=*/true);
  for (std::size_t i = 1; i < parts.size(); ++i) sum += parts[i];
  return sum / static_cast<double>(parts.size());
}

/// What is done right.
struct RoundRule {
  bool feedback = true;
  bool orthonormal = true;
  bool own_factor = true;  ///< the error is measured with it
};

/// All ranks. Factors may have another basis than a learner's: products do not depend on it.
class Reference {
 public:
  explicit Reference(const std::vector<MatrixState>& states, RoundRule rule = {})
      : rule_(rule), p_(states[0].p.to(at::kDouble)), q_(states[0].q.to(at::kDouble)) {
    for (const MatrixState& state : states) errors_.push_back(state.error.to(at::kDouble));
  }

  void step(const std::vector<at::Tensor>& gradients) {
    const bool sends_p = step_++ % 2 == 0;
    at::Tensor& kept = sends_p ? q_ : p_;
    if (rule_.orthonormal) kept = span_of(kept);
    std::vector<at::Tensor> matrices, sent;
    for (std::size_t rank = 0; rank < gradients.size(); ++rank) {
      const at::Tensor matrix = gradients[rank].to(at::kDouble) + errors_[rank] * (rule_.feedback ? 1 : 0);
      matrices.push_back(matrix);
      sent.push_back((sends_p ? matrix : matrix.t()).mm(kept));
    }
    (sends_p ? p_ : q_) = mean_of(sent);
    own_.clear();
    for (std::size_t rank = 0; rank < gradients.size(); ++rank) {
      own_.push_back(sends_p ? sent[rank].mm(kept.t()) : kept.mm(sent[rank].t()));
      errors_[rank] = matrices[rank] - (rule_.own_factor ? own_[rank] : mean());
    }
  }

  at::Tensor mean() const { return p_.mm(q_.t()); }
  const at::Tensor& own(std::size_t rank) const { return own_[rank]; }  ///< P Q^T with what it sent
  const at::Tensor& error(std::size_t rank) const { return errors_[rank]; }

 private:
  RoundRule rule_;
  at::Tensor p_, q_;
  std::vector<at::Tensor> errors_, own_;
  int step_ = 0;
};

}  // namespace isobar::exercise
