// A step of a pipeline as rows of boxes: in a terminal, as SVG, in words, and for who points at it.
#include <algorithm>

#include "core/text.h"
#include "pipeline/schedule.h"
#include "plot/pipeline_picture.h"
#include "support/catch.h"
#include "support/recording_canvas.h"
#include "support/says.h"

namespace isobar::test_pipeline_picture {

namespace {

/// B takes twice as long as F, messages take no time; 1 is the unit of the axis.
PipelineStep step_of(PipelineForm form, int ranks, int chunks, int parts) {
  const PipelineSchedule schedule = make_schedule(form, ranks, chunks, parts);
  PipelineStep out;
  out.course = course_of(schedule, PipelineCosts::equal(schedule.stages, 1, 1, 1));
  out.stages = schedule.stages;
  out.form = form;
  out.unit_us = 1;
  out.axis = "forward passes";
  return out;
}

std::vector<std::string> ascii(const Drawing& drawing, std::size_t columns = 80) {
  return drawing_lines(drawing, {.glyphs = TextStyle::Glyphs::ascii, .columns = columns});
}

std::string row_of(const std::vector<std::string>& lines, const std::string& label) {
  const auto found = std::ranges::find_if(lines, [&](const auto& line) { return line.starts_with(label); });
  return found == lines.end() ? "" : *found;
}

}  // namespace

TEST_CASE("a terminal shows work and micro-batch of each rank in its order, idle time empty") {
  const PipelineStep step = step_of(PipelineForm::one_f_one_b, 2, 1, 4);
  const std::vector<std::string> lines = ascii(pipeline_drawing(step, "One step"));
  for (const std::string& line : lines) CHECK(line.size() <= 80);
  const std::string first = row_of(lines, "rank 0"), last = row_of(lines, "rank 1");
  // 15 units of time, 20 % of them idle; rank 0 keeps 2 micro-batches, rank 1 one.
  CHECK_THAT(first, says("F0") && says("F1") && says("B3") && says("20 %"));
  CHECK(first.back() == '2');
  CHECK(last.back() == '1');
  CHECK(first.find("F1") < first.find("B0"));
  CHECK(first.find("B0") < first.find("F2"));
  CHECK(last.find("B0") < last.find("F1"));
  CHECK(last.find("F0") > first.find("F0"));
  CHECK(last.substr(first.find("F0"), last.find("F0") - first.find("F0")).find_first_not_of(' ') ==
        std::string::npos);
  CHECK_THAT(joined(lines, "\n"),
             says("1f1b, 2 ranks, 2 stages, 4 micro-batches") &&
                 says("predicted: idle 20.0 % of the step (by formula 20.0 %), 25.0 %") &&
                 says("beside the ideal\nstep (by formula 25.0 %)"));
}

TEST_CASE("where boxes have no room for numbers their letters remain") {
  const std::vector<std::string> lines =
      ascii(pipeline_drawing(step_of(PipelineForm::gpipe, 4, 1, 12), "Many"), 76);
  const std::string row = row_of(lines, "rank 0");
  INFO(row);
  CHECK(std::ranges::count(row, 'F') == 12);
  CHECK(std::ranges::count(row, 'B') == 12);
}

TEST_CASE("a rank's second stage has small letters in a terminal and another shade in a file") {
  const PipelineStep step = step_of(PipelineForm::interleaved, 2, 2, 2);
  const std::vector<std::string> lines = ascii(pipeline_drawing(step, "Interleaved"));
  CHECK_THAT(row_of(lines, "rank 0"), says("F0") && says("f0") && says("b0") && says("B0"));
  CHECK_THAT(joined(lines, " "), says("small letters: every second stage"));
  CHECK_THAT(drawing_svg(pipeline_drawing(step, "Interleaved")), says("paler: later stages"));
}

TEST_CASE("shade and letters go by a stage's place on its rank, whatever the order of stages") {
  const auto table = [](std::vector<int> ranks) {
    PipelineStep out{.stages = 4, .unit_us = 1};
    for (int stage = 0; stage < 4; ++stage)
      out.course.actions.push_back({ranks[static_cast<std::size_t>(stage)],
                                    {stage, PipelineWork::forward, 0},
                                    10.0 * stage,
                                    10.0 * stage + 10});
    out.course.step_us = 40;
    out.course.busy_us = {20, 20};
    out.course.peak_kept = {2, 1};
    return out;
  };
  const PipelineStep beside = table({0, 0, 1, 1}), round = table({0, 1, 1, 0});
  CHECK(beside.places_in_rank() == std::vector<int>{0, 1, 0, 1});
  CHECK(round.places_in_rank() == std::vector<int>{0, 0, 1, 1});
  CHECK(beside.keeps_of(0) == "1");
  CHECK(beside.keeps_of(1) == "0.5");
  const std::vector<std::string> lines = ascii(pipeline_drawing(beside, "Neighbours"));
  CHECK_THAT(row_of(lines, "rank 0"), says("F0") && says("f0"));
  CHECK_THAT(row_of(lines, "rank 1"), says("F0") && says("f0"));
}

TEST_CASE("a backward pass in two has I and W, and no formula") {
  const PipelineStep step = step_of(PipelineForm::zb_h1, 2, 1, 4);
  const Drawing drawing = pipeline_drawing(step, "Zero bubble");
  CHECK_THAT(row_of(ascii(drawing), "rank 1"), says("I0") && says("W0") && !says("B0"));
  CHECK_THAT(drawing.alt, says("zb_h1") && says("rank 0 is idle") && !says("by formula"));
  CHECK_THAT(drawing_svg(drawing), says("W backward, for weights") && !says("B backward"));
}

TEST_CASE("who points at a box gets its action, and between boxes none") {
  const PipelineStep step = step_of(PipelineForm::one_f_one_b, 2, 1, 4);
  RecordingCanvas canvas;
  Sketch sketch(canvas, theme_of(false));
  PipelineArea area;
  paint_pipeline(sketch, step, {0, 0}, 800, {}, &area);
  REQUIRE(area.rows.size() == 2);
  const auto at = [&](std::size_t row, double units) {
    const float middle = (area.rows[row].y0 + area.rows[row].y1) / 2;
    return area.action_at(step, {area.x.pixel(units), middle});
  };
  REQUIRE(at(0, 0.5));
  CHECK(step.course.actions[*at(0, 0.5)].action == PipelineAction{0, PipelineWork::forward, 0});
  CHECK_FALSE(at(1, 0.5));  // rank 1 is idle until rank 0 has sent
  REQUIRE(at(1, 1.5));
  CHECK_THAT(action_words(step, *at(1, 1.5)),
             says("rank 1, F0 of stage 1: 1.00 to 2.00") && says("waited 1.00 for F0 of stage 0 on rank 0"));
  CHECK_FALSE(area.action_at(step, {area.x.pixel(0.5), area.rows[1].y1 + 40}));
}

TEST_CASE("without an action there is no picture but its words") {
  const Drawing nothing = pipeline_drawing({}, "Nothing");
  CHECK_FALSE(nothing.body);
  CHECK_THAT(joined(ascii(nothing), "\n"), says("without any action"));
  CHECK_FALSE(pipelines_drawing({{"a", {}}}, "Nothing").body);
}

TEST_CASE("several schedules stand below each other on one axis") {
  const Drawing both = pipelines_drawing({{"gpipe", step_of(PipelineForm::gpipe, 2, 1, 4)},
                                          {"none", {}},
                                          {"interleaved", step_of(PipelineForm::interleaved, 2, 2, 4)}},
                                         "Two schedules");
  CHECK_THAT(both.alt, says("gpipe: predicted: idle 20.0 %") && says("interleaved: predicted: idle 11.1 %") &&
                           !says("none:"));
  const std::vector<std::string> lines = ascii(both);
  CHECK(std::ranges::count_if(lines, [](const auto& line) { return line.starts_with("rank 1"); }) == 2);
}

TEST_CASE("a table has a line for each box") {
  const PipelineStep step = step_of(PipelineForm::gpipe, 2, 1, 1);
  CHECK(pipeline_csv(step) ==
        "rank,stage,work,micro_batch,begin_us,end_us\n0,0,F,0,0.0,1.0\n0,0,B,0,4.0,6.0\n"
        "1,1,F,0,1.0,2.0\n1,1,B,0,2.0,4.0\n");
  PipelineStep other = step;
  other.named = {0, 2};
  CHECK_THAT(pipeline_csv(other), says("2,1,F,0") && !says("1,1,F,0"));
}

TEST_CASE("idle time is told apart: what another rank had not done, its message, and the end") {
  const PipelineSchedule schedule = make_schedule(PipelineForm::gpipe, 2, 1, 1);
  PipelineStep step;
  step.course = course_of(schedule, PipelineCosts::equal(2, 10, 5, 5, 1));
  step.stages = 2;
  // 0: F 0-10, B 32-42; 1: F 11-21, B 21-31.
  CHECK(step.course.step_us == 42);
  const PipelineIdle idle = idle_parts(step);
  CHECK(idle.late == Approx((21.0 + 10) / 84));
  CHECK(idle.message == Approx(2.0 / 84));
  CHECK(idle.behind == Approx(11.0 / 84));
  CHECK(idle.between == 0);
  CHECK(idle.late + idle.message + idle.behind == Approx(step.course.idle_share()));
  for (PlacedAction& placed : step.course.actions) placed.begin_us += 5, placed.end_us += 5;
  step.course.step_us += 5;  // nobody computes at first
  const PipelineIdle later = idle_parts(step);
  CHECK(later.between == Approx(5.0 / 94));  // rank 0's F waits for nobody
  CHECK(later.late + later.message + later.between + later.behind == Approx(step.course.idle_share()));
}

TEST_CASE("the slowest stage is the one whose micro-batch takes the longest") {
  PipelineCosts costs = PipelineCosts::equal(4, 10, 10, 10);
  costs.forward_us[2] = 16;
  PipelineStep step;
  step.course = course_of(make_schedule(PipelineForm::interleaved, 2, 2, 4), costs);
  step.stages = 4;
  const PipelineCosts means = mean_costs({step, step});
  CHECK(means.forward_us == costs.forward_us);
  CHECK(means.weight_us == costs.weight_us);
  const SlowestStage slowest = slowest_stage(means);
  CHECK(slowest.stage == 2);
  CHECK(slowest.part_us == Approx(36));
  CHECK(slowest.others_us == Approx(30));
  CHECK(slowest_stage(mean_costs({})).stage == -1);
}

}  // namespace isobar::test_pipeline_picture
