#pragma once
#include <string>
#include <vector>

namespace isobar {

/// What a regular expression finds in a text, in order: each time the whole of it, then its groups.
std::vector<std::vector<std::string>> matches_of(const std::string& text, const std::string& pattern);

}  // namespace isobar
