#include "core/text.h"
#include "record/run_summary.h"
#include "support/catch.h"
#include "support/says.h"

using namespace isobar;

namespace {

RunSummary at_a_third_of_the_peak() {
  RunSummary out;
  out.samples_per_s = 100;
  out.step_us = 1e4;
  out.flops_per_sample = 3e8;
  out.peak_flops_per_s = 9e10;
  return out;
}

}  // namespace

TEST_CASE("MFU leaves out operations that are done again, HFU has them") {
  RunSummary summary = at_a_third_of_the_peak();
  CHECK(summary.hfu() == summary.mfu());
  CHECK_THAT(joined(summary_lines(summary), ";"), says("MFU 33.3 % of 90.0 GFLOP/s") && !says("HFU"));
  CHECK_THAT(summary_event(summary).text(), !says("hfu"));
  summary.redone_flops_per_sample = 1e8;
  CHECK(summary.mfu() == Approx(1 / 3.0));
  CHECK(summary.hfu() == Approx(4 / 9.0));
  CHECK_THAT(joined(summary_lines(summary), ";"), says("MFU 33.3 %, HFU 44.4 % of 90.0 GFLOP/s"));
  CHECK_THAT(summary_event(summary).text(), says("\"hfu\":0.444"));
}

TEST_CASE("a peak that was exceeded with what is done again was measured too low") {
  RunSummary summary = at_a_third_of_the_peak();
  summary.samples_per_s = 250;
  CHECK_FALSE(summary.peak_is_too_low());
  summary.redone_flops_per_sample = 1e8;
  CHECK(summary.peak_is_too_low());
  CHECK(summary.hfu() == 0);
  CHECK(summary.mfu() == 0);
}
