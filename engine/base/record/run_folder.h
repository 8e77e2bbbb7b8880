#pragma once
// The folder in which one run leaves its facts; every view of a run is a reader of it.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace isobar {

struct RunFolder {
  std::filesystem::path path;

  std::filesystem::path config_file() const { return path / "run.toml"; }
  /// run.toml for attempt 0, "attempt-0001.toml" for the first time it was resumed, and so on.
  std::filesystem::path attempt_file(int attempt) const;
  std::filesystem::path checkpoints() const { return path / "checkpoints"; }
  std::filesystem::path console_file() const { return path / "console.log"; }
  /// "rank-0003.jsonl"
  std::filesystem::path stream_file(int rank) const;
  /// "rank-0003.spans.jsonl"
  std::filesystem::path spans_file(int rank) const;
  /// "memory-0003.jsonl" (record/memory_timeline.h)
  std::filesystem::path memory_file(int rank) const;
  /// "fields/step-000128.npy": float32 [3 or 4, C, H, W]: input, target, forecast, an ensemble's spread.
  std::filesystem::path fields_file(std::int64_t step) const;
};

/// The number of the next attempt at the run: 0 for a new one, then one more for each time it was resumed.
int next_attempt(const RunFolder& folder);

/// Makes `runs/<lesson>-<yyyymmdd-hhmmss>-<xxxx>/` below `parent`; the last four are random hexadecimal
/// digits.
RunFolder make_run_folder(const std::filesystem::path& parent, const std::string& lesson);

/// An empty folder with a name of that kind, for a program that gets it by --run-dir (`take_run_folder`).
std::filesystem::path reserve_run_folder(const std::filesystem::path& parent, const std::string& lesson);

/// Makes or takes the folder `path`. One that holds a run or anything else already is refused (Error, exit
/// code 2): nothing in it is ever overwritten. What a batch job left there before its run begins (names that
/// begin with "job") is none of the run's.
RunFolder take_run_folder(const std::filesystem::path& path);

/// Whether the folder holds run.toml or a stream.
bool is_run_folder(const std::filesystem::path& folder);

}  // namespace isobar
