#pragma once
// The settings of some runs side by side.
#include <string>
#include <string_view>
#include <vector>

#include "analyse/run_files.h"

namespace isobar {

/// One key of the compared runs; `values` has one text a run, "" where the run lacks it.
struct KeyRow {
  std::string key;
  std::vector<std::string> values;
  bool differs = false;
  bool two_values = false;  ///< at least two runs have it, and not the same

  bool is_environment() const;
  /// It says which run this is, and changes nothing of it: its place in a group.
  bool is_label() const;
};

/// All keys but those that no two runs share (when they started, and by which command): the ones that differ
/// first, the environment's last of each kind. An empty configuration is of a run whose settings are not
/// known; nothing differs from it.
std::vector<KeyRow> key_rows(const std::vector<const ConfigText*>& runs);

/// Whether both ran with the same settings in the same place, so that one repeats the other.
bool is_repeat(const ConfigText& one, const ConfigText& other);

}  // namespace isobar
