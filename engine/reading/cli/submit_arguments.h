#pragma once
// The command line of `submit`.
#include <filesystem>
#include <string>
#include <vector>

#include "config/load.h"
#include "jobs/job_settings.h"

namespace isobar {

struct SubmitArguments {
  std::string what;   ///< a lesson; or, for `status`, `cancel` and `follow`, the number of a job or a run
  Settings settings;  ///< of the lesson's configuration
  JobSettings job;    ///< the profile under what the command line says; not completed
  std::filesystem::path run_dir;  ///< "" = a new folder below runs/
  std::string command;            ///< as typed
  bool dry_run = false;
  bool yes = false;  ///< whatever it costs
  bool interactive = false;
  bool follow = false;
  bool status = false;
  bool cancel = false;
  bool help = false;  ///< asked for; `help_text` says it
  std::string help_text;
};

/// Error (exit code 2) for anything that makes no sense, with the nearest known option.
SubmitArguments parse_submit_arguments(const std::vector<std::string>& arguments,
                                       const std::filesystem::path& home);

}  // namespace isobar
