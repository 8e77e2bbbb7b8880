#pragma once
// Makes the runs that questions still need.
#include <filesystem>
#include <optional>
#include <vector>

#include "course/needed_runs.h"
#include "course/question.h"

namespace isobar {

/// The rates of this machine where they were measured and can be read.
std::optional<MachineRates> rates_if_kept();

/// What is missing below runs/, with the rates of this machine where they are kept.
std::vector<FoundRuns> missing_runs(const std::vector<Question>& questions,
                                    const std::filesystem::path& home);

/// Makes them below runs/, in turn; predictions first, which cost nothing. The exit code: 0, that of the
/// first run that failed, or 130 or 143 where a signal asked to stop. `quiet`: no progress is shown.
int make_runs(const std::vector<FoundRuns>& found, const std::filesystem::path& home, bool quiet);

}  // namespace isobar
