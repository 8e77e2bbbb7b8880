#pragma once
// A run small enough to lie beside its lesson: which of its steps are kept, and what of the machine it was
// made on.
#include <cstdint>
#include <filesystem>
#include <string>

namespace isobar {

struct ThinRun {
  std::string device;      ///< as its maker calls it: "NVIDIA H200"
  std::string day;         ///< "2026-11-21"
  std::string config;      ///< of run.toml: without host, command and folders of that machine
  std::string stream;      ///< of rank-0000.jsonl, marked "recorded"
  std::int64_t steps = 0;  ///< kept
  std::int64_t all_steps = 0;
};

/// Thins a finished run to at most `most_bytes` of stream. What is no step stays (evaluations, tables,
/// summary, end). Of the steps stay the first 20, the last, those that count launches, and of those with a
/// loss every k-th, with the smallest k that fits. Checkpoints, fields, spans and console are left behind.
/// Error (exit code 2) for a run that did not end well, is no measurement, or has too much beside its steps.
ThinRun thin_run(const std::filesystem::path& run, std::uint64_t most_bytes);

}  // namespace isobar
