// What can run, and what is wrong with what cannot.
#include <algorithm>
#include <random>

#include "pipeline/course.h"
#include "pipeline/schedule.h"
#include "support/catch.h"
#include "support/errors.h"

namespace isobar::test_check_schedule {

namespace {

std::string fault_of(const std::string& csv) {
  return error_of([&] { check_schedule(parse_schedule(csv, "mine.csv"), "mine.csv"); });
}

void check_text(const std::string& csv) { check_schedule(parse_schedule(csv, "mine.csv"), "mine.csv"); }

bool suits(PipelineForm form, int ranks, int chunks, int parts) {
  if (form == PipelineForm::interleaved) return chunks > 1 && parts % ranks == 0;
  return chunks == (form == PipelineForm::zb_v ? 2 : 1);
}

/// Stages on random ranks, and actions drawn from those that can run.
PipelineSchedule random_schedule(std::mt19937_64& random) {
  const auto below = [&](std::size_t end) { return static_cast<int>(random() % end); };
  PipelineSchedule out;
  out.ranks.resize(static_cast<std::size_t>(1 + below(5)));
  out.stages = static_cast<int>(out.ranks.size()) + below(4);
  out.parts = 1 + below(6);
  for (int stage = 0; stage < out.stages; ++stage)
    out.rank_of_stage.push_back(stage < std::ssize(out.ranks) ? stage : below(out.ranks.size()));
  std::shuffle(out.rank_of_stage.begin(), out.rank_of_stage.end(), random);
  const auto last = static_cast<std::size_t>(out.stages) - 1;
  for (int part = 0; part < out.parts; ++part) {
    // Each micro-batch runs to its end before the next: moved below.
    for (std::size_t stage = 0; stage <= last; ++stage)
      out.ranks[static_cast<std::size_t>(out.rank_of_stage[stage])].push_back(
          {static_cast<int>(stage), PipelineWork::forward, part});
    for (std::size_t next = 0; next <= last; ++next) {
      const std::size_t stage = last - next;
      auto& row = out.ranks[static_cast<std::size_t>(out.rank_of_stage[stage])];
      if (below(2) == 0) {
        row.push_back({static_cast<int>(stage), PipelineWork::backward, part});
      } else {
        row.push_back({static_cast<int>(stage), PipelineWork::input, part});
        row.push_back({static_cast<int>(stage), PipelineWork::weight, part});
      }
    }
  }
  return out;
}

}  // namespace

TEST_CASE("every schedule that is made can run") {
  int checked = 0;
  for (const PipelineForm form : {PipelineForm::gpipe, PipelineForm::one_f_one_b, PipelineForm::interleaved,
                                  PipelineForm::zb_h1, PipelineForm::zb_v}) {
    for (int ranks = 1; ranks <= 8; ++ranks) {
      for (int parts = 1; parts <= 16; ++parts) {
        for (int chunks = 1; chunks <= 4; ++chunks) {
          if (!suits(form, ranks, chunks, parts)) continue;
          const PipelineSchedule schedule = make_schedule(form, ranks, chunks, parts);
          check_schedule(schedule, "made");
          CHECK(parse_schedule(to_csv(schedule), "made").ranks == schedule.ranks);
          ++checked;
        }
      }
    }
  }
  CHECK(checked == 4 * 8 * 16 + 3 * (16 + 8 + 5 + 4 + 3 + 2 + 2 + 2));
}

TEST_CASE("actions that are missing, there twice, or both whole and in two are refused") {
  check_text("0F0,0B0");
  check_text("0F0,0I0,0W0");
  CHECK_THAT(fault_of("0F0,0B0,0F0"), Says("rank 0 has 0F0 twice"));
  CHECK_THAT(fault_of("0F0,1F0,1B0,0B0\n2F0"),
             Says("rank 1 lacks 2B0") && Says("of micro-batch 0 at each stage"));
  CHECK_THAT(fault_of("0F0,0B0,0F1,0B1\n1F0,1B0,1B1"), Says("rank 1 lacks 1F1") && Says("0 to 1"));
  CHECK_THAT(fault_of("0F0,0I0"), Says("rank 0 lacks 0W0"));
  CHECK_THAT(fault_of("0F0,0W0"), Says("rank 0 lacks 0I0"));
  CHECK_THAT(fault_of("0F0,0B0,0W0"), Says("rank 0 has 0W0 besides 0B0"));
  CHECK_THAT(fault_of("0F0,0B0,0I0,0W0"), Says("rank 0 has 0I0 besides 0B0"));
  CHECK_THAT(fault_of("0F0,0B0,0F65535"), Says("rank 0 lacks 0F1"));
  CHECK_THAT(fault_of("65535F0,0B0"), Says("is on no rank"));
}

TEST_CASE("an order that its own rank cannot keep is refused") {
  CHECK_THAT(fault_of("0B0,0F0"),
             Says("rank 0 has 0B0 before 0F0, which it needs") && Says("0B0 behind 0F0"));
  CHECK_THAT(fault_of("0F0,0W0,0I0"), Says("rank 0 has 0W0 before 0I0"));
  CHECK_THAT(fault_of("1F0,0F0,1B0,0B0"), Says("rank 0 has 1F0 before 0F0"));
  CHECK_THAT(fault_of("0F0,1F0,0B0,1B0"), Says("rank 0 has 0B0 before 1B0"));
  CHECK_THAT(fault_of("0F0,1F0,0I0,0W0,1B0"), Says("rank 0 has 0I0 before 1B0"));
}

TEST_CASE("ranks that wait for each other are named, with what they wait for") {
  CHECK_THAT(
      fault_of("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1"),
      Says("ranks wait for each other: rank 0 waits at 0B0 for 1B0 of rank 1, which waits at 1F1 for 0F1 of "
           "rank 0") &&
          Says("0F1 before 0B0 on rank 0"));
  // Rank 0 only waits for the circle; it is no part of it.
  CHECK_THAT(fault_of("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n2F0,2B0,2F1,2B1"),
             Says("rank 0 waits at 0B0 for 1B0 of rank 1, which waits at 1F1 for 0F1 of rank 0"));
  CHECK_THAT(
      fault_of("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n2F0,2F1,2B0,2B1"),
      Says("rank 1 waits at 1B0 for 2B0 of rank 2, which waits at 2F1 for 1F1 of rank 1") && !Says("rank 0"));
}

TEST_CASE("actions of another rank or number are refused") {
  PipelineSchedule schedule = make_schedule(PipelineForm::gpipe, 2, 1, 2);
  std::swap(schedule.ranks[0], schedule.ranks[1]);
  CHECK_THAT(error_of([&] { check_schedule(schedule, ""); }),
             Says("rank 0 has 1F0, and stage 1 is on rank 1"));
  schedule = make_schedule(PipelineForm::gpipe, 2, 1, 2);
  schedule.ranks[1][0].part = 2;
  CHECK_THAT(error_of([&] { check_schedule(schedule, ""); }),
             Says("rank 1 has 1F2, beyond 2 stages and 2 micro"));
}

TEST_CASE("whatever order ranks keep, a schedule is refused or runs to its end") {
  std::mt19937_64 random(57);
  int valid = 0, refused = 0;
  for (int next = 0; next < 600; ++next) {
    PipelineSchedule schedule = random_schedule(random);
    check_schedule(schedule, "random");
    for (int swaps = static_cast<int>(random() % 4); swaps > 0; --swaps) {
      auto& row = schedule.ranks[random() % schedule.ranks.size()];
      const std::size_t at = random() % row.size(), span = 1 + random() % 6;
      std::rotate(row.begin() + static_cast<std::ptrdiff_t>(at),
                  row.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                  row.begin() + static_cast<std::ptrdiff_t>(std::min(row.size(), at + 1 + span)));
    }
    std::size_t cells = 0;
    for (const auto& row : schedule.ranks) cells += row.size();
    try {
      check_schedule(schedule, "random");
    } catch (const Error& error) {
      CHECK_THAT(std::string(error.what()), Says("which it needs") || Says("wait for each other"));
      ++refused;
      // Its clock stands still before the end.
      CHECK(course_of(schedule, PipelineCosts::equal(schedule.stages, 1, 1, 1)).actions.size() < cells);
      continue;
    }
    ++valid;
    CHECK(course_of(schedule, PipelineCosts::equal(schedule.stages, 1, 1, 1)).actions.size() == cells);
  }
  CHECK(valid > 100);
  CHECK(refused > 100);
}

}  // namespace isobar::test_check_schedule
