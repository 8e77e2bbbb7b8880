#pragma once
// Where the programs are that a test starts.
#include <cstdlib>
#include <string>

namespace isobar {

/// The build's bin/ that the test was compiled with, or $ISOBAR_BIN where the programs were taken elsewhere
/// (submit/bundle.sh).
inline std::string bin_folder(const char* built) {
  const char* const other = std::getenv("ISOBAR_BIN");
  return other != nullptr && *other != '\0' ? other : built;
}

}  // namespace isobar
