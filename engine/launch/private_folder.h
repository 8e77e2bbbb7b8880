#pragma once
// A folder below the temporary one for what the ranks of one launch tell each other.
#include <filesystem>

#include "core/files.h"

namespace isobar {

/// Only its user can read it; gone with this. A launcher that is killed leaves its folder: the next one
/// removes it, but only what ranks write there, and only where the lock of its file `owner` says that nobody
/// is left.
class PrivateFolder {
 public:
  /// Sweeps, then makes one. Error (exit code 1) when there is no place for it.
  PrivateFolder();
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  FileDescriptor lock_;
};

}  // namespace isobar
