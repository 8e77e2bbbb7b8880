#pragma once
// The runs that lie beside a lesson (lessons/NN/recorded/): recorded on another machine, or predicted by
// model.
#include <filesystem>
#include <string>
#include <vector>

#include "analyse/run_view.h"

namespace isobar {

struct RecordedRun {
  std::filesystem::path folder;
  RunView view;
};

/// Run folders in lessons/LESSON/recorded/, or one folder deeper, that say of themselves that they were not
/// measured here. Recorded ones first, newest first; then predicted ones; of those made together the one with
/// the lesson's own settings first. A folder that cannot be read is left out.
std::vector<RecordedRun> recorded_runs(const std::filesystem::path& home, const std::string& lesson);

}  // namespace isobar
