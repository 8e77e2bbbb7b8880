#include "config/key_comments.h"

#include <sstream>

#include "core/files.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr std::uint64_t kMostBytes = 1U << 20;

/// Where a comment begins outside of quotes; npos without one.
std::size_t comment_place(std::string_view line) {
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') quoted = !quoted;
    if (line[i] == '#' && !quoted) return i;
  }
  return std::string::npos;
}

}  // namespace

std::map<std::string, std::string> key_comments(const std::filesystem::path& home) {
  std::map<std::string, std::string> out;
  std::istringstream text(read_text_file(home / "lessons" / "base.toml", kMostBytes));
  std::string section;
  for (std::string line; std::getline(text, line);) {
    const std::string_view bare = trimmed(line);
    if (!bare.empty() && bare.front() == '[') section = bare.substr(1, bare.find(']') - 1);
    const std::size_t equals = bare.find('=');
    const std::size_t comment = comment_place(bare);
    if (equals == std::string::npos || comment == std::string::npos || comment < equals) continue;
    out[section + "." + std::string(trimmed(bare.substr(0, equals)))] = trimmed(bare.substr(comment + 1));
  }
  return out;
}

}  // namespace isobar
