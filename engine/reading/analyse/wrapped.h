#pragma once
#include <string>
#include <vector>

namespace isobar {

/// A sentence over as many lines as it takes, broken at spaces; only a word that is longer by itself makes a
/// line of more than `columns` letters.
std::vector<std::string> wrapped(const std::string& text, std::size_t columns);

}  // namespace isobar
