#pragma once
// What runs of questions showed on another machine: lessons/NN_name/recorded/answers.jsonl, a line for each.
// A reveal takes it where other programs disturb times; tests hold sentences of the questions against it.
#include <filesystem>
#include <optional>
#include <string>

#include "course/rules.h"

namespace isobar {

/// The truth that was recorded for this variant, its source "recorded on DEVICE, DATE"; nothing without one.
/// Error (exit code 2) for a line that cannot be read.
std::optional<Truth> recorded_truth(const std::filesystem::path& home, const Question& question);

/// The line of a truth that was measured on this machine.
std::string recorded_line(const Question& question, const Truth& truth);

/// Where the lines of a lesson are.
std::filesystem::path recorded_file(const std::filesystem::path& home, const std::string& lesson);

}  // namespace isobar
