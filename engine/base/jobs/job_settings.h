#pragma once
// What a job asks of a cluster: values that go to Slurm, each parsed and printed back in one form, so that
// what does not parse never reaches a script; and fields of them by name, from a cluster's profile and from
// the command line. Whatever is wrong is an Error (exit code 2) that names its place.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace isobar {

/// Where a value came from: "--account" of the command line, or "job.account" at file:line:column.
struct ValuePlace {
  std::string name;
  std::string where;
};

/// Checks a value, and returns it in the form in which it is printed.
using CheckValue = std::function<std::string(const std::string& text, const ValuePlace& place)>;

/// A word of letters, digits, '.', '_', '-' and `more`.
struct WordRule {
  std::size_t most = 64;  ///< letters; at least one
  std::string_view more = "";
  std::string_view not_first = "-.";
  const char* wanted = "1 to 64 letters, digits, '.', '_' and '-', not beginning with '-' or '.'";

  std::string operator()(const std::string& text, const ValuePlace& place) const;
};
inline constexpr WordRule kNameRule = {};
/// A feature, or several with & | * ( ) [ ] as Slurm has them: "gpu&hbm80g", "[a|b]".
inline constexpr WordRule kConstraintRule = {128, "&|*()[],", "-.",
                                             "features of nodes, such as gpu or gpu&hbm80g or [a|b]"};
inline constexpr WordRule kImageRule = {
    512, "/:@+", "-", "the name of an image, such as docker:user/isobar:1 or /shared/isobar.sif"};
inline constexpr WordRule kModuleRule = {128, "/+", "-.",
                                         "the name of an environment module, such as cuda/13.0"};

/// A name without "hetjob": Slurm takes such a job for a part of several and refuses its account.
std::string checked_job_name(const std::string& text, const ValuePlace& place);
/// Names with commas between them.
std::string checked_names(const std::string& text, const ValuePlace& place);
CheckValue one_of(std::vector<std::string> choices);
/// A whole number.
CheckValue number_from(std::int64_t least, std::int64_t most);
/// "30" (minutes), "5:00", "1:30:00", "2-12", "2-12:30" or "2-12:30:00" as "2-12:30:00" or "01:30:00"; at
/// least a second, at most a year.
std::string checked_time(const std::string& text, const ValuePlace& place);
/// Seconds of what `checked_time` returns or takes.
std::int64_t time_seconds(const std::string& text, const ValuePlace& place);
/// "64G": a number, and K, M, G or T (M without one); 0 = all of a node's.
std::string checked_memory(const std::string& text, const ValuePlace& place);
/// "1", or with the longest time to wait for so few switches "1@00:10:00".
std::string checked_switches(const std::string& text, const ValuePlace& place);
/// none, closest, single:N or map_gpu:0,1,2.
std::string checked_gpu_bind(const std::string& text, const ValuePlace& place);
/// "/scratch:/data": two absolute paths of letters, digits and ._-+/ without a ".." in them.
std::string checked_volume(const std::string& text, const ValuePlace& place);
/// An absolute path of the same letters.
std::string checked_path(const std::string& text, const ValuePlace& place);
/// The name of a variable: upper-case letters, digits and '_'; none of those that Slurm or a launcher sets.
std::string checked_variable(const std::string& text, const ValuePlace& place);

/// Any text for one line that a person can trust to be what it looks like: valid UTF-8 without control
/// characters and without signs that turn the direction of writing; at most 4,096 bytes.
std::string checked_text(const std::string& text, const ValuePlace& place);

/// One field: "cpus-per-task" is the key cpus_per_task of a profile and --cpus-per-task of the command line.
struct JobField {
  std::string key;
  std::string table;  ///< table of the profile: "job" or "container"
  std::string help;
  std::string slurm;  ///< the option of Slurm that takes it, "--cpus-per-task="; "" = none
  CheckValue check;

  std::string option() const;  ///< "--cpus-per-task"
};

/// All fields that have one value, in the order in which people read them.
const std::vector<JobField>& job_fields();
const JobField& job_field(const std::string& key);

struct JobSettings {
  std::string title;               ///< name of the cluster, "" = none was named
  std::vector<std::string> notes;  ///< what a person should know of it
  std::map<std::string, std::string> values;
  std::vector<std::string> modules;  ///< environment modules that are loaded
  std::vector<std::string> volumes;  ///< FOLDER:FOLDER that the container sees
  std::map<std::string, std::string> environment;
  std::vector<std::string> code;  ///< lines of bash, from a file that the user named
  std::string code_from;          ///< the name of this file

  /// "" where none was given.
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

/// Slurm warns a job so many seconds before its time is up, unless the field `warn` has another number.
inline constexpr std::int64_t kWarn_s = 120;

/// Fills in what has a default (one node, one rank, 30 minutes) and checks what concerns several fields.
/// Error (exit code 2) for a time that is no longer than twice the warning, a container without image.
void complete(JobSettings& settings);

/// Names of the shipped profiles (submit/profiles/*.toml below `home`), sorted, without the template.
std::vector<std::string> profile_names(const std::filesystem::path& home);

/// The file of the profile `name`. Error (exit code 2) for a name that is neither a path nor a shipped one.
std::filesystem::path profile_file(const std::filesystem::path& home, const std::string& name);

/// The profile `name`: a shipped one, or the path of a file (a '/' or ".toml" in it). Strict: an unknown key
/// is an Error (exit code 2) with file:line:column and the nearest one, and so is a value that its rule
/// refuses. Lines of code ([code] lines) are taken only from a file that is named by its path.
JobSettings read_profile(const std::filesystem::path& home, const std::string& name);

/// Reads them from text; `name` stands in front of line and column, `may_have_code`: [code] is allowed.
JobSettings parse_profile(const std::string& text, const std::string& name, bool may_have_code);

}  // namespace isobar
