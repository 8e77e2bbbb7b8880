#pragma once
// The command line of `submit`.
#include <filesystem>
#include <optional>
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
  bool watch = false;  ///< say the line with which its run is seen from elsewhere
  std::string login;   ///< how the machine is called from outside, "" = by its own name
  bool status = false;
  bool cancel = false;
};

/// Error (exit code 2) for anything that makes no sense, with the nearest known option. Nothing where --help
/// printed the page.
std::optional<SubmitArguments> parse_submit_arguments(const std::vector<std::string>& words,
                                                      const std::filesystem::path& home);

}  // namespace isobar
