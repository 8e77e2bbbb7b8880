#include "analyse/recorded_runs.h"

#include <algorithm>
#include <tuple>

#include "analyse/run_files.h"
#include "analyse/run_reader.h"
#include "core/error.h"
#include "record/run_folder.h"
#include "record/run_tree.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostFolders = 1000;

std::vector<fs::path> folders_in(const fs::path& place) {
  std::vector<fs::path> out;
  for (const fs::path& path : entries_in(place)) {
    std::error_code broken;
    if (path.filename().string().front() == '.') continue;  // one that is being written
    if (out.size() < kMostFolders && fs::is_directory(path, broken)) out.push_back(path);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

std::vector<RecordedRun> recorded_runs(const fs::path& home, const std::string& lesson) {
  std::vector<RecordedRun> out;
  const auto add = [&](const fs::path& folder) {
    if (!is_run_folder(folder)) return false;
    try {
      RecordedRun run{folder, glance(folder)};
      if (!run.view.provenance.empty()) out.push_back(std::move(run));
    } catch (const Error&) {
      // Whoever opens it by name is told.
    }
    return true;
  };
  for (const fs::path& folder : folders_in(home / "lessons" / lesson / "recorded")) {
    if (add(folder)) continue;
    for (const fs::path& inner : folders_in(folder)) add(inner);
  }
  std::stable_sort(out.begin(), out.end(), [](const RecordedRun& one, const RecordedRun& other) {
    const auto key = [](const RunView& view) {
      return std::tuple(view.provenance != "predicted", view.started.substr(0, 10), view.point.empty());
    };
    return key(one.view) > key(other.view);
  });
  return out;
}

}  // namespace isobar
