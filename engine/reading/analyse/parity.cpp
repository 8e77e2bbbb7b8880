#include "analyse/parity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

namespace isobar {
namespace {

constexpr double kBand16 = 0.02;
constexpr double kBand = 1e-4;

bool is_16_bit(const std::string& precision) { return precision == "fp16" || precision == "bf16"; }

bool is_same_bits(double one, double other) {
  return std::bit_cast<std::uint64_t>(one) == std::bit_cast<std::uint64_t>(other);
}

/// Relative; infinite where one of them is no number.
double distance(double base, double other) {
  if (is_same_bits(base, other)) return 0;
  const double out = std::fabs(other - base) / std::max(std::fabs(base), 1e-300);
  return std::isfinite(out) ? out : INFINITY;
}

struct Common {
  int steps = 0;       ///< steps that both curves have
  double at_last = 0;  ///< how far apart they are at the last of them
};

Common compare_curves(CurveRef base, CurveRef other, LossesCompared& out) {
  Common common;
  if (!base || !other) return common;
  std::size_t j = 0;
  const auto step = [](CurveRef ref, std::size_t i) { return ref.places->step[ref.curve->row(i)]; };
  for (std::size_t i = 0; i < base.curve->y.size(); ++i) {
    const double at = step(base, i);
    while (j < other.curve->y.size() && step(other, j) < at) ++j;
    if (j == other.curve->y.size()) break;
    if (step(other, j) != at) continue;
    ++out.values;
    const double apart = distance(base.curve->y[i], other.curve->y[j]);
    out.largest = std::max(out.largest, apart);
    common = {common.steps + 1, apart};
    const auto whole = static_cast<std::int64_t>(at);
    if (apart > 0 && (out.unequal_from < 0 || whole < out.unequal_from)) out.unequal_from = whole;
  }
  return common;
}

/// Validation losses over one place, those that are known and go forward.
using Path = std::vector<std::pair<double, double>>;

template <class Place>
Path path_of(const RunView& view, Place RunScores::*place) {
  Path out;
  for (const RunScores& scores : view.scores) {
    const std::optional<double> at = scores.*place;
    if (at >= 0 && std::isfinite(scores.loss) && (out.empty() || *at > out.back().first))
      out.emplace_back(*at, scores.loss);
  }
  return out;
}

double between(const std::pair<double, double>& a, const std::pair<double, double>& b, double share) {
  return a.second + share * (b.second - a.second);
}

double loss_at(const Path& path, double place) {
  for (std::size_t i = 1; i < path.size(); ++i) {
    const double width = path[i].first - path[i - 1].first;
    if (place <= path[i].first)
      return between(path[i - 1], path[i], std::clamp((place - path[i - 1].first) / width, 0.0, 1.0));
  }
  return path.back().second;
}

std::optional<LossesCompared::At> at_common(const Path& base, const Path& other) {
  if (base.size() < 2 || other.size() < 2) return std::nullopt;
  const double place = std::min(base.back().first, other.back().first);
  if (place <= std::max(base.front().first, other.front().first)) return std::nullopt;
  return LossesCompared::At{place, loss_at(base, place), loss_at(other, place)};
}

double least_of(const Path& path) {
  return std::ranges::min_element(path, [](auto& a, auto& b) { return a.second < b.second; })->second;
}

double reached(const Path& path, double loss) {
  for (std::size_t i = 1; i < path.size(); ++i) {
    if (path[i].second > loss) continue;
    const double fall = path[i - 1].second - path[i].second;
    const double share = fall > 0 ? std::clamp((path[i - 1].second - loss) / fall, 0.0, 1.0) : 1;
    return path[i - 1].first + share * (path[i].first - path[i - 1].first);
  }
  return path.back().first;
}

std::optional<LossesCompared::At> time_to_common(const Path& base, const Path& other) {
  if (base.size() < 2 || other.size() < 2) return std::nullopt;
  const double loss = std::max(least_of(base), least_of(other));
  if (loss >= std::min(base.front().second, other.front().second)) return std::nullopt;  // nothing learned
  return LossesCompared::At{loss, reached(base, loss), reached(other, loss)};
}

}  // namespace

const char* parity_name(Parity parity) {
  static constexpr std::array<const char*, 5> kNames = {"unknown", "baseline", "bit-equal", "within band",
                                                        "differs"};
  return kNames[static_cast<std::size_t>(parity)];
}

std::optional<double> least_loss(const RunView& view) {
  const Path path = path_of(view, &RunScores::wall_s);
  if (path.size() < 2) return std::nullopt;
  return least_of(path);
}

double seconds_to(const RunView& view, double loss) {
  return reached(path_of(view, &RunScores::wall_s), loss);
}

double parity_band(const std::string& precision, const std::string& other) {
  return is_16_bit(precision) || is_16_bit(other) ? kBand16 : kBand;
}

std::string LossesCompared::text() const {
  const std::string apart = std::isfinite(largest) ? fmt::format("{:.2g} % apart at most", 100 * largest)
                                                   : "one of them is no number";
  switch (parity) {
    case Parity::bit_equal:
      return "equal to the last bit";
    case Parity::within:
      return fmt::format("alike within {:.2g} %, first unequal at step {} ({})", 100 * band, unequal_from,
                         apart);
    case Parity::differs:
      return fmt::format("different, from step {} on ({})", unequal_from, apart);
    default:
      return "";
  }
}

LossesCompared compare_losses(const RunView& base_view, const RunSeries& base, const RunView& other_view,
                              const RunSeries& other) {
  LossesCompared out;
  out.at_samples =
      at_common(path_of(base_view, &RunScores::samples), path_of(other_view, &RunScores::samples));
  const Path base_time = path_of(base_view, &RunScores::wall_s);
  const Path other_time = path_of(other_view, &RunScores::wall_s);
  out.at_time = at_common(base_time, other_time);
  out.time_to = time_to_common(base_time, other_time);
  const bool trained = base_view.summary.measure.empty() && other_view.summary.measure.empty();
  if (!trained || base_view.source != other_view.source) return out;  // a logged loss may be an epoch's mean
  out.band = parity_band(base_view.summary.precision, other_view.summary.precision);
  const Common losses = compare_curves(base.find("train/loss"), other.find("train/loss"), out);
  const double of_training = out.largest;
  Common scores;
  for (const std::string& name : base.names()) {
    if (name.rfind("valid/", 0) != 0) continue;
    const Common common = compare_curves(base.find(name), other.find(name), out);
    if (name == "valid/loss") scores = common;
  }
  if (out.values == 0) return out;
  if (out.unequal_from < 0) {
    out.parity = Parity::bit_equal;
    return out;
  }
  if (scores.steps <= 1 && losses.steps == 0) return out;                // they meet before any training only
  const double apart = scores.steps > 1 ? scores.at_last : of_training;  // the first is of no training
  out.parity = apart <= out.band ? Parity::within : Parity::differs;
  return out;
}

}  // namespace isobar
