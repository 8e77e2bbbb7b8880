#pragma once
// Logs of other programs below a folder, and reading one of them.
#include <filesystem>
#include <vector>

#include "imported/foreign_run.h"

namespace isobar {

enum class LogKind { epochs, events, metrics };

struct FoundLog {
  LogKind kind = LogKind::epochs;
  std::filesystem::path file;                 ///< out.log or metrics.csv; "" where only event files are
  std::vector<std::filesystem::path> events;  ///< beside it or in its folder `logs`
  std::filesystem::path folder;
  LeftOut left_out;  ///< event files that are not read
};

/// Logs below `place`, or `place` itself as a file: out.log with the event files beside it or in logs/, event
/// files alone, metrics.csv. Folders of our own runs are not entered; `left_out` counts others that are
/// not. Error (exit code 2) where none is, or where there are more than 1,000.
std::vector<FoundLog> find_logs(const std::filesystem::path& place, LeftOut* left_out = nullptr);

/// Error (exit code 2) for a log that holds no training, or whose batch is not known.
ForeignRun read_log(const FoundLog& log, const ImportWish& wish);

}  // namespace isobar
