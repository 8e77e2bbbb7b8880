#pragma once
// Attention of some queries over some keys, as a part of what they attend to: with the log of each query's
// sum of exponentials, by which parts are put together (Milakov and Gimelshein 2018; Liu et al. 2023, "Ring
// Attention"). B samples, h heads, n queries, m keys, d values a head; scores are q k^T d^-0.5.
#include <ATen/core/Tensor.h>

#include "config/choices.h"
#include "fused/with_gradient.h"

namespace isobar {

/// The form of attention that the current choice (model/attention_choice.h) gives for these, out of those
/// that hand out the logarithms: cuDNN's does not, and flash or memory-efficient attention takes its place.
/// Error (exit code 2) where that choice cannot run these.
AttentionKind block_kind(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v);

struct AttendedBlock {
  at::Tensor out = {};      ///< [B, h, n, d] of q's type: over these keys alone
  at::Tensor log_sum = {};  ///< [B, h, n] float32 (float64 of float64)
};
/// Not recorded by autograd. q: [B, h, n, d]; k and v: [B, h, m, d].
AttendedBlock attend_block(AttentionKind kind, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v);

/// The gradients of q, k and v, of that of the result: `whole` is out and log_sum over all keys, k and v
/// those of one part.
TensorTriple attend_block_back(AttentionKind kind, const at::Tensor& dy, const TensorTriple& qkv,
                               const AttendedBlock& whole);

/// A running softmax: what queries get from the parts so far. Sums are float32.
class RunningSoftmax {
 public:
  void add(const AttendedBlock& part);
  AttendedBlock result(at::ScalarType type) const;

 private:
  at::Tensor out_, log_sum_;
};

}  // namespace isobar
