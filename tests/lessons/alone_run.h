#pragma once
// A lesson that stands alone, as a learner starts it.
#include <filesystem>
#include <string>
#include <vector>

#include "lessons/lesson_run.h"

namespace isobar {

/// ./isobar run LESSON --ranks N; `run` may be empty where nothing is to be written.
inline ProcessResult run_alone(const std::string& lesson, int ranks, const std::filesystem::path& run,
                               const std::vector<std::string>& sets,
                               const std::vector<std::string>& more = {},
                               const ProcessOptions& options = {}) {
  std::vector<std::string> words = {bin_folder(ISOBAR_BIN) + "/isobar-run", "run", lesson, "--ranks",
                                    std::to_string(ranks)};
  if (!run.empty()) words.insert(words.end(), {"--run-dir", run.string()});
  for (const std::string& set : sets) words.insert(words.end(), {"--set", set});
  words.insert(words.end(), more.begin(), more.end());
  return run_process(words, options);
}

}  // namespace isobar
