#pragma once
// How near a learner's numbers lie to what was measured, over time, and how near those of the formulas do.
#include <string>
#include <vector>

#include "course/progress.h"

namespace isobar {

struct CalibrationPoint {
  std::string id;
  std::string time;
  double predicted = 0;
  double measured = 0;
  /// |ln(predicted / measured)|: 0 = right, 0.69 = twice or half of it.
  double error() const;
};

struct Calibration {
  std::vector<CalibrationPoint> you;       ///< the first reveal of each question, in order of time
  std::vector<CalibrationPoint> formulas;  ///< predicted against measured steps of the runs that they rest on
  std::size_t asked = 0, right = 0;        ///< sums over all kinds
  /// exp(median error): "off by a factor of 1.4"; 1 without any.
  double typical_factor_you() const;
  double typical_factor_formulas() const;
};

Calibration calibrate(const CourseProgress& progress);

/// "your numbers are typically off by a factor of 1.4 (7 numbers), those of the formulas by 1.1"; "" while
/// there is no number.
std::string numbers_sentence(const Calibration& calibration);
/// "3 of 4 first answers were right; your numbers are ..."; "" before the first answer.
std::string calibration_sentence(const Calibration& calibration);

}  // namespace isobar
