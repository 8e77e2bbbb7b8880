#pragma once
// What a TOML parser must not be given: it recurses for every level, and searches lists of its tables.
#include <cstddef>
#include <string>
#include <string_view>

namespace isobar {

inline constexpr std::size_t kMostTomlBytes = std::size_t{1} << 20;
inline constexpr int kMostTomlDepth = 32;              ///< brackets, braces and dots of keys together
inline constexpr std::size_t kMostTomlKeys = 20'000;   ///< keys of a file
inline constexpr std::size_t kMostTomlKeyBytes = 512;  ///< bytes of a dotted key with its table

/// Refuses text beyond these limits and NUL bytes (Error, exit code 2, with name:line:column). Strings and
/// comments are followed as TOML has them: what stands in them counts for nothing. Takes one pass and no
/// memory to speak of.
void check_toml_limits(std::string_view text, const std::string& name);

/// "name:line:column" of a byte of the text, counted from 1; columns are bytes.
std::string place_in_text(std::string_view text, std::size_t at, const std::string& name);

}  // namespace isobar
