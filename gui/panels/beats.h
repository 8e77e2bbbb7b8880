#pragma once
// How far a lesson is: its beats in a row, its goals.
#include <optional>
#include <string>
#include <vector>

#include "state/state.h"

namespace isobar {

/// Null where nothing is known yet.
const LessonProgress* progress_of(const Data& data, const std::string& lesson);

/// The beats of a lesson in a row, each with what is done; the one that was clicked.
std::optional<Beat> draw_beat_strip(Ui& ui, const LessonProgress& progress, Beat shown);

/// Small squares, one a beat: what of it is done. `at` is the right end.
void paint_beats(Canvas& canvas, const Theme& theme, const LessonProgress& progress, PlotPoint at);

/// "Beats done: read, predict"; "No beat is done yet".
std::string beats_text(const LessonProgress& progress);

/// The goals of a lesson; those are ticked of which all questions were answered right at last.
void draw_goals(Ui& ui, const LessonCard& card, const LessonProgress& progress);

/// "Predict", ...
const char* beat_title(Beat beat);

}  // namespace isobar
