#pragma once
#include <cstdint>

namespace isobar {

/// Record `record` of year file `file`.
struct FieldPlace {
  std::int64_t file = 0;
  std::int64_t record = 0;
  bool operator==(const FieldPlace&) const = default;
};

/// What it took to fill memory with fields. Whoever does it adds to it.
struct FillCost {
  std::int64_t read_us = 0;       ///< waiting for the source and copying out of it
  std::int64_t normalise_us = 0;  ///< turning it into what the model takes
  std::int64_t read_bytes = 0;    ///< taken from the source
  std::int64_t thread = -1;       ///< which of the threads that read pays; -1 = none, the loop itself
};

}  // namespace isobar
