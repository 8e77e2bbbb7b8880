// Orders of work in a pipeline, against their published forms.
#include <string>
#include <vector>

#include "core/text.h"
#include "pipeline/schedule.h"
#include "support/catch.h"
#include "support/errors.h"

namespace isobar::test_schedule {

namespace {

std::string row_of(const PipelineSchedule& schedule, int rank) {
  std::vector<std::string> cells;
  for (const PipelineAction& action : schedule.ranks[static_cast<std::size_t>(rank)])
    cells.push_back(cell_of(action));
  return joined(cells, " ");
}

}  // namespace

TEST_CASE("gpipe runs all forward passes first, 1f1b as few as fill the pipeline") {
  const PipelineSchedule gpipe = make_schedule(PipelineForm::gpipe, 2, 1, 3);
  CHECK(row_of(gpipe, 0) == "0F0 0F1 0F2 0B0 0B1 0B2");
  CHECK(row_of(gpipe, 1) == "1F0 1F1 1F2 1B0 1B1 1B2");
  const PipelineSchedule turn = make_schedule(PipelineForm::one_f_one_b, 3, 1, 4);
  CHECK(row_of(turn, 0) == "0F0 0F1 0F2 0B0 0F3 0B1 0B2 0B3");
  CHECK(row_of(turn, 1) == "1F0 1F1 1B0 1F2 1B1 1F3 1B2 1B3");
  CHECK(row_of(turn, 2) == "2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3");
  CHECK_FALSE(turn.splits_backward());
}

TEST_CASE("interleaved takes micro-batches by rounds, through all stages of a rank") {
  const PipelineSchedule schedule = make_schedule(PipelineForm::interleaved, 2, 2, 4);
  CHECK(row_of(schedule, 0) == "0F0 0F1 2F0 2F1 0F2 2B0 0F3 2B1 2F2 0B0 2F3 0B1 2B2 2B3 0B2 0B3");
  CHECK(row_of(schedule, 1) == "1F0 1F1 3F0 3B0 3F1 3B1 1F2 1B0 1F3 1B1 3F2 3B2 3F3 3B3 1B2 1B3");
  CHECK(schedule.stages_of(1) == std::vector<int>{1, 3});
}

TEST_CASE("zb_h1 puts gradients of weights off by a micro-batch more on each rank") {
  const PipelineSchedule schedule = make_schedule(PipelineForm::zb_h1, 3, 1, 4);
  CHECK(row_of(schedule, 0) == "0F0 0F1 0F2 0I0 0W0 0F3 0I1 0W1 0I2 0W2 0I3 0W3");
  CHECK(row_of(schedule, 1) == "1F0 1F1 1I0 1F2 1I1 1W0 1F3 1I2 1W1 1I3 1W2 1W3");
  CHECK(row_of(schedule, 2) == "2F0 2I0 2F1 2I1 2F2 2I2 2W0 2F3 2I3 2W1 2W2 2W3");
  CHECK(schedule.splits_backward());
}

TEST_CASE("messages come from the stage before, or back from the one behind") {
  const PipelineSchedule schedule = make_schedule(PipelineForm::zb_h1, 3, 1, 4);
  CHECK_FALSE(message_before(schedule, {0, PipelineWork::forward, 1}).has_message);
  CHECK(message_before(schedule, {1, PipelineWork::forward, 2}).from ==
        PipelineAction{0, PipelineWork::forward, 2});
  CHECK(message_before(schedule, {1, PipelineWork::input, 2}).from ==
        PipelineAction{2, PipelineWork::input, 2});
  CHECK_FALSE(message_before(schedule, {2, PipelineWork::input, 2}).has_message);
  CHECK_FALSE(message_before(schedule, {1, PipelineWork::weight, 2}).has_message);
  const PipelineSchedule whole = make_schedule(PipelineForm::gpipe, 2, 1, 2);
  CHECK(cell_of(message_before(whole, {0, PipelineWork::backward, 1}).from) == "1B1");
}

TEST_CASE("blocks go to stages as evenly as can be, or as they are told") {
  CHECK(blocks_of_stages(12, 4) == std::vector<StageBlocks>{{0, 3}, {3, 6}, {6, 9}, {9, 12}});
  CHECK(blocks_of_stages(7, 3) == std::vector<StageBlocks>{{0, 3}, {3, 5}, {5, 7}});
  CHECK(blocks_of_stages(4, 2, {3, 1}) == std::vector<StageBlocks>{{0, 3}, {3, 4}});
}

TEST_CASE("numbers that do not suit a form are refused") {
  const auto fault = [](PipelineForm form, int ranks, int chunks, int parts) {
    return error_of([&] { make_schedule(form, ranks, chunks, parts); });
  };
  CHECK_THAT(fault(PipelineForm::interleaved, 4, 2, 6), Says("by rounds of 4, and there are 6"));
  CHECK_THAT(fault(PipelineForm::interleaved, 4, 1, 8), Says("at least two stages a rank"));
  CHECK_THAT(fault(PipelineForm::gpipe, 4, 2, 8), Says("gpipe takes 1 stage a rank, not 2"));
  CHECK_THAT(fault(PipelineForm::zb_v, 4, 1, 8), Says("zb_v takes 2 stages a rank, not 1"));
  CHECK_THAT(fault(PipelineForm::file, 4, 1, 8), Says("is read, not made"));
  CHECK_THAT(fault(PipelineForm::gpipe, 0, 1, 8), Says("a schedule of 0 ranks"));
}

}  // namespace isobar::test_schedule
