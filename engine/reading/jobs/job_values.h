#pragma once
// Values that go to Slurm: each is parsed, and printed back in one form. What does not parse never reaches a
// script. All of them throw Error (exit code 2) that says what is wrong at `place`.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace isobar {

/// Where a value came from: "--account" of the command line, or "job.account" at file:line:column.
struct ValuePlace {
  std::string name;
  std::string where;
};

/// The rule of a kind of value: what `text` says in the one form in which it is printed.
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

}  // namespace isobar
