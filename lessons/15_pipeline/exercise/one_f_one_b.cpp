// Lesson 15: the order in which one rank of a pipeline works, and with whom it exchanges messages.
// What is given and promised stands in exercise.h; ./isobar check 15_pipeline looks at what you wrote.
#include <algorithm>

#include "15_pipeline/exercise/exercise.h"

namespace isobar::mine {

using namespace exercise;

int warm_up(const PipeRank& at) {
  // BEGIN How many ranks are behind this one? And if there are fewer micro-batches than that?
  //> return 0;
  return std::min(at.parts, at.ranks - at.rank - 1);
  // END
}

double idle_of_step(int ranks, int parts) {
  // BEGIN In micro-batches: how long does a rank wait, and how long is the step?
  //> return 0;
  return (ranks - 1.0) / (parts + ranks - 1);
  // END
}

int most_kept(const PipeRank& at) {
  // BEGIN When does the rank keep most, and how many micro-batches are that?
  //> return 0;
  return std::min(at.parts, at.ranks - at.rank);
  // END
}

std::vector<PipeAction> one_f_one_b(const PipeRank& at) {
  std::vector<PipeAction> actions;
  const int ahead = warm_up(at);
  // BEGIN Warm-up, steady state, cool-down: three loops over micro-batches.
  for (int part = 0; part < ahead; ++part) actions.push_back({PipeWork::forward, part});
  for (int part = ahead; part < at.parts; ++part) {
    actions.push_back({PipeWork::forward, part});
    actions.push_back({PipeWork::backward, part - ahead});
  }
  for (int part = at.parts - ahead; part < at.parts; ++part) actions.push_back({PipeWork::backward, part});
  // END
  return actions;
}

PipePartners partners_of(const PipeRank& at, PipeWork work) {
  PipePartners partners;
  // BEGIN Which way does the work travel? Both ends of the pipeline have one neighbour alone.
  std::optional<int> before, behind;
  if (at.rank > 0) before = at.rank - 1;
  if (at.rank + 1 < at.ranks) behind = at.rank + 1;
  if (work == PipeWork::forward) partners = {.from = before, .to = behind};
  if (work == PipeWork::backward || work == PipeWork::input) partners = {.from = behind, .to = before};
  // END
  return partners;
}

std::vector<PipeAction> split_backward(const PipeRank& at) {
  std::vector<PipeAction> actions;
  // BEGIN Where B was, I stands. By how many micro-batches can W be put off? Which are left at the end?
  const int late = at.rank;
  for (const auto& [work, part] : one_f_one_b(at)) {
    if (work == PipeWork::forward) {
      actions.push_back({work, part});
      continue;
    }
    actions.push_back({PipeWork::input, part});
    if (part >= late) actions.push_back({PipeWork::weights, part - late});
  }
  for (int part = std::max(0, at.parts - late); part < at.parts; ++part)
    actions.push_back({PipeWork::weights, part});
  // END
  return actions;
}

}  // namespace isobar::mine
