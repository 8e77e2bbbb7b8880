#pragma once
// The command line that every lesson program and `./isobar run` share.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "config/load.h"

namespace isobar {

/// Most processes of one machine that --ranks starts.
inline constexpr std::int64_t kMostLocalRanks = 256;

struct RunArguments {
  Settings settings;
  std::int64_t ranks = 0;  ///< 0 = not given; else it stands in `settings` as run.ranks, behind all others
  std::filesystem::path run_dir;  ///< "" = a new folder below runs/
  bool resumes_by_key = false;    ///< settings.resume came from the key train.resume
  bool help = false;              ///< --help was given; `help_text` is the page
  std::string help_text;
};

class OptionParser;

/// --preset, --config and --set, which fill `out`.
void add_settings(OptionParser& app, Settings& out, const std::filesystem::path& home);

/// --preset NAME, --config FILE (again and again), --set KEY=VALUE (again and again), --ranks N,
/// --run-dir DIR, --resume RUN, --help. Anything else is an Error (exit code 2) with the nearest known
/// option.
RunArguments parse_run_arguments(const std::vector<std::string>& arguments, const LessonInfo& lesson,
                                 const std::filesystem::path& home);

}  // namespace isobar
