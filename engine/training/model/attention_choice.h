#pragma once
// Which of libtorch's forms of scaled-dot-product attention runs. They compute the same; math writes the N x
// N matrix of every head to memory, the others never do.
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <array>
#include <cstdint>
#include <vector>

#include "config/choices.h"

namespace isobar {

/// In libtorch's own numbering.
inline constexpr std::array kTorchAttention = {AttentionKind::math, AttentionKind::flash,
                                               AttentionKind::efficient, AttentionKind::cudnn};

/// While one lives, attention takes this form and no other; with automatic libtorch picks among all. It
/// holds for the whole process and for what is called forward: backward follows its forward.
class AttentionGuard {
 public:
  explicit AttentionGuard(AttentionKind kind);
  ~AttentionGuard();
  AttentionGuard(const AttentionGuard&) = delete;
  AttentionGuard& operator=(const AttentionGuard&) = delete;

 private:
  std::array<bool, 4> before_{};
};

/// What attention is asked to do.
struct AttentionShape {
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t tokens = 1;  ///< queries
  std::int64_t head_size = 1;
  c10::ScalarType type = c10::ScalarType::Float;
  c10::Device device = c10::Device(c10::kCPU);
  std::int64_t keys = 0;  ///< 0: as many as queries
  bool has_mask = false;  ///< a tensor of numbers that are added to the scores, of the same type
};

/// The kinds that this build and device can run with this head size and type, found by running each forward
/// and backward on a few tokens.
std::vector<AttentionKind> attention_kinds_here(const AttentionShape& shape);

/// The form that `wanted` gives for `shape`. One that cannot run is an Error (exit code
/// 2) that names those that can.
AttentionKind choose_attention(AttentionKind wanted, const AttentionShape& shape);

}  // namespace isobar
