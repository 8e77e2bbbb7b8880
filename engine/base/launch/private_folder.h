#pragma once
// A folder below the temporary one: for messages between the ranks of one launch, or for a replay.
#include <filesystem>
#include <functional>

#include "core/files.h"

namespace isobar {

/// A folder of this user, no link to one, that nobody else may enter.
bool is_private(const std::filesystem::path& folder);

/// Only its user can read it; gone with this. A launcher that is killed leaves its folder: the next one
/// removes it, but only what ranks write there (and what `remove_more` removes), and only where the
/// lock of its file `owner` is free; where the file system has no locks it stays.
class PrivateFolder {
 public:
  /// Sweeps, then makes one. Error (exit code 1) when there is no place for it.
  /// `remove_more` takes what its maker puts there beside that out of such a folder; it throws nothing.
  explicit PrivateFolder(std::function<void(const std::filesystem::path&)> remove_more = {});
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::function<void(const std::filesystem::path&)> remove_more_;
  std::filesystem::path path_;
  FileDescriptor lock_;
};

}  // namespace isobar
