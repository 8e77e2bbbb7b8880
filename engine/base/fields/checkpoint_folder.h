#pragma once
// Checkpoints as folders: step-000020/ holds files and manifest.json, which names each with its size and
// CRC-32C. A folder is written aside, made durable, and renamed: it is complete or it is not there. Nothing
// good is removed before the next one is complete.
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.h"
#include "fields/safetensors.h"

namespace isobar {

/// Writes one checkpoint. Errors (exit code 1) name the file; the checkpoints that were there stay.
class CheckpointWriter {
 public:
  /// Begins `parent/step-NNNNNN`, aside. Makes `parent`, and removes what writers that died left in it.
  CheckpointWriter(std::filesystem::path parent, std::int64_t step);
  /// Without `finish`, removes what it wrote.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  void write_tensors(const std::string& name, std::span<const TensorToWrite> tensors);
  void write_text(const std::string& name, std::string_view text);

  /// Where files lie until `finish`: other processes may write theirs into it.
  const std::filesystem::path& aside() const { return aside_; }
  /// Lists a file that another process wrote into `aside`, whole and durable.
  void add(const std::string& name, const FileDigest& digest) { files_[name] = digest; }

  /// Writes the manifest, last of all, and puts the folder in place. One of the same step that was there is
  /// replaced. Returns the folder.
  std::filesystem::path finish();

 private:
  std::filesystem::path parent_;
  std::int64_t step_;
  std::filesystem::path aside_;
  std::map<std::string, FileDigest> files_;
  bool finished_ = false;
};

/// Writes one file of tensors as `write_tensors` does, whole or not at all.
FileDigest write_checkpoint_tensors(const std::filesystem::path& file,
                                    std::span<const TensorToWrite> tensors);

struct Checkpoint {
  std::filesystem::path path;
  std::int64_t step = 0;
  std::map<std::string, FileDigest> files;
};

/// Reads the manifest of `folder` and compares every file with it, byte for byte by size and checksum. An
/// Error (exit code 2) names the file that is missing, cut, or altered.
Checkpoint verify_checkpoint(const std::filesystem::path& folder);

/// Folders of checkpoints below `parent`, by step, the oldest first; whether they are good is not looked at.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& parent);

struct CheckpointSearch {
  std::optional<Checkpoint> newest;  ///< complete and verified
  std::vector<std::string>
      passed_over;  ///< one sentence for each newer one that is not, or was left half written
};

/// The newest good checkpoint below `parent`. A folder that is not there holds none.
CheckpointSearch find_checkpoint(const std::filesystem::path& parent);

/// Removes all but the newest `keep` of the checkpoints up to that of step `saved`, which was saved last, and
/// only folders that hold nothing but what their manifests list. Those of later steps are what a resumed run
/// passed over as damaged: they stay until it gets there, and never stand in for a good one.
void remove_old_checkpoints(const std::filesystem::path& parent, std::int64_t keep, std::int64_t saved);

}  // namespace isobar
