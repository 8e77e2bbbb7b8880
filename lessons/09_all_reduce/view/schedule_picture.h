#pragma once
// One moment of an all-reduce: ranks as columns of chunks, what moves next, the counters, and the clock.
#include <string>
#include <vector>

#include "09_all_reduce/view/schedule.h"
#include "draw/sketch.h"

namespace isobar::lesson_09 {

Colour phase_colour(const Theme& theme, CollectivePhase phase);

/// The ground of a cell: the more ranks are in it the stronger; one of all ranks has a colour of its own.
Colour cell_colour(const Theme& theme, int count, int ranks);

/// What an all-reduce takes on a link: "2(N-1)a + 2(N-1)S/(N B)".
const char* all_reduce_formula(AllReduceKind kind);

/// "52.1 us", "1.778 ms"
std::string microseconds_text(double us);

/// What comes next and, of one message of it, the numbers; at the end what all ranks hold.
std::string schedule_sentence(const Schedule& schedule, std::size_t done);

/// Messages and bytes so far beside the formulas, one line each.
std::vector<std::string> schedule_counter_lines(const Schedule& schedule, const ScheduleMoment& moment);

/// The moment behind `done` steps, with the moves of the step that follows; those before it are dim. Below
/// the cells stands what each rank sent. `height` of the cells at scale 1; 0 = as high as is read well.
/// Gives the y where it ends.
float paint_schedule(Sketch& sketch, const Schedule& schedule, std::size_t done, PlotPoint at, float width,
                     float height = 0);

/// What that needs above and below the cells, in the pixels of the canvas.
float schedule_rest_height(Sketch& sketch, const Schedule& schedule, float width);

/// A bar of all steps in the colours of their phases, filled up to now, and what the link's formula says.
float paint_schedule_clock(Sketch& sketch, const Schedule& schedule, std::size_t done, PlotPoint at,
                           float width);

/// Steps done at a place on that bar, 0 to 1.
std::size_t schedule_step_at(const Schedule& schedule, double part);

/// What the looks of cells and arrows mean.
float paint_schedule_legend(Sketch& sketch, const Schedule& schedule, PlotPoint at, float width);

}  // namespace isobar::lesson_09
