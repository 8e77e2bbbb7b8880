#pragma once
// Cluster profiles: what is known of a machine, as TOML.
#include <filesystem>
#include <string>
#include <vector>

#include "jobs/job_settings.h"

namespace isobar {

/// Names of the shipped profiles (submit/profiles/*.toml below `home`), sorted, without the template.
std::vector<std::string> profile_names(const std::filesystem::path& home);

/// The profile `name`: a shipped one, or the path of a file (a '/' or ".toml" in it). Strict: an unknown key
/// is an Error (exit code 2) with file:line:column and the nearest one, and so is a value that its rule
/// refuses. Lines of code ([code] lines) are taken only from a file that is named by its path.
JobSettings read_profile(const std::filesystem::path& home, const std::string& name);

/// The same from text; `name` stands in front of line and column, `may_have_code`: [code] is allowed.
JobSettings parse_profile(const std::string& text, const std::string& name, bool may_have_code);

}  // namespace isobar
