#pragma once
// The memory of one step: what a rank holds by category over the time of the step, below its stages.
#include <filesystem>
#include <string>
#include <vector>

#include "analyse/memory_rows.h"
#include "draw/axis.h"
#include "plot/lesson_view.h"
#include "record/memory_timeline.h"

namespace isobar {

struct MemoryRun {
  std::string label;  ///< above it, where there are several; "" = none
  MemoryTimeline timeline;
  PlannedBytes planned = {};  ///< RunView::memory; none: no line of the prediction
  bool predicted = false;     ///< a step of formula/memory_course.h: pale with a dotted edge
  std::uint64_t limit_bytes =
      0;  ///< what a rank may take with its program, a line where it is near; 0 = none
};

/// What a rank of a run recorded, with what was predicted for it. Error (exit code 2) where there is no run,
/// or it recorded none.
MemoryRun memory_run(const std::filesystem::path& run, const std::string& label = "", int rank = 0);
std::vector<MemoryRun> memory_runs(const std::vector<ShownRun>& runs);

/// A title, a note and the picture: one run, or several with the same axes of bytes and of time, two beside
/// each other where there is room. Bytes of the program are left out, as they do not change. Without a body
/// for no run.
Drawing memory_drawing(const std::vector<MemoryRun>& runs);

/// How far axes reach that several runs have in common; 0 = each has its own. Steps of which one takes more
/// than three times as long as another have no axis of time in common.
struct MemoryAxes {
  std::uint64_t most_bytes = 0;
  std::int64_t most_us = 0;
};
MemoryAxes memory_axes(const std::vector<MemoryRun>& runs);

/// Where what was drawn lies, for who points at it.
struct MemoryArea {
  Axis x, y;  ///< ms, and the unit of `unit` bytes
  Box box;
  double unit = 1;
};
/// Draws below `at.y`; gives the y where it ends.
float paint_memory(Sketch& sketch, const MemoryRun& run, const MemoryAxes& axes, PlotPoint at, float width,
                   MemoryArea* area = nullptr);

/// Its moments as comma-separated values.
std::string memory_csv(const MemoryTimeline& timeline);

/// For LessonView::own and LessonView::together: the run's recorded step, or the steps of several runs.
OwnPicture own_memory(const OwnRun& run);
Drawing memory_together(const std::vector<ShownRun>& runs);

}  // namespace isobar
