#pragma once
// What a job asks of a cluster: fields by name, from a cluster's profile and from the command line.
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "jobs/job_values.h"

namespace isobar {

/// One field: "cpus-per-task" is the key cpus_per_task of a profile and --cpus-per-task of the command line.
struct JobField {
  std::string key;
  std::string table;  ///< of the profile: "job" or "container"
  std::string help;
  std::string slurm;  ///< the option of Slurm that takes it, "--cpus-per-task="; "" = none
  CheckValue check;

  std::string option() const;  ///< "--cpus-per-task"
};

/// All fields that have one value, in the order in which people read them.
const std::vector<JobField>& job_fields();
const JobField& job_field(const std::string& key);

struct JobSettings {
  std::string title;               ///< of the cluster, "" = none was named
  std::vector<std::string> notes;  ///< what a person should know of it
  std::map<std::string, std::string> values;
  std::vector<std::string> modules;  ///< environment modules that are loaded
  std::vector<std::string> volumes;  ///< of the container
  std::map<std::string, std::string> environment;
  std::vector<std::string> code;  ///< lines of bash, from a file that the user named
  std::string code_from;          ///< that file

  /// "" where nobody said.
  std::string value(const std::string& key) const;
  std::int64_t number(const std::string& key, std::int64_t otherwise) const;
  /// Checked by its field's rule. Error (exit code 2) that names `place`.
  void set(const std::string& key, const std::string& text, const ValuePlace& place);
  void add_module(const std::string& text, const ValuePlace& place);
  void add_volume(const std::string& text, const ValuePlace& place);
  void add_variable(const std::string& name, const std::string& text, const ValuePlace& place);

  std::int64_t nodes() const { return number("nodes", 1); }
  std::int64_t ranks_per_node() const { return number("ranks_per_node", 1); }
  std::int64_t ranks() const { return nodes() * ranks_per_node(); }
  bool has_gpus() const { return number("gpus_per_node", 0) > 0; }
  bool has_container() const;
  /// The most that one start can use, of settings that are complete: GPUs times the hours of `time`.
  double gpu_hours() const;
  /// So often it may start, the first time included.
  std::int64_t starts() const { return number("restarts", 0) + 1; }
};

/// Slurm warns a job so many seconds before its time is up unless the field `warn` says otherwise.
inline constexpr std::int64_t kWarn_s = 120;

/// Fills in what has a default (one node, one rank, 30 minutes) and checks what concerns several fields.
/// Error (exit code 2) for a time that is no longer than twice the warning, a container without image.
void complete(JobSettings& settings);

/// Names of the shipped profiles (submit/profiles/*.toml below `home`), sorted, without the template.
std::vector<std::string> profile_names(const std::filesystem::path& home);

/// The profile `name`: a shipped one, or the path of a file (a '/' or ".toml" in it). Strict: an unknown key
/// is an Error (exit code 2) with file:line:column and the nearest one, and so is a value that its rule
/// refuses. Lines of code ([code] lines) are taken only from a file that is named by its path.
JobSettings read_profile(const std::filesystem::path& home, const std::string& name);

/// Reads them from text; `name` stands in front of line and column, `may_have_code`: [code] is allowed.
JobSettings parse_profile(const std::string& text, const std::string& name, bool may_have_code);

}  // namespace isobar
