#pragma once
// What comparing says first: a sentence, a row for each case, and the way from the base to one of them.
#include <map>
#include <string>

#include "state/comparison.h"
#include "state/state.h"
#include "widgets/ui.h"

namespace isobar {

using Labels = std::map<std::string, std::string>;  ///< run id -> what tells it from the others

void draw_scoreboard(Ui& ui, const ComparedRuns& compared, const Labels& labels, AppState& state,
                     Requests& ask);

}  // namespace isobar
