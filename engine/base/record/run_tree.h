#pragma once
// Where runs lie: folders of ours and of other programs that write event files, at any depth below a place.
#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <system_error>
#include <vector>

#include "record/left_out.h"

namespace isobar {

/// Names that are looked at in one folder or tree.
inline constexpr std::size_t kMostEntries = 200'000;

struct FoundFolder {
  std::filesystem::path path;
  std::string name;         ///< the path below the place; of the place itself its own name
  bool is_run = false;      ///< run.toml or a stream is in it (record/run_folder.h)
  bool has_events = false;  ///< files of TensorBoard are in it, and no run of ours
};

struct TreeEnd {
  LeftOut left_out;      ///< folders that were not opened: too deep, too many names, links to a folder above
  std::error_code code;  ///< why the place itself cannot be read
};

/// Visits `place` and the folders below it, the nearest first: at most 32 deep, those that links lead to
/// once and not those that hold `place`, none whose name begins with a dot, and none within a run. Folders
/// for which `knows` is true are not opened or visited.
TreeEnd visit_run_tree(const std::filesystem::path& place,
                       const std::function<bool(const std::filesystem::path&)>& knows,
                       const std::function<void(const FoundFolder&)>& visit);

/// Folders in that tree that hold a file of this name, by the time at which it was written last.
std::vector<FoundFolder> folders_with(const std::filesystem::path& place, const std::string& file);

/// What lies in a folder, at most so many, in no order; nothing where it cannot be read.
std::vector<std::filesystem::path> entries_in(const std::filesystem::path& folder,
                                              std::size_t most = kMostEntries);

/// Folders in that tree that hold nothing but event files of other programs, by name. `left_out` counts
/// those that were not opened.
std::vector<FoundFolder> event_folders(const std::filesystem::path& place, LeftOut* left_out = nullptr);

/// `name` as a run folder: a path, the path below `runs` or its last part where no other run has it, or
/// "last" for the newest there. Error (exit code 2) with the nearest.
std::filesystem::path find_run(const std::string& name, const std::filesystem::path& runs);

/// Run folders at any depth below `runs`, oldest first by the time of their start.
std::vector<FoundFolder> list_runs(const std::filesystem::path& runs);

}  // namespace isobar
