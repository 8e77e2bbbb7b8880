#pragma once
// A foreign run as a run folder of ours, marked by its source.
#include <filesystem>
#include <string>

#include "imported/foreign_run.h"

namespace isobar {

/// What stands in the folder: the same log gives the same bytes.
struct RunText {
  std::string config;   ///< of run.toml, but for its last line
  std::string sources;  ///< that line: where the log lay, which may change
  std::string stream;   ///< of rank-0000.jsonl
};

/// The stream says provenance "recorded" and `source`. One log tells of all GPUs, so it is that of one rank
/// (world 1) whose samples are those of all; how many GPUs there were stands in run.toml (run.ranks).
RunText run_text(const ForeignRun& run);

/// "imported-short-4GPU-00-3fa2b1c9": its name there, and the checksum of what is written but for `sources`.
std::string folder_name(const ForeignRun& run, const RunText& text);

enum class Imported {
  new_run,
  known,   ///< the folder is there and says the same, of a log that lies here or elsewhere
  changed  ///< the folder is there and says something else: it is left as it is
};

/// Writes `folder` unless it is there; what is there is never written over, but for one thing: the run.toml
/// that an import before could not write any more is added. Error (exit code 2) for a link.
Imported write_run(const std::filesystem::path& folder, const RunText& text);

}  // namespace isobar
