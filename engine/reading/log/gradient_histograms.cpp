#include "log/gradient_histograms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/number_text.h"
#include "core/text.h"
#include "log/event.h"
#include "record/run_folder.h"

namespace isobar {
namespace {

constexpr int kBar = 50;                                    // characters of the largest row
constexpr double kShownShare = 1e-5;                        // rows of less at either end are taken together
constexpr int kDefaultScale = 16;                           // PyTorch's first loss scale is 2^16
constexpr std::int64_t kMostCount = std::int64_t{1} << 50;  // no sum of them overflows

/// The power of two that the key "e-20" names.
std::optional<int> exponent_of(std::string_view key) {
  if (!key.starts_with('e')) return std::nullopt;
  const auto out = number_of<int>(key.substr(1));
  return out && *out >= GradientHistogram::kLeast && *out <= GradientHistogram::kMost ? out : std::nullopt;
}

std::int64_t count_of(double value) {
  return value >= 0 && value < static_cast<double>(kMostCount) ? static_cast<std::int64_t>(value) : 0;
}

std::string percent(std::int64_t part, std::int64_t all) {
  return fmt::format("{:.3g} %", all > 0 ? 100 * static_cast<double>(part) / static_cast<double>(all) : 0);
}

std::string row(const std::string& name, std::int64_t count, std::int64_t all, std::int64_t largest) {
  const double share = largest > 0 ? static_cast<double>(count) / static_cast<double>(largest) : 0;
  const auto length = static_cast<std::size_t>(std::ceil(share * kBar));
  return fmt::format("  {:>9}  {:>8}  {}", name, percent(count, all), std::string(length, '#'));
}

/// First and last power of two whose row is worth its line.
std::pair<int, int> shown_range(const GradientHistogram& histogram) {
  const double least = kShownShare * static_cast<double>(histogram.values());
  int first = GradientHistogram::kMost;
  int last = GradientHistogram::kLeast;
  for (int e = GradientHistogram::kLeast; e <= GradientHistogram::kMost; ++e) {
    if (static_cast<double>(histogram.at(e)) <= least) continue;
    first = std::min(first, e);
    last = std::max(last, e);
  }
  return {first, last};
}

std::string limit_text(int exponent) {
  if (exponent == kHalfNormal) return "  - - - - 2^-14: smaller ones have fewer digits in fp16";
  if (exponent == kHalfSubnormal) return "  - - - - 2^-24: smaller ones are zero in fp16";
  return "  - - - - 2^16: larger ones are infinite in fp16";
}

std::string scale_text(const GradientHistogram& histogram) {
  if (histogram.scale != 1) return fmt::format("the loss scaled by {:.6g}", histogram.scale);
  return "the loss not scaled";
}

void take_histogram(const Event& event, std::vector<GradientHistogram>& all) {
  if (event.kind() == "run") {
    const std::int64_t from = event.integer("from_step");
    std::erase_if(all, [&](const GradientHistogram& histogram) { return histogram.step >= from; });
  }
  if (event.kind() != "gradients") return;
  GradientHistogram histogram;
  histogram.step = event.integer("step", -1);
  const double scale = event.number("scale", 1);
  if (histogram.step < 0 || !(scale > 0) || !std::isfinite(scale)) return;
  histogram.scale = scale;
  histogram.zero = count_of(event.number("zero"));
  histogram.nonfinite = count_of(event.number("nonfinite"));
  for (const EventField& field : event.fields()) {
    const auto exponent = exponent_of(field.key);
    double value = 0;
    if (!exponent || !field.number(value)) continue;
    histogram.counts[static_cast<std::size_t>(*exponent - GradientHistogram::kLeast)] = count_of(value);
  }
  if (!all.empty() && all.back().step >= histogram.step) return;
  if (all.size() == kMostHistograms) all.erase(all.begin());
  all.push_back(histogram);
}

}  // namespace

std::vector<GradientHistogram> read_gradient_histograms(const std::filesystem::path& run) {
  const std::filesystem::path file = RunFolder{run}.stream_file(0);
  std::vector<GradientHistogram> out;
  EventLog(file).read_all([&](const Event& event) { take_histogram(event, out); });
  if (out.empty()) {
    throw Error("the run has no histograms of its gradients", file.string(),
                "--set amp.histogram_every=10 writes one every 10 steps, in lessons that have the key");
  }
  return out;
}

const GradientHistogram& histogram_at(const std::vector<GradientHistogram>& all, std::int64_t step) {
  const auto behind =
      step < 0 ? all.end() : std::ranges::upper_bound(all, step, {}, &GradientHistogram::step);
  if (behind == all.begin()) {
    throw Error(fmt::format("there is no histogram at or before step {}", step), "--step",
                all.empty() ? "" : fmt::format("the first one is of step {}", all.front().step));
  }
  return *(behind - 1);
}

std::vector<std::string> gradient_lines(const GradientHistogram& histogram) {
  const std::int64_t all = histogram.values();
  std::vector<std::string> out;
  out.push_back(fmt::format("gradients of step {}, {}: {} values", histogram.step, scale_text(histogram),
                            human_count(all)));
  out.push_back(
      fmt::format("  in fp16 {} of them have fewer digits and {} become zero; {} are zero already{}",
                  percent(histogram.below(kHalfNormal) - histogram.below(kHalfSubnormal), all),
                  percent(histogram.below(kHalfSubnormal), all), percent(histogram.zero, all),
                  histogram.nonfinite > 0 ? "; not finite: " + percent(histogram.nonfinite, all) : ""));
  if (histogram.scale == 1) {
    out.push_back(fmt::format("  with the loss scaled by 65536 it would be {} and {}",
                              percent(histogram.below(kHalfNormal - kDefaultScale) -
                                          histogram.below(kHalfSubnormal - kDefaultScale),
                                      all),
                              percent(histogram.below(kHalfSubnormal - kDefaultScale), all)));
  }
  const auto [first, last] = shown_range(histogram);
  const std::int64_t largest = std::max(histogram.zero, *std::ranges::max_element(histogram.counts));
  if (histogram.zero > 0) out.push_back(row("zero", histogram.zero, all, largest));
  if (first > last) return out;
  if (histogram.below(first) > 0) out.push_back(row("smaller", histogram.below(first), all, largest));
  for (int e = first; e <= last; ++e) {
    if (e == kHalfNormal || e == kHalfSubnormal || e == kHalfTooLarge) out.push_back(limit_text(e));
    out.push_back(row(fmt::format("2^{}", e), histogram.at(e), all, largest));
  }
  const std::int64_t larger = all - histogram.zero - histogram.nonfinite - histogram.below(last + 1);
  if (larger > 0) out.push_back(row("larger", larger, all, largest));
  return out;
}

Json gradients_json(const std::vector<GradientHistogram>& all, const std::string& run) {
  Json list = Json::array();
  for (const GradientHistogram& histogram : all) {
    Json counts = Json::object();
    for (int e = GradientHistogram::kLeast; e <= GradientHistogram::kMost; ++e) {
      if (histogram.at(e) > 0) counts[std::to_string(e)] = histogram.at(e);
    }
    const auto below_normal = histogram.below(kHalfNormal), below_subnormal = histogram.below(kHalfSubnormal);
    list.push_back(ISOBAR_NAMED(histogram.step, histogram.scale, histogram.values(), histogram.zero,
                                histogram.nonfinite, below_normal, below_subnormal, counts));
  }
  return {{"run", run}, {"histograms", list}};
}

}  // namespace isobar
