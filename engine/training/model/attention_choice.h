#pragma once
// Which of libtorch's forms of scaled-dot-product attention runs. They compute the same; math writes the N x
// N matrix of every head to memory, the others never do.
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace isobar {

/// Values of model.attention beside "auto", in libtorch's own numbering.
inline constexpr std::array<const char*, 4> kAttentionKinds = {"math", "flash", "efficient", "cudnn"};

/// While one lives, attention takes the named form and no other; with "auto" libtorch picks among all. It
/// holds for the whole process and for what is called forward: backward follows its forward.
class AttentionGuard {
 public:
  explicit AttentionGuard(const std::string& kind);
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
  std::int64_t tokens = 1;
  std::int64_t head_size = 1;
  c10::ScalarType type = c10::ScalarType::Float;
  c10::Device device = c10::Device(c10::kCPU);
};

/// The kinds that this build and device can run with this head size and type, found by running each forward
/// and backward on a few tokens.
std::vector<std::string> attention_kinds_here(const AttentionShape& shape);

/// The form that `wanted` (a kind, or "auto") gives for `shape`. One that cannot run is an Error (exit code
/// 2) that names those that can.
std::string choose_attention(const std::string& wanted, const AttentionShape& shape);

}  // namespace isobar
