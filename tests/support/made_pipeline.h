#pragma once
// Spans of the ranks of a pipeline as a run writes them, made up from a schedule on a clock of events.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "core/files.h"
#include "pipeline/course.h"
#include "record/run_folder.h"
#include "support/made_ranks.h"
#include "support/made_spans.h"

namespace isobar {

struct MadePipeline {
  PipelineForm form = PipelineForm::one_f_one_b;
  int ranks = 2, chunks = 1, parts = 4, steps = 6;
  std::vector<double> slower = {};  ///< factor of each stage; none: all are alike
  double message_us = 0;
  std::int64_t clock_us = 0;  ///< by which the clock of each rank runs behind that of the one before
  double part_us = 3000;      ///< F takes a third of it, I and W likewise

  PipelineSchedule schedule() const { return make_schedule(form, ranks, chunks, parts); }

  PipelineCourse course() const {
    const PipelineSchedule all = schedule();
    PipelineCosts costs = PipelineCosts::equal(all.stages, part_us / 3, part_us / 3, part_us / 3, message_us);
    for (std::size_t i = 0; i < slower.size(); ++i)
      for (std::vector<double>* const of : {&costs.forward_us, &costs.input_us, &costs.weight_us})
        of->at(i) *= slower[i];
    return course_of(all, costs);
  }

  /// Step 0 takes twice as long as the others.
  MadeSpans spans(int rank) const {
    MadeSpans out;
    out.attempt(0);
    const PipelineCourse course = this->course();
    const auto whole_us = static_cast<std::int64_t>(course.step_us) + 1000;
    const std::int64_t clock = rank * clock_us;
    for (int step = 0; step < steps; ++step) {
      const int factor = step == 0 ? 2 : 1;
      const std::int64_t begin_us = (step == 0 ? 0 : (step + 1) * whole_us) - clock + 1'000'000;
      out.span(step, "loop", "forward", begin_us, whole_us / 3 * factor);
      out.span(step, "loop", "backward", begin_us + whole_us / 3 * factor, whole_us / 2 * factor);
      out.span(step, "comm", "all_reduce", begin_us + whole_us * factor - 500, 400, 8);
      for (const PlacedAction& placed : course.actions) {
        if (placed.rank != rank) continue;
        out.span(step, "pipeline", cell_of(placed.action), begin_us + std::llround(placed.begin_us) * factor,
                 std::llround(placed.end_us - placed.begin_us) * factor);
      }
    }
    return out;
  }

  /// Into a folder with the streams of all ranks, whose steps have pipe_*.
  void write(const std::filesystem::path& folder, const std::string& lesson = "15_pipeline") const {
    const PipelineCourse all = course();
    MadeRanks made{.world = ranks, .steps = steps, .lesson = lesson};
    made.step_us = static_cast<std::int64_t>(all.step_us) + 1000;
    made.more = [&](int rank, int, JsonLine& line) {
      const auto row = static_cast<std::size_t>(rank);
      line.add("pipe_us", std::llround(all.step_us)).add("pipe_busy_us", std::llround(all.busy_us[row]));
      line.add("pipe_calls", parts).add("pipe_bytes", 1000 * parts).add("pipe_kept", all.peak_kept[row]);
    };
    made.config = std::string("[mesh]\npp = ") + std::to_string(ranks) +
                  "\nchunks = " + std::to_string(chunks) + "\nschedule = \"" + name_of(form) +
                  "\"\n\n[train]\naccumulate = " + std::to_string(parts) + "\n";
    made.write(folder);
    for (int rank = 0; rank < ranks; ++rank)
      write_file_whole(RunFolder{folder}.spans_file(rank), std::string_view(spans(rank).text()));
  }
};

}  // namespace isobar
