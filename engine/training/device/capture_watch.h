#pragma once
// Says which operation cannot be recorded in a graph, where CUDA has only a number for it.
#include <cstdint>
#include <string>

namespace isobar {

/// While one lives, it remembers the innermost operation that an error ended, in this thread or one of
/// autograd's, and the last one that began. One at a time.
class CaptureWatch {
 public:
  CaptureWatch();
  ~CaptureWatch();
  CaptureWatch(const CaptureWatch&) = delete;
  CaptureWatch& operator=(const CaptureWatch&) = delete;

  /// "aten::_local_scalar_dense"; "" when no operation began.
  std::string failed() const;

 private:
  std::uint64_t handle_;
};

/// Why `operation` cannot be recorded, and what to do about it, each a sentence.
struct CaptureReason {
  std::string why;
  std::string hint;
};

/// `warmed_up`: whether the same step was done before without recording it.
CaptureReason capture_reason(const std::string& operation, bool warmed_up);

}  // namespace isobar
