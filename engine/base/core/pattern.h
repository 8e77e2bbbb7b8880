#pragma once
// Regular expressions by the C library: a unit that includes <regex> is compiled for two seconds more, and
// the stack of std::regex grows with the line.
#include <string>
#include <vector>

namespace isobar {

/// What a POSIX extended regular expression (with \s, \S, \w and \b) finds in `text`, in order: each time the
/// whole of it, then its groups. Throws std::invalid_argument for a pattern that is none.
std::vector<std::vector<std::string>> matches_of(const std::string& text, const std::string& pattern);

}  // namespace isobar
