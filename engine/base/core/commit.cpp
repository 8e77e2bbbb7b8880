#include "core/commit.h"

#include <algorithm>
#include <cctype>
#include <fstream>

#include "core/files.h"

namespace isobar {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// What stands behind `word` in the first line; "" where it begins otherwise.
std::string behind(const std::string& word, const fs::path& path) {
  const std::string line = first_line(path);
  return line.rfind(word, 0) == 0 ? line.substr(word.size()) : "";
}

std::string packed_ref(const fs::path& git, const std::string& ref) {
  std::ifstream file(git / "packed-refs");
  for (std::string line; std::getline(file, line);) {
    if (line.size() == 41 + ref.size() && line.compare(41, std::string::npos, ref) == 0)
      return line.substr(0, 40);
  }
  return "";
}

bool is_digest(const std::string& text) {
  return text.size() >= 40 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isxdigit(c) != 0; });
}

}  // namespace

std::string checked_out_commit(const fs::path& folder) {
  fs::path git = folder / ".git";
  const std::string elsewhere = behind("gitdir: ", git);  // a work tree: gitrepository-layout(5)
  if (!elsewhere.empty()) git = folder / elsewhere;
  const std::string shared = first_line(git / "commondir");
  const fs::path common = shared.empty() ? git : git / shared;
  const std::string ref = behind("ref: ", git / "HEAD");
  std::string digest = first_line(git / (ref.empty() ? "HEAD" : ref));
  if (digest.empty() && !ref.empty()) digest = first_line(common / ref);
  if (digest.empty() && !ref.empty()) digest = packed_ref(common, ref);
  if (digest.empty() && !fs::exists(git)) digest = first_line(folder / "commit");  // a bundle's
  return is_digest(digest) ? digest.substr(0, 12) : "";
}

std::string project_commit() { return checked_out_commit(project_home()); }

}  // namespace isobar
