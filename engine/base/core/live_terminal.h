#pragma once
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace isobar {

/// Whether a descriptor is a terminal that takes escape sequences: that of an editor (TERM=dumb) shows them.
inline bool is_live_terminal(int descriptor) {
  const char* const kind = std::getenv("TERM");
  return isatty(descriptor) == 1 && (kind == nullptr || std::string_view(kind) != "dumb");
}

}  // namespace isobar
