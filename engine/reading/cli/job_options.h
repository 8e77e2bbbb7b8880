#pragma once
// What a job asks of a cluster, as options of a command: those of `submit`, and of `scale` over jobs.
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "config/lesson.h"
#include "config/option_parser.h"
#include "jobs/job_settings.h"

namespace isobar {

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
