// Schedules on a clock of events against published formulas.
#include <algorithm>

#include "pipeline/course.h"
#include "support/catch.h"

namespace isobar::test_course {

namespace {

PipelineCourse run(PipelineForm form, int ranks, int chunks, int parts, double forward, double input,
                   double weight, double message = 0) {
  const PipelineSchedule schedule = make_schedule(form, ranks, chunks, parts);
  return course_of(schedule, PipelineCosts::equal(schedule.stages, forward, input, weight, message));
}

}  // namespace

TEST_CASE("gpipe and 1f1b are idle for (p - 1) / (m + p - 1) of a step, (p - 1) / m of the ideal one") {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (int parts = 1; parts <= 16; ++parts) {
      const double step = static_cast<double>(ranks - 1) / (parts + ranks - 1);
      CHECK(bubble_of_step(ranks, parts) == Approx(step));
      CHECK(bubble_of_ideal(ranks, parts) == Approx(static_cast<double>(ranks - 1) / parts));
      for (const PipelineForm form : {PipelineForm::gpipe, PipelineForm::one_f_one_b}) {
        const PipelineCourse course = run(form, ranks, 1, parts, 3, 4, 2);
        CHECK(course.idle_share() == Approx(step).margin(1e-12));
        CHECK(course.idle_of_ideal() == Approx(bubble_of_ideal(ranks, parts)).margin(1e-12));
        CHECK(course.step_us == Approx(9 * (parts + ranks - 1)));
        CHECK(idle_us(form, ranks, 3, 4, 2) == Approx(course.step_us - 9 * parts).margin(1e-9));
      }
    }
  }
}

TEST_CASE("v stages a rank shorten the bubble v times") {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (int chunks = 2; chunks <= 4; ++chunks) {
      for (int rounds = 1; rounds <= 3; ++rounds) {
        const int parts = rounds * ranks;
        const PipelineCourse course = run(PipelineForm::interleaved, ranks, chunks, parts, 2, 3, 1);
        const double step = static_cast<double>(ranks - 1) / (chunks * parts + ranks - 1);
        CHECK(bubble_of_step(ranks, parts, chunks) == Approx(step));
        CHECK(course.idle_share() == Approx(step).margin(1e-12));
        CHECK(course.idle_of_ideal() == Approx(bubble_of_ideal(ranks, parts, chunks)).margin(1e-12));
      }
    }
  }
}

TEST_CASE("zb_h1 is idle for (p - 1) (F + I - W): a third of 1f1b where all three are equal") {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (int parts = ranks; parts <= 16; ++parts) {
      const PipelineCourse course = run(PipelineForm::zb_h1, ranks, 1, parts, 1, 1, 1);
      const PipelineCourse whole = run(PipelineForm::one_f_one_b, ranks, 1, parts, 1, 1, 1);
      CHECK(course.step_us - 3 * parts == Approx(ranks - 1).margin(1e-12));
      CHECK(3 * (course.step_us - 3 * parts) == Approx(whole.step_us - 3 * parts).margin(1e-12));
      CHECK(idle_us(PipelineForm::zb_h1, ranks, 1, 1, 1) == Approx(ranks - 1).margin(1e-12));
    }
  }
  CHECK(run(PipelineForm::zb_h1, 4, 1, 8, 4, 5, 3).step_us - 12 * 8 == Approx(3 * (4 + 5 - 3)));
}

TEST_CASE("zb_v only fills and drains: a forward pass of a stage for each rank but one") {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (int parts = 2 * ranks - 1; parts <= 16; ++parts) {
      const PipelineCourse course = run(PipelineForm::zb_v, ranks, 2, parts, 1, 1, 1);
      CHECK(course.step_us - 6 * parts == Approx(ranks - 1).margin(1e-12));
      CHECK(idle_us(PipelineForm::zb_v, ranks, 1, 1, 1) == Approx(ranks - 1).margin(1e-12));
      // Between its first and its last action no rank waits.
      for (int rank = 0; rank < ranks; ++rank) {
        double first = course.step_us, last = 0;
        for (const PlacedAction& placed : course.actions) {
          if (placed.rank != rank) continue;
          first = std::min(first, placed.begin_us);
          last = std::max(last, placed.end_us);
        }
        CHECK(last - first == Approx(course.busy_us[static_cast<std::size_t>(rank)]));
      }
    }
  }
}

