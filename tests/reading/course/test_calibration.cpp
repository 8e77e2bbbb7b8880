// How near predictions lie to what was measured.
#include "course/calibration.h"
#include "support/catch.h"

using namespace isobar;

namespace {

void answered(CourseProgress& out, const std::string& id, std::optional<double> number) {
  out.answers.push_back({id, "", number, "ms", "time " + std::to_string(out.answers.size()), "", ""});
}

void revealed(CourseProgress& out, std::size_t of, const std::string& outcome, std::optional<double> number,
              std::optional<double> formula_ms = {}, std::optional<double> step_ms = {}) {
  StoredReveal reveal{};
  reveal.id = out.answers[of].id;
  reveal.outcome = outcome;
  reveal.number = number;
  reveal.of = of;
  reveal.formula_ms = formula_ms;
  reveal.step_ms = step_ms;
  out.reveals.push_back(reveal);
}

}  // namespace

TEST_CASE("an error is the logarithm of the factor, whichever way it goes") {
  CHECK(CalibrationPoint{"", "", 2, 1}.error() == Approx(0.693147).epsilon(1e-5));
  CHECK(CalibrationPoint{"", "", 1, 2}.error() == Approx(0.693147).epsilon(1e-5));
  CHECK(CalibrationPoint{"", "", 3, 3}.error() == 0);
}

TEST_CASE("first answers count, in order, once each") {
  CourseProgress progress;
  answered(progress, "02.a", 20);
  answered(progress, "02.b", 5);
  answered(progress, "02.a", 10);  // a second try
  answered(progress, "02.c", std::nullopt);
  answered(progress, "02.d", 7);  // never revealed
  revealed(progress, 0, "not right", 10);
  revealed(progress, 1, "right", 5.0, 30, 40);
  revealed(progress, 2, "right", 10);
  revealed(progress, 0, "right", 20);  // once more: the first time counts
  revealed(progress, 3, "right", std::nullopt);
  const Calibration calibration = calibrate(progress);
  CHECK(calibration.asked == 3);
  CHECK(calibration.right == 2);
  REQUIRE(calibration.you.size() == 2);
  CHECK(calibration.you[0].id == "02.a");
  CHECK(calibration.you[0].predicted == 20);
  CHECK(calibration.you[0].measured == 10);
  CHECK(calibration.you[0].time == "time 0");
  CHECK(calibration.typical_factor_you() == Approx(std::sqrt(2.0)));
  REQUIRE(calibration.formulas.size() == 1);
  CHECK(calibration.formulas[0].predicted == 30);
  CHECK(calibration.typical_factor_formulas() == Approx(4.0 / 3));
}

TEST_CASE("a question that was answered twice before its first reveal counts by that reveal") {
  CourseProgress progress;
  answered(progress, "02.a", 20);
  answered(progress, "02.a", 10);
  revealed(progress, 1, "right", 10);
  const Calibration calibration = calibrate(progress);
  CHECK(calibration.asked == 1);
  CHECK(calibration.right == 1);
  REQUIRE(calibration.you.size() == 1);
  CHECK(calibration.you[0].predicted == 10);
}

TEST_CASE("numbers without a ratio are no points, and nothing answered is a factor of 1") {
  CHECK(calibrate({}).typical_factor_you() == 1);
  CHECK(calibrate({}).asked == 0);
  CourseProgress progress;
  answered(progress, "02.a", 0);
  answered(progress, "02.b", 5);
  revealed(progress, 0, "not right", 10);
  revealed(progress, 1, "not right", 0);
  CHECK(calibrate(progress).asked == 2);
  CHECK(calibrate(progress).you.empty());
  CHECK(calibrate(progress).typical_factor_you() == 1);
}
