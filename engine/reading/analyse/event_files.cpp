#include "analyse/event_files.h"

#include <algorithm>

#include "record/run_tree.h"

namespace isobar {

namespace fs = std::filesystem;

std::vector<fs::path> event_files(const fs::path& folder) {
  constexpr std::size_t kMost = 64;
  std::vector<fs::path> out;
  for (const fs::path& path : entries_in(folder)) {
    if (path.filename().string().find("tfevents") != std::string::npos) out.push_back(path);
  }
  std::sort(out.begin(), out.end());
  if (out.size() > kMost) out.resize(kMost);
  return out;
}

}  // namespace isobar
