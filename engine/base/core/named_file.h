#pragma once
// Files that somebody named to be written: what is there already, and is not of the same kind and ours,
// stays.
#include <filesystem>
#include <string_view>

namespace isobar {

struct NamedFile {
  std::filesystem::path path;
  const char* option;     ///< "-o", that names it
  const char* kind;       ///< "report"
  std::string_view mark;  ///< within the first 512 bytes of each that Isobar wrote; "" = none is known by one
  bool replace = false;   ///< --replace: whatever file is there goes
};

inline constexpr const char* kReplace = "--replace";
inline constexpr const char* kReplaceHelp = "write over a file that is there, whatever it is";

/// Where it is to be written: `path`, or the file that this links to. Error (exit code 2) where something is
/// there that must stay: a file of another kind without `replace`; a folder, a device or a link that leads
/// nowhere in any case. To be asked before the work that fills the file, and again before it is written.
std::filesystem::path place_of(const NamedFile& file);

/// Found out before an hour of measuring, not after it. Error (exit code 2) for a folder in its place, a
/// folder of it that is not there or cannot be written, and where place_of has one.
void check_writable(const NamedFile& file);

/// Writes it there, whole or not at all.
void write_named_file(const NamedFile& file, std::string_view text);

}  // namespace isobar
