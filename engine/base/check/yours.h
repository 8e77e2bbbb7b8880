#pragma once
// How the program of a lesson hears that it trains with a learner's part.
#include <cstdlib>
#include <string>

namespace isobar {

inline constexpr const char* kPartVariable = "ISOBAR_PART";    ///< the library
inline constexpr const char* kYoursVariable = "ISOBAR_YOURS";  ///< "my/02_read_ahead.cpp"

/// What the run is marked with; "" where all of it is ours.
inline std::string yours() {
  const char* const name = std::getenv(kYoursVariable);
  return name == nullptr ? "" : name;
}

}  // namespace isobar
