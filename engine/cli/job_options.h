#pragma once
// What a job asks of a cluster, as options of a command: those of `submit`, and of `scale` over jobs.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "batch/job_settings.h"

namespace isobar {

class JobOptions {
 public:
  /// --cluster, an option for each field but those of `leave_out` (keys), and --module, --volume and --env.
  void add(CLI::App& app, const std::filesystem::path& home, const std::vector<std::string>& leave_out = {});
  /// The profile under what was typed; not completed. Error (exit code 2) for a value that makes no sense.
  JobSettings take(const CLI::App& app, const std::filesystem::path& home) const;
  /// Whether any of them was typed.
  bool given(const CLI::App& app) const;

 private:
  std::vector<std::string> options_;
  std::string cluster_;
  std::map<std::string, std::string> fields_;
  std::vector<std::string> modules_, volumes_, variables_;
};

}  // namespace isobar
