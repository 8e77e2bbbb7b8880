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
/// the lesson's own settings first, of several presets' the one beside which a single setting tells most. A
/// folder that cannot be read is left out.
std::vector<RecordedRun> recorded_runs(const std::filesystem::path& home, const std::string& lesson);

/// Of such runs the one that was made together with the first, differs from it in one setting, and in its
/// rate most; null where none differs by what matters.
const RecordedRun* telling_other(const std::vector<RecordedRun>& runs);
/// What these two show: "with graph.enabled=false 2777.8 samples/s in place of 5555.6, ...".
std::string pair_sentence(const RecordedRun& own, const RecordedRun& other);

}  // namespace isobar
