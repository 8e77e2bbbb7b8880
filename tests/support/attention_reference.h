#pragma once
// Scaled-dot-product attention by its definition, in double precision and without tensors: what any kernel of
// it must equal.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace isobar {

/// One head: `tokens` rows of `size` values each.
struct AttentionHead {
  std::size_t tokens = 0;
  std::size_t size = 0;
  std::vector<double> q, k, v;
  std::vector<double> dout;  ///< the gradient of the output
};

struct AttentionResult {
  std::vector<double> out, dq, dk, dv;
};

/// out = P v with P = softmax(S) by row, S = q k^T / sqrt(size). Then dv = P^T dout,
/// dS = P (dout v^T - sum over the row of dout out), dq = dS k / sqrt(size), dk = dS^T q / sqrt(size).
inline AttentionResult attention_reference(const AttentionHead& in) {
  const std::size_t n = in.tokens, d = in.size;
  const double scale = 1 / std::sqrt(static_cast<double>(d));
  const auto dot = [d](const std::vector<double>& a, std::size_t i, const std::vector<double>& b,
                       std::size_t j) {
    double sum = 0;
    for (std::size_t c = 0; c < d; ++c) sum += a[i * d + c] * b[j * d + c];
    return sum;
  };
  const auto add_row = [d](std::vector<double>& to, std::size_t i, double factor,
                           const std::vector<double>& from, std::size_t j) {
    for (std::size_t c = 0; c < d; ++c) to[i * d + c] += factor * from[j * d + c];
  };
  AttentionResult out;
  for (auto* values : {&out.out, &out.dq, &out.dk, &out.dv}) values->assign(n * d, 0);
  std::vector<double> p(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) p[j] = scale * dot(in.q, i, in.k, j);
    const double most = *std::max_element(p.begin(), p.end());
    double sum = 0;
    for (double& value : p) sum += value = std::exp(value - most);
    for (std::size_t j = 0; j < n; ++j) add_row(out.out, i, p[j] /= sum, in.v, j);
    const double mean = dot(in.dout, i, out.out, i);
    for (std::size_t j = 0; j < n; ++j) {
      const double ds = p[j] * (dot(in.dout, i, in.v, j) - mean);
      add_row(out.dv, j, p[j], in.dout, i);
      add_row(out.dq, i, scale * ds, in.k, j);
      add_row(out.dk, j, scale * ds, in.q, i);
    }
  }
  return out;
}

}  // namespace isobar
