#pragma once
// What comparing says first: a sentence, a row for each case, and the way from the base to one of them.
#include <map>
#include <string>

#include "state/comparison.h"
#include "state/state.h"
#include "widgets/ui.h"

namespace isobar {

using Labels = std::map<std::string, std::string>;  ///< run id -> what tells it from the others

/// The colour that a run keeps everywhere.
Colour run_colour(const Ui& ui, AppState& state, const RunEntry& run);

void draw_scoreboard(Ui& ui, const ComparedRuns& compared, const Labels& labels, AppState& state,
                     Requests& ask);

}  // namespace isobar
