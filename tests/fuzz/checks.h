#pragma once
// What must hold whatever the bytes were. A violation traps, which a fuzzer and a sanitizer both report.
#include <cstdint>
#include <string>
#include <string_view>

#include "log/run_series.h"

namespace isobar {

inline void require(bool holds) {
  if (!holds) __builtin_trap();
}

/// No control characters: it may be shown in a terminal.
void check_text(std::string_view text);

/// Places never go back, rows of a curve go forward, extremes are those of a plain scan, names can be shown.
void check_series(const RunSeries& series);

/// One number of everything that a reader can see; all NaN are one.
std::uint64_t digest(const RunSeries& series);

/// The first bytes of an input: a mode and two places at which the file is cut while it grows.
struct Growth {
  std::uint8_t mode = 0;
  std::size_t cuts[3] = {0, 0, 0};  ///< ascending; the last is the whole size
  std::string bytes;

  static constexpr std::size_t kHeadBytes = 5;
  void cut(std::size_t size);

 private:
  friend Growth growth_of(const std::uint8_t* data, std::size_t size);
  std::size_t wishes_[2] = {0, 0};
};

Growth growth_of(const std::uint8_t* data, std::size_t size);

}  // namespace isobar
