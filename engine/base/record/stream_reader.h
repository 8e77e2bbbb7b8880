#pragma once
// Reads the metric stream of a run while it is being written.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "record/line_splitter.h"

namespace isobar {

/// Keeps a byte offset, returns whole lines only, and leaves an unfinished tail (or one of zero bytes, as a
/// network file system may show) for later. A file that shrank or was replaced is read again from its start:
/// `restarts` counts that. Lines over 1 MiB are dropped and counted. Memory is bounded by the bytes present
/// and 16 MiB a call.
class StreamReader {
 public:
  explicit StreamReader(std::filesystem::path path) : path_(std::move(path)) {}

  /// The lines that were completed since the last call, without their newlines; none while the file is not
  /// there.
  std::vector<std::string> read_new();

  int restarts() const { return restarts_; }
  std::int64_t dropped_lines() const { return splitter_.dropped_lines(); }

 private:
  std::filesystem::path path_;
  std::uint64_t offset_ = 0;
  std::uint64_t inode_ = 0;
  int restarts_ = 0;
  LineSplitter splitter_;
};

}  // namespace isobar
