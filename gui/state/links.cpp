#include "state/links.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "core/find.h"
#include "core/text.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

using Kind = LinkTarget::Kind;

constexpr std::size_t kMostBytes = 2000;

LinkTarget nowhere(std::string why) { return {.kind = Kind::nowhere, .text = std::move(why)}; }

/// "https" of "https://..."; "" of a path.
std::string scheme_of(const std::string& link) {
  const std::size_t colon = link.find(':');
  if (colon == std::string::npos || colon == 0) return "";
  const std::string scheme = link.substr(0, colon);
  const bool plain = std::ranges::all_of(
      scheme, [](unsigned char c) { return std::isalnum(c) != 0 || c == '+' || c == '-' || c == '.'; });
  return plain ? scheme : "";
}

LinkTarget web(const std::string& link) {
  const bool plain = std::ranges::all_of(link, [](char c) { return c > ' ' && c < 0x7f; });
  if (!plain) return nowhere("this address holds letters that an address has not: " + printable(link, 120));
  return {.kind = Kind::web, .text = link};
}

/// The line of "#L61"; 0 without one.
std::int64_t line_of(const std::string& fragment) {
  std::int64_t line = 0;
  if (fragment.size() > 1 && fragment[0] == 'L')
    std::from_chars(fragment.data() + 1, fragment.data() + fragment.size(), line);
  return std::max<std::int64_t>(0, line);
}

/// `path` below `home`, both without symbolic links; "" where it lies elsewhere.
fs::path below(const fs::path& home, const fs::path& path) {
  const fs::path relative = path.lexically_relative(home);
  return relative.empty() || *relative.begin() == ".." ? fs::path() : relative;
}

}  // namespace

std::string section_name(std::string_view heading) {
  std::string out;
  for (const char c : heading) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) != 0 || c == '_' || letter >= 0x80)
      out += static_cast<char>(std::tolower(letter));
    if ((c == ' ' || c == '-') && !out.empty()) out += '-';
  }
  while (out.ends_with('-')) out.pop_back();
  return out;
}

LinkTarget link_target(const fs::path& home, const fs::path& folder, const std::vector<std::string>& lessons,
                       const std::string& link) {
  if (link.empty() || link.size() > kMostBytes) return nowhere("this link leads nowhere");
  const std::string scheme = scheme_of(link);
  if (scheme == "http" || scheme == "https") return web(link);
  if (!scheme.empty()) return nowhere("only links to the web and to files of the project are followed");
  const std::size_t hash = link.find('#');
  const std::string path = link.substr(0, hash);
  const std::string fragment = hash == std::string::npos ? "" : link.substr(hash + 1);
  if (path.empty()) return {.kind = Kind::section, .section = fragment};
  std::error_code code;
  const fs::path root = fs::canonical(home, code);
  const fs::path full = code ? fs::path() : fs::canonical(folder / path, code);
  if (code) return nowhere("there is no file " + printable(path, 120));
  const fs::path relative = below(root, full);
  if (relative.empty()) return nowhere("this file lies outside of the project: " + printable(path, 120));
  const std::string parent = relative.parent_path().filename().string();
  const std::string name = relative.filename().string();
  if (relative.parent_path() == "lessons" && holds(lessons, name))
    return {.kind = Kind::lesson, .text = name};
  if (relative.parent_path().parent_path() == "lessons" && holds(lessons, parent)) {
    if (name == "README.md") return {.kind = Kind::lesson, .text = parent, .section = fragment};
    if (name == "reveal.md") return {.kind = Kind::reveal, .text = parent};
  }
  if (fs::is_directory(full, code)) return {.kind = Kind::folder, .text = relative.string()};
  if (!fs::is_regular_file(full, code)) return nowhere("this is no file: " + printable(path, 120));
  return {.kind = Kind::file, .text = relative.string(), .line = line_of(fragment), .section = fragment};
}

}  // namespace isobar