TEST_CASE("micro-batches kept: all of gpipe, as many as ranks are behind of 1f1b") {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (int parts = 1; parts <= 16; ++parts) {
      const auto kept = [&](PipelineForm form, int chunks) {
        return run(form, ranks, chunks, parts, 1, 1, 1).peak_kept;
      };
      const std::vector<int> gpipe = kept(PipelineForm::gpipe, 1), turn = kept(PipelineForm::one_f_one_b, 1),
                             split = kept(PipelineForm::zb_h1, 1), v = kept(PipelineForm::zb_v, 2);
      for (int rank = 0; rank < ranks; ++rank) {
        const auto at = static_cast<std::size_t>(rank);
        CHECK(gpipe[at] == parts);
        CHECK(turn[at] == std::min(parts, ranks - rank));
        CHECK(split[at] == std::min(parts, ranks));
        CHECK(v[at] <= 2 * std::min(parts, ranks));
        for (const int chunks : {2, 3, 4}) {
          if (parts % ranks != 0) continue;
          const int ahead = 2 * (ranks - rank - 1) + (chunks - 1) * ranks;
          CHECK(kept(PipelineForm::interleaved, chunks)[at] == std::min(chunks * parts, ahead + 1));
        }
      }
    }
  }
}

TEST_CASE("messages take their time, one behind the other on a link") {
  // 0: F0 F1 B0 B1; the second message waits for the first, which is longer than a forward pass.
  const PipelineCourse course = run(PipelineForm::gpipe, 2, 1, 2, 1, 1, 0, 5);
  const auto begin_of = [&](const PipelineAction& action) {
    return std::find_if(course.actions.begin(), course.actions.end(),
                        [&](const PlacedAction& placed) { return placed.action == action; })
        ->begin_us;
  };
  CHECK(begin_of({1, PipelineWork::forward, 0}) == Approx(6));
  CHECK(begin_of({1, PipelineWork::forward, 1}) == Approx(11));
  CHECK(begin_of({0, PipelineWork::backward, 0}) == Approx(18));
  CHECK(begin_of({0, PipelineWork::backward, 1}) == Approx(23));
  CHECK(course.step_us == Approx(24));
  // Both turns of a V lie within a rank.
  CHECK(run(PipelineForm::zb_v, 1, 2, 3, 1, 1, 1, 100).step_us == Approx(18));
}

TEST_CASE("stages of different length: the longest sets the pace") {
  const PipelineSchedule schedule = make_schedule(PipelineForm::one_f_one_b, 2, 1, 8);
  const PipelineCourse course = course_of(schedule, {{3, 1}, {3, 1}, {3, 1}, 0, {}, 0});
  CHECK(course.busy_us[0] == Approx(72));
  CHECK(course.busy_us[1] == Approx(24));
  CHECK(course.step_us == Approx(72));
  CHECK(course.idle_share() == Approx(1.0 / 3));
  CHECK(course.idle_of_ideal() == Approx(0.5));
}

TEST_CASE("ranks that share processors: each takes longer while more of them work") {
  const PipelineSchedule schedule = make_schedule(PipelineForm::gpipe, 4, 1, 8);
  PipelineCosts costs = PipelineCosts::equal(4, 1, 1, 1);
  for (const double at_once : {4.0, 8.0}) {
    costs.at_once = at_once;
    CHECK(course_of(schedule, costs).step_us == Approx(33));
  }
  costs.at_once = 1;  // one processor is never idle
  const PipelineCourse one = course_of(schedule, costs);
  CHECK(one.step_us == Approx(4 * 8 * 3));
  CHECK(one.idle_share() < bubble_of_step(4, 8));
  costs.at_once = 2;
  const double two = course_of(schedule, costs).step_us;
  CHECK(two < one.step_us);
  CHECK(two > 4 * 8 * 3 / 2);
  // Alone at first and last, two by two between: as if each had a processor.
  costs = PipelineCosts::equal(2, 1, 1, 0);
  costs.at_once = 2;
  CHECK(course_of(make_schedule(PipelineForm::gpipe, 2, 1, 3), costs).step_us == Approx(8));
}

}  // namespace isobar::test_course
