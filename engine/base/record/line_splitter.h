#pragma once
// The rules by which the bytes of a growing stream become lines.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace isobar {

struct LineLimits {
  std::size_t line = 1U << 20;     ///< longer lines are dropped and counted
  std::size_t window = 16U << 20;  ///< bytes in which a line must end, else they are given up
  std::size_t lines = 1U << 18;    ///< most lines a call
};

/// Gives whole lines only. An unfinished tail, or one with zero bytes as a network file system may show
/// before the data arrives, waits until it is whole or fills the window; then it is given up, up to its
/// newline, and counted. What comes out depends on the bytes alone, not on the pieces in which they came.
class LineSplitter {
 public:
  explicit LineSplitter(LineLimits limits = {}) : limits_(limits) {}

  /// `bytes` begin where the last call stopped; returns how many of them are used up. Lines are appended
  /// without their newlines, empty ones left out.
  std::size_t take(std::string_view bytes, std::vector<std::string>& lines);
  /// Begins again with another file; the count stays.
  void restart() { in_given_up_ = false; }

  const LineLimits& limits() const { return limits_; }
  std::int64_t dropped_lines() const { return dropped_; }

 private:
  LineLimits limits_;
  bool in_given_up_ = false;  ///< the head of this line is gone: its rest is no line
  std::int64_t dropped_ = 0;
};

}  // namespace isobar
