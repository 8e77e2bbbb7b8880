// Pictures: a batch in one piece and in four, two orders beside each other, backward whole and split. Of a
// run, one of its steps as it was.
#include <algorithm>

#include "analyse/pipeline_run.h"
#include "core/error.h"
#include "plot/lesson_view.h"
#include "plot/memory_picture.h"
#include "plot/pipeline_picture.h"

namespace isobar::lesson_15 {
namespace {

constexpr int kPictureRanks = 4, kPictureParts = 8;

/// Equal stages in which F, I and W of a micro-batch take 1 / `pieces` each; times without a unit.
PipelineStep drawn_order(PipelineForm form, int parts, double pieces = 1) {
  const PipelineSchedule schedule = make_schedule(form, kPictureRanks, 1, parts);
  const double each = 1 / pieces;
  PipelineStep out{.course = course_of(schedule, PipelineCosts::equal(schedule.stages, each, each, each)),
                   .stages = schedule.stages,
                   .form = form};
  out.unit_us = 1;
  out.axis = "time; a forward pass = 1";
  return out;
}

Drawing idea_drawing() {
  Drawing out =
      pipelines_drawing({{"The batch in one piece", drawn_order(PipelineForm::gpipe, 1)},
                         {"In four micro-batches", drawn_order(PipelineForm::gpipe, 4, 4)}},
                        "A batch on four ranks, each with a quarter of the blocks",
                        "schematic: equal stages, backward twice as long as forward, no time for messages",
                        /*has_figures=*/false);
  out.alt =
      "Two charts with a row for each of four ranks. Above, the batch goes through in one piece: forward on "
      "rank 0, 1, 2 and 3, then backward on rank 3, 2, 1 and 0, and only one rank computes at any time. "
      "Below, the batch goes in four pieces: while rank 0 computes with the second piece, rank 1 does with "
      "the first, so that rows overlap and the step is shorter. The last row is empty at both ends, the "
      "first "
      "one in the middle.";
  return out;
}

Drawing orders_drawing() {
  Drawing out = pipelines_drawing({{"GPipe", drawn_order(PipelineForm::gpipe, kPictureParts)},
                                   {"1F1B", drawn_order(PipelineForm::one_f_one_b, kPictureParts)}},
                                  "Two orders of the same work",
                                  "on a clock of events: equal stages, no time for messages");
  out.alt =
      "Two charts of the same length with rows of four ranks. GPipe: each row has eight forward passes, then "
      "eight backward passes. 1F1B: after a few forward passes, fewer on each further rank, forward and "
      "backward passes take turns. Beside each row stand its idle share, the same everywhere, and how many "
      "micro-batches it keeps at most: with GPipe as many on all ranks, with 1F1B fewer on each further "
      "rank.";
  return out;
}

Drawing split_drawing() {
  Drawing out = pipelines_drawing({{"1F1B", drawn_order(PipelineForm::one_f_one_b, kPictureParts)},
                                   {"ZB-H1", drawn_order(PipelineForm::zb_h1, kPictureParts)}},
                                  "Backward whole, and in two",
                                  "on a clock of events: F, I and W take equally long, no time for messages");
  out.alt =
      "Two charts with rows of four ranks on one axis of time. Above, 1F1B with whole backward passes: the "
      "last row is empty at both ends, the first one in the middle. Below, ZB-H1: gradients of weights, W, "
      "are boxes of their own, and lie where the rows above are empty at the end, so that the step is "
      "shorter.";
  return out;
}

std::vector<LessonPicture> pictures() {
  return {{"idea", idea_drawing()}, {"orders", orders_drawing()}, {"split", split_drawing()}};
}

OwnPicture own_pipeline(const OwnRun& run) {
  try {
    const std::optional<PipelineRun> found = read_pipeline(run.folder);
    if (found) return {pipeline_drawing(found->drawn, "A step of this run", run.note)};
  } catch (const Error& error) {
    return nothing_to_draw(error.what(), error.hint());
  }
  return nothing_to_draw("the run kept no spans of a pipeline",
                         "mesh.pp above 1 and run.trace_steps above 0, on a processor");
}

/// Runs without a step to draw are left out: one that failed may have none.
Drawing steps_together(const std::vector<ShownRun>& runs) {
  std::vector<NamedPipeline> steps;
  for (const ShownRun& run : runs) {
    try {
      if (const auto found = read_pipeline(run.run->folder)) steps.push_back({run.label, found->drawn});
    } catch (const Error&) {
      continue;
    }
  }
  return steps.empty() ? Drawing{} : pipelines_drawing(steps, "Steps of these runs", "measured");
}

Drawing runs_together(std::string_view rule, const std::vector<ShownRun>& runs) {
  if (rule == "activations_ratio") return memory_together(runs);
  const bool is_of_steps =
      rule == "idle_share" || rule == "waits_most" || rule == "how_it_ends" || rule == "made_idle";
  return is_of_steps ? steps_together(runs) : Drawing{};
}

const AddLessonView kView{{"15_pipeline", pictures, own_pipeline, {}, runs_together}};

}  // namespace
}  // namespace isobar::lesson_15
