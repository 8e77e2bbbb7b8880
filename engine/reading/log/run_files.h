#pragma once
// The small files of a run folder, stamps that detect a change of them, and the settings of some runs side by
// side.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/files.h"
#include "record/run_tree.h"

namespace isobar {

/// What distinguishes a changed file from an unchanged one without opening it.
struct Stamp {
  std::int64_t size = -1;  ///< -1 = there is no such file
  std::int64_t time_ns = 0;
  std::uint64_t inode = 0;
  bool operator==(const Stamp&) const = default;
};

Stamp stamp_of(const std::filesystem::path& path);

/// Seconds since a file last grew; 0 when it is not there.
double silence_s(const std::filesystem::path& file);

/// Bytes of an open file from `from` to before `to`. Error when they are not there.
std::string bytes_at(const FileDescriptor& file, const std::filesystem::path& path, std::uint64_t from,
                     std::uint64_t to);

/// Error (exit code 2) when the folder holds no run.
void check_run_folder(const std::filesystem::path& folder);

/// Keys of run.toml and their values as text, in its order.
using ConfigText = std::vector<std::pair<std::string, std::string>>;
ConfigText config_text(const std::string& toml, const std::string& name);
/// Error when it cannot be read.
ConfigText config_of(const std::filesystem::path& folder);
/// "" for a key that is not there.
std::string value_in(const ConfigText& config, std::string_view key);

/// One key of the compared runs; `values` has one text a run, "" where the run lacks it.
struct KeyRow {
  std::string key;
  std::vector<std::string> values;
  bool differs = false;
  bool two_values = false;  ///< at least two runs have it, and not the same

  bool is_environment() const;
  /// A label of the run that changes nothing of it: its place in a group.
  bool is_label() const;
};

/// All keys but those that no two runs share (when they started, and by which command): the ones that differ
/// first, the environment's last of each kind. An empty configuration is of a run whose settings are not
/// known; nothing differs from it.
std::vector<KeyRow> key_rows(const std::vector<const ConfigText*>& runs);

/// Whether both ran with the same settings in the same place, so that one repeats the other.
bool is_repeat(const ConfigText& one, const ConfigText& other);

/// Steps after which fields/ holds input, target and prediction, sorted.
std::vector<std::int64_t> field_steps_of(const std::filesystem::path& folder);

/// Ranks whose streams are looked at; more are counted only.
inline constexpr int kMostRanks = 4096;
/// Ranks below kMostRanks whose streams are in the folder, sorted.
std::vector<int> ranks_in(const std::filesystem::path& folder);

/// note.txt, "" without one.
std::string note_of(const std::filesystem::path& folder);

}  // namespace isobar
