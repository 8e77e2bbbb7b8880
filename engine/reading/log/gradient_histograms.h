#pragma once
// The histograms of gradients that a run wrote (amp.histogram_every), and how a person reads one.
#include <filesystem>
#include <string>
#include <vector>

#include "core/json.h"
#include "record/gradient_histogram.h"

namespace isobar {

inline constexpr std::size_t kMostHistograms = 4096;

/// The newest kMostHistograms of a run folder by step, of a resumed run those of its newest attempt; Error
/// (exit code 2) when it has none.
std::vector<GradientHistogram> read_gradient_histograms(const std::filesystem::path& run);

/// The newest histogram at or before `step`, the last one for a negative step; Error (exit code 2) when there
/// is none so early.
const GradientHistogram& histogram_at(const std::vector<GradientHistogram>& all, std::int64_t step);

/// What fp16 makes of them in sentences, and a row for each power of two with the limits of fp16 between the
/// rows.
std::vector<std::string> gradient_lines(const GradientHistogram& histogram);

/// One object: run, histograms [{step, scale, values, zero, nonfinite, below_normal, below_subnormal, counts
/// {"-20": n}}].
Json gradients_json(const std::vector<GradientHistogram>& all, const std::string& run);

}  // namespace isobar
