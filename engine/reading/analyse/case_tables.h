#pragma once
// Runs side by side, and two of them against each other, as tables that terminal, page and window show.
#include <string>
#include <vector>

#include "analyse/run_case.h"
#include "analyse/run_comparison.h"
#include "log/run_files.h"
#include "log/table.h"

namespace isobar {

/// "A", "B", ..., "Z", "27", ...
std::string case_label(std::size_t index);

/// One row a case: what it is, and each figure that one of them reports; `against` is
/// compare_with_first(cases).
Table cases_table(const std::vector<RunCase>& cases, const std::vector<RunComparison>& against);
/// What communication costs a step of each case whose ranks talk.
Table comm_table(const std::vector<RunCase>& cases);
/// The mean time of a step by stage, in both, and their difference; its terms sum to that of the step.
Table stages_table(const RunComparison& found, const std::string& base, const std::string& other);
/// Validation losses at the same places.
Table losses_table(const RunComparison& found, const std::string& base, const std::string& other);

/// The keys that differ. A log of another program has few: a key that it lacks does not differ.
std::vector<KeyRow> differing_keys(const std::vector<RunCase>& cases);
/// The rows of settings, or those of the environment, in at most `most` cases.
Table keys_table(const std::vector<KeyRow>& keys, bool environment, std::size_t most);
/// Whether a case has no run.toml.
bool some_settings_unknown(const std::vector<RunCase>& cases);

}  // namespace isobar
