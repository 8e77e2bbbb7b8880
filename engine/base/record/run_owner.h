#pragma once
// One writer a run folder, whatever machine it is on: who it is stands in the file `owner`. A lock that ends
// with the process guards it where the file system has locks that all machines see; a sign of life every ten
// seconds guards it where it has none.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "core/error.h"

namespace isobar {

/// Whether somebody writes to the run, by what stands in `owner`: a process of this machine that lives, or
/// one elsewhere with a sign of life younger than three minutes. It takes no lock: readers ask.
bool has_owner(const std::filesystem::path& folder);

class RunOwner {
 public:
  RunOwner();
  /// Takes the folder. Error (exit code 2) when another process writes there: one that holds the lock, one of
  /// this machine that lives, or one of another machine whose sign of life is younger than three minutes. A
  /// requeued job of Slurm waits until its earlier start has been silent for half a minute. Ages are measured
  /// by the clock of the file system, since those of machines differ.
  RunOwner(const std::filesystem::path& folder, const std::string& host);
  ~RunOwner();
  RunOwner(RunOwner&&) noexcept;
  RunOwner& operator=(RunOwner&&) noexcept;

  /// The Error (exit code 1) when the folder was moved or removed since it was taken; looks at the file
  /// system now.
  std::optional<Error> lost() const;
  /// Whether the last sign of life found it lost; does not wait for the file system.
  bool seen_lost() const;

  /// Gives the folder back.
  void release();

 private:
  class Beats;
  std::unique_ptr<Beats> beats_;
};

}  // namespace isobar
