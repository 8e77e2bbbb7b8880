#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/find.h"
#include "core/number_text.h"
#include "core/text.h"
#include "core/utf8.h"
#include "jobs/job_settings.h"

namespace isobar {

namespace {

constexpr std::size_t kMostName = 64;
constexpr std::size_t kMostText = 4096;
constexpr std::int64_t kDay_s = 86'400;
constexpr std::int64_t kMostTime_s = 366 * kDay_s;

[[noreturn]] void refuse(const std::string& text, const ValuePlace& place, const std::string& wanted) {
  throw Error(fmt::format("{} cannot be \"{}\"", place.name, printable(text, 40)), place.where, wanted);
}

bool all_of(std::string_view text, std::string_view extra) {
  return std::ranges::all_of(text, [&](char c) {
    return is_name_letter(c) || (c != '\0' && extra.find(c) != std::string_view::npos);
  });
}

std::optional<std::int64_t> whole(std::string_view text, std::int64_t most) {
  const auto value = number_of<std::int64_t>(text);
  return value && text[0] != '-' && *value <= most ? value : std::nullopt;
}

/// Seconds of Slurm's six forms; nothing when it is none of them.
std::optional<std::int64_t> seconds_of(const std::string& text) {
  const std::size_t dash = text.find('-');
  const bool has_days = dash != std::string::npos;
  const auto days = has_days ? whole(text.substr(0, dash), 366) : 0;
  const std::vector<std::string> parts = split(has_days ? text.substr(dash + 1) : text, ':');
  if (!days || parts.size() > 3) return std::nullopt;
  // With days the first part is hours; without, a single part is minutes, two are minutes and seconds.
  std::vector<std::int64_t> units = {3600, 60, 1};
  if (!has_days && parts.size() < 3) units = {60, 1};
  std::int64_t sum = *days * kDay_s;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto value = whole(parts[i], kMostTime_s);
    if (!value || (i > 0 && *value > 59)) return std::nullopt;
    sum += *value * units[i];
  }
  return sum;
}

}  // namespace

std::string WordRule::operator()(const std::string& text, const ValuePlace& place) const {
  const bool good = !text.empty() && text.size() <= most && not_first.find(text[0]) == std::string::npos &&
                    all_of(text, more) && std::ranges::any_of(text, is_name_letter);
  if (!good) refuse(text, place, wanted);
  return text;
}

std::string checked_job_name(const std::string& text, const ValuePlace& place) {
  std::string lower = kNameRule(text, place);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (lower.find("hetjob") != std::string::npos)
    refuse(text, place, "a name without \"hetjob\": Slurm would refuse the account without a reason");
  return text;
}

std::string checked_names(const std::string& text, const ValuePlace& place) {
  for (const std::string& name : split(text, ',')) kNameRule(name, place);
  return text;
}

CheckValue one_of(std::vector<std::string> choices) {
  return [choices = std::move(choices)](const std::string& text, const ValuePlace& place) {
    if (!holds(choices, text)) refuse(text, place, "one of: " + joined(choices));
    return text;
  };
}

CheckValue number_from(std::int64_t least, std::int64_t most) {
  return [=](const std::string& text, const ValuePlace& place) {
    const auto value = whole(text, most);
    if (!value || *value < least)
      refuse(text, place, fmt::format("a whole number from {} to {}", least, most));
    return std::to_string(*value);
  };
}

std::int64_t time_seconds(const std::string& text, const ValuePlace& place) {
  const auto seconds = text.size() > kMostName ? std::nullopt : seconds_of(text);
  if (!seconds || *seconds < 1 || *seconds > kMostTime_s) {
    refuse(text, place,
           "minutes (30), minutes:seconds, hours:minutes:seconds (1:30:00), or days in front (2-12:00:00)");
  }
  return *seconds;
}

