#pragma once
// The command lines of `quartet` and `sweep`: a lesson, its settings, and how much is measured.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/load.h"

namespace isobar {

/// One key of a sweep and what it is set to, as typed.
struct SweepAxis {
  std::string key;
  std::vector<std::string> values;
};

struct MeasureArguments {
  LessonInfo lesson;
  Settings settings;
  std::vector<SweepAxis> axes;  ///< of a sweep
  std::int64_t steps = 50;  ///< measured ones, after the warm-up; more where workers bring batches in rounds
  std::int64_t repeats = 3;
  std::int64_t ranks = 0;  ///< processes that train together, as run.ranks; 0 = what the settings say
  bool one_off = false;    ///< of a sweep: one key at a time leaves the base, instead of a grid
  bool whole = false;      ///< of a sweep: whole training instead of `steps`
  bool json = false;

  /// The settings as they would be typed for `other`, "--preset cpu_micro --set data.shuffle=false": without
  /// those that this lesson refuses, and without the key `varied`.
  std::string settings_text(const std::string& other, const std::string& varied) const;
};

/// Parses the words of `sweep`, else of `quartet`. Error (exit code 2) for anything that makes no sense; keys
/// that the command itself sets are refused. Nothing where --help printed the page.
std::optional<MeasureArguments> parse_measure_arguments(const std::vector<std::string>& words, bool is_sweep);

/// The key of a setting "key = value".
std::string key_of(const std::string& setting);

/// Refuses settings of keys that `command` sets itself (Error, exit code 2); `whole`: it trains whole runs.
void check_free(const std::string& setting, const std::string& command, bool whole);

/// The pieces of a list without the blanks around them. Error (exit code 2) for one that is empty or there
/// twice.
std::vector<std::string> checked_values(const std::vector<std::string>& pieces, const std::string& origin,
                                        const std::string& example);

/// Most repeats that any of these commands makes, and most steps.
inline constexpr std::int64_t kMostRepeats = 100;
inline constexpr std::int64_t kMostSteps = 1'000'000;

}  // namespace isobar
