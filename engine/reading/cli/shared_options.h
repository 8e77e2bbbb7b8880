#pragma once
// What command lines share: a lesson with its settings, what a job asks of a cluster (`submit`, and `scale`
// over jobs), and questions to who typed them.
#include <filesystem>
#include <map>
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

}  // namespace isobar
