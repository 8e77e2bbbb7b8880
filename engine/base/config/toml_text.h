#pragma once
// TOML files as a flat list of keys with their places. The text is checked before the parser sees it: a
// hostile file must not cost memory, time or stack.
#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

namespace isobar {

/// A value as it was written, numbers of an array that are not all integers as doubles; anything else (dates,
/// mixed arrays) keeps only its type's name.
struct OtherValue {
  std::string type;
};
struct TomlEntry;
/// One table of an array of tables.
struct TomlTable {
  std::vector<TomlEntry> entries;  ///< their keys begin in it
  std::string origin;              ///< "file:line:column"
};
using TomlRows = std::vector<std::vector<double>>;  ///< lists of numbers in a list
using TomlValue =
    std::variant<std::string, bool, std::int64_t, double, std::vector<std::int64_t>, std::vector<double>,
                 std::vector<std::string>, TomlRows, std::vector<TomlTable>, OtherValue>;

struct TomlEntry {
  std::string key;  ///< dotted: "data.grid"
  TomlValue value;
  std::string origin;  ///< "file:line:column"
};

/// Reads at most 1 MiB. Errors (exit code 2) name file, line and column.
std::vector<TomlEntry> read_toml(const std::filesystem::path& path);

/// Parses text; `name` stands in front of line and column.
std::vector<TomlEntry> parse_toml(const std::string& text, const std::string& name);

/// `text` as a TOML basic string, quotes included; bytes that are no UTF-8 (of a path, say) become U+FFFD.
std::string toml_string(const std::string& text);

/// The value for a table a person reads: four, 3, 0.001, [72, 144].
std::string plain_text(const TomlValue& value);

/// For messages: "the string \"four\"", "the integer 3".
std::string describe(const TomlValue& value);

}  // namespace isobar
