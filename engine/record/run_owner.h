#pragma once
// One writer a run folder: who it is stands in the file `owner`, and a lock that ends with the process guards
// it.
#include <cstdint>
#include <filesystem>
#include <string>

#include "core/files.h"

namespace isobar {

class RunOwner {
 public:
  RunOwner() = default;
  /// Takes the folder. Error (exit code 2) when another process writes there: one of this machine that holds
  /// the lock, or one of another machine whose sign of life is younger than three minutes.
  RunOwner(const std::filesystem::path& folder, const std::string& host);
  ~RunOwner();
  RunOwner(RunOwner&&) = default;
  RunOwner& operator=(RunOwner&&) = default;

  /// A sign of life for readers of other machines; call it every few seconds.
  void beat();
  /// Gives the folder back.
  void release();

 private:
  std::filesystem::path path_;
  FileDescriptor file_;
  std::int64_t beaten_us_ = 0;
};

}  // namespace isobar
