#pragma once
// What a text says, for tests that read it as its reader would.
#include <string>

#include "support/catch.h"

namespace isobar {

inline auto says(const std::string& part) { return Catch::Matchers::ContainsSubstring(part); }

}  // namespace isobar
