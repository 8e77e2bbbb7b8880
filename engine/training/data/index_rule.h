#pragma once
// Which record of which year a sample is. The rule is the tutorial's, kept bit for bit, so that sample i
// means the same fields in both programs.
#include <cstdint>

namespace isobar {

struct SamplePlace {
  std::int64_t file;   ///< index into the sorted year files
  std::int64_t input;  ///< record of the input; target n is record input + n dt of the same file
};

/// Sample `i` with `records` records a year (the length of the first file), a step of `dt` records and R =
/// `leads` targets: file = i / records, k = (i mod records) mod (records - R dt), and k += dt if k < dt. So
/// record 0 is never an input for dt = 1, and with one target samples 0, 1 and records - 1 are the same pair.
/// Needs 1 <= dt and (R + 2) dt <= records, so that all targets lie within the year.
SamplePlace place_sample(std::int64_t i, std::int64_t records, std::int64_t dt, std::int64_t leads = 1);

}  // namespace isobar
