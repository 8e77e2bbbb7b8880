#pragma once
// The runs that lie beside a lesson (lessons/NN/recorded/): recorded on another machine, or predicted by
// model.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "log/run_view.h"

namespace isobar {

struct RecordedRun {
  std::filesystem::path folder;
  RunView view;
};

/// Run folders in lessons/LESSON/recorded/, or one folder deeper, that are marked as not
/// measured here. Recorded ones first, newest first; then predicted ones; of those made together the one with
/// the lesson's own settings first, of several presets' the one beside which a single setting changes most. A
/// folder that cannot be read is left out.
std::vector<RecordedRun> recorded_runs(const std::filesystem::path& home, const std::string& lesson);

/// The run of them that was made together with the first, differs from it in one setting, and in its
/// rate most; null where none differs by what matters.
const RecordedRun* telling_other(const std::vector<RecordedRun>& runs);
/// What these two show: "with graph.enabled=false 2777.8 samples/s in place of 5555.6, ...".
std::string pair_sentence(const RecordedRun& own, const RecordedRun& other);

struct ThinRun {
  std::string device;      ///< its maker's name for it: "NVIDIA H200"
  std::string day;         ///< "2026-11-21"
  std::string config;      ///< text of run.toml without host, command and folders of that machine
  std::string stream;      ///< text of rank-0000.jsonl, marked "recorded"
  std::int64_t steps = 0;  ///< kept
  std::int64_t all_steps = 0;
};

/// Thins a finished run to at most `most_bytes` of stream. What is no step stays (evaluations, tables,
/// summary, end). Of the steps stay the first 20, the last, those that count launches, and of those with a
/// loss every k-th, with the smallest k that fits. Checkpoints, fields, spans and console are left behind.
/// Error (exit code 2) for a run that did not end well, is no measurement, or has too much beside its steps.
ThinRun thin_run(const std::filesystem::path& run, std::uint64_t most_bytes);

}  // namespace isobar
