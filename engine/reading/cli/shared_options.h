#pragma once
// What command lines share: a lesson with its settings, how much of it is measured, what a job asks of a
// cluster (`submit`, and `scale` over jobs), and questions to who typed them.
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/lesson.h"
#include "config/load.h"
#include "config/option_parser.h"
#include "jobs/job_settings.h"

namespace isobar {

/// LESSON, --preset, --config and --set.
void add_lesson(OptionParser& app, std::string& lesson, Settings& settings);

/// Error (exit code 2) of `usage` ("./isobar predict LESSON") for "", and for none that is here.
LessonInfo named_lesson(const std::string& name, const std::string& usage);

/// The settings of a lesson, with the preset for the device that is here. Error (exit code 2) for what the
/// lesson refuses.
LoadedConfig load_here(const LessonInfo& lesson, const Settings& settings);

/// Settings as they would be typed for a lesson's program.
std::vector<std::string> words_of(const Settings& settings);

/// "a setting is: --set key=value" for such a word, else "".
std::string hint_for_setting(const std::string& word);

/// Whether a person sits in front of it.
bool can_ask();
/// Asks that person; false for anything but yes.
bool agrees(const std::string& question);

class JobOptions {
 public:
  /// --cluster, an option for each field but those of `leave_out` (keys), and --module, --volume and --env.
  void add(OptionParser& app, const std::filesystem::path& home,
           const std::vector<std::string>& leave_out = {});
  /// The profile under what was typed; not completed. Error (exit code 2) for a value that makes no sense.
  JobSettings take(const OptionParser& app, const std::filesystem::path& home) const;
  /// Whether any of them was typed.
  bool given(const OptionParser& app) const;

 private:
  std::vector<std::string> options_;
  std::string cluster_;
  std::map<std::string, std::string> fields_;
  std::vector<std::string> modules_, volumes_, variables_;
};

/// Error (exit code 2) when the lesson needs a GPU and the job asks for none.
void check_job_device(const LessonInfo& lesson, const JobSettings& job);
/// Error (exit code 1) when the lesson's program is neither in a container nor in `programs`.
void check_job_program(const LessonInfo& lesson, const JobSettings& job,
                       const std::filesystem::path& programs);

/// One key of a sweep and what it is set to, as typed.
struct SweepAxis {
  std::string key;
  std::vector<std::string> values;
};

struct MeasureArguments {
  LessonInfo lesson;
  Settings settings;
  std::vector<SweepAxis> axes;  ///< axes of a sweep
  std::int64_t steps = 50;  ///< measured ones, after the warm-up; more where workers bring batches in rounds
  std::int64_t repeats = 3;
  std::int64_t ranks = 0;  ///< processes that train together, as run.ranks; 0 = those of the settings
  bool one_off = false;    ///< sweep: one key at a time leaves the base, instead of a grid
  bool whole = false;      ///< sweep: whole training instead of `steps`
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