std::string checked_time(const std::string& text, const ValuePlace& place) {
  const std::int64_t seconds = time_seconds(text, place);
  const std::string days = seconds >= kDay_s ? fmt::format("{}-", seconds / kDay_s) : "";
  return days + fmt::format("{:02}:{:02}:{:02}", seconds % kDay_s / 3600, seconds / 60 % 60, seconds % 60);
}

std::string checked_memory(const std::string& text, const ValuePlace& place) {
  const char unit = text.empty() ? '\0' : text.back();
  const bool has_unit = unit != '\0' && std::strchr("KMGT", unit) != nullptr;
  const auto value =
      whole(has_unit ? std::string_view(text).substr(0, text.size() - 1) : text, 1'000'000'000);
  if (!value) refuse(text, place, "a number and K, M, G or T, such as 64G; 0 = all of a node's");
  return *value == 0 ? "0" : fmt::format("{}{}", *value, has_unit ? unit : 'M');
}

std::string checked_switches(const std::string& text, const ValuePlace& place) {
  const std::size_t at = text.find('@');
  const auto count = whole(std::string_view(text).substr(0, at), 10'000);
  if (!count || *count < 1)
    refuse(text, place, "a number of switches, such as 1, or 1@10:00 to wait ten minutes");
  const std::string wait = at == std::string::npos ? "" : "@" + checked_time(text.substr(at + 1), place);
  return std::to_string(*count) + wait;
}

std::string checked_gpu_bind(const std::string& text, const ValuePlace& place) {
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  const std::string rest = colon == std::string::npos ? "" : text.substr(colon + 1);
  const std::vector<std::string> numbers = split(rest, ',');
  const bool good_numbers = numbers.size() <= 64 && std::ranges::all_of(numbers, [](const auto& n) {
                              return whole(n, 1000).has_value();
                            });
  const bool plain = colon == std::string::npos && (kind == "none" || kind == "closest");
  const bool mapped = colon != std::string::npos && good_numbers &&
                      (kind == "map_gpu" || (kind == "single" && numbers.size() == 1));
  if (!plain && !mapped) refuse(text, place, "none, closest, single:1 or map_gpu:3,2,1,0");
  return text;
}

std::string checked_path(const std::string& text, const ValuePlace& place) {
  const bool good = text.size() > 1 && text.size() <= 1024 && text[0] == '/' && all_of(text, "/+");
  const std::vector<std::string> parts = split(text, '/');
  if (!good || holds(parts, "..")) refuse(text, place, "an absolute path of letters, digits and ._-+/");
  return text;
}

std::string checked_volume(const std::string& text, const ValuePlace& place) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) refuse(text, place, "FOLDER:FOLDER, such as /scratch/era5:/data");
  checked_path(text.substr(0, colon), place);
  checked_path(text.substr(colon + 1), place);
  return text;
}

std::string checked_variable(const std::string& text, const ValuePlace& place) {
  const bool good = !text.empty() && text.size() <= kMostName && (text[0] < '0' || text[0] > '9') &&
                    std::ranges::all_of(text, [](char c) {
                      return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
                    });
  if (!good) refuse(text, place, "the name of a variable: upper-case letters, digits and '_'");
  if (is_one_of(text, {"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"}) ||
      text.starts_with("SLURM_") || text.starts_with("SBATCH_"))
    refuse(text, place, "another variable: Slurm itself sets the ranks");
  if (is_one_of(text, {"PATH", "IFS", "LD_PRELOAD", "LD_AUDIT", "BASH_ENV", "ENV"}))
    refuse(text, place, "a variable of what is trained: this one decides which programs the script runs");
  return text;
}

std::string checked_text(const std::string& text, const ValuePlace& place) {
  if (text.size() > kMostText) refuse(text, place, fmt::format("at most {} bytes", kMostText));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(std::string_view(text).substr(at));
    if (length == 0) refuse(text, place, "text in UTF-8");
    if (steers(code_point(std::string_view(text).substr(at), length)))
      refuse(text, place, "one line of text without control characters or signs that are not seen");
    at += length;
  }
  return text;
}

}  // namespace isobar
