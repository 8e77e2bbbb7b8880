#include "course/calibration.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "analyse/spread.h"
#include "core/text.h"

namespace isobar {
namespace {

double typical_factor(const std::vector<CalibrationPoint>& points) {
  std::vector<double> errors;
  for (const CalibrationPoint& point : points) errors.push_back(point.error());
  return std::exp(Spread(errors).median());
}

/// Only two positive numbers have a ratio.
void add_point(std::vector<CalibrationPoint>& points, const StoredReveal& reveal, const std::string& time,
               std::optional<double> predicted, std::optional<double> measured) {
  if (predicted && measured && *predicted > 0 && *measured > 0)
    points.push_back({reveal.id, time, *predicted, *measured});
}

}  // namespace

double CalibrationPoint::error() const { return std::abs(std::log(predicted / measured)); }
double Calibration::typical_factor_you() const { return typical_factor(you); }
double Calibration::typical_factor_formulas() const { return typical_factor(formulas); }

Calibration calibrate(const CourseProgress& progress) {
  Calibration out;
  std::set<std::string> seen;
  for (const StoredReveal& reveal : progress.reveals) {
    if (reveal.outcome == outcome_name(Outcome::provisional) || !seen.insert(reveal.id).second) continue;
    const StoredAnswer& answer = progress.answers[reveal.of];
    ++out.asked;
    out.right += reveal.outcome == outcome_name(Outcome::right) ? 1U : 0U;
    add_point(out.you, reveal, answer.time, answer.number, reveal.number);
    add_point(out.formulas, reveal, reveal.time, reveal.formula_ms, reveal.step_ms);
  }
  return out;
}

std::string numbers_sentence(const Calibration& calibration) {
  if (calibration.you.empty()) return "";
  std::string out = fmt::format("your numbers are typically off by a factor of {:.2g} ({})",
                                calibration.typical_factor_you(),
                                counted(static_cast<std::int64_t>(calibration.you.size()), "number"));
  if (!calibration.formulas.empty())
    out += fmt::format(", those of the formulas by {:.2g}", calibration.typical_factor_formulas());
  return out;
}

std::string calibration_sentence(const Calibration& calibration) {
  if (calibration.asked == 0) return "";
  const std::string numbers = numbers_sentence(calibration);
  return fmt::format("{} of {} first answers were right{}{}", calibration.right, calibration.asked,
                     numbers.empty() ? "" : "; ", numbers);
}

}  // namespace isobar
