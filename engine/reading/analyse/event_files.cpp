#include "analyse/event_files.h"

#include <algorithm>

#include "record/run_tree.h"

namespace isobar {

namespace fs = std::filesystem;

std::vector<fs::path> event_files(const fs::path& folder) {
  constexpr std::size_t kMost = 64;
  std::vector<fs::path> out;
  std::error_code code;
  std::size_t seen = 0;
  for (fs::directory_iterator it(folder, code), end; !code && it != end && ++seen < kMostEntries;
       it.increment(code)) {
    if (it->path().filename().string().find("tfevents") != std::string::npos) out.push_back(it->path());
  }
  std::sort(out.begin(), out.end());
  if (out.size() > kMost) out.resize(kMost);
  return out;
}

}  // namespace isobar
