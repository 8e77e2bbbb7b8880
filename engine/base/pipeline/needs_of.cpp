#include "pipeline/needs_of.h"

namespace isobar {

ActionTable::ActionTable(const PipelineSchedule& schedule)
    : schedule_(schedule),
      positions_(4 * static_cast<std::size_t>(schedule.stages) * static_cast<std::size_t>(schedule.parts),
                 -1) {
  for (const auto& row : schedule.ranks) {
    for (std::size_t at = 0; at < row.size(); ++at) {
      int& position = positions_[index(row[at])];
      if (position < 0) position = static_cast<int>(at);
    }
  }
}

std::size_t ActionTable::index(const PipelineAction& action) const {
  const auto stage = static_cast<std::size_t>(action.stage), part = static_cast<std::size_t>(action.part);
  return (stage * static_cast<std::size_t>(schedule_.parts) + part) * 4 +
         static_cast<std::size_t>(action.work);
}

ActionTable::Needs ActionTable::needs_of(const PipelineAction& action) const {
  Needs out;
  const auto add = [&out](const PipelineAction& before) {
    out.actions[static_cast<std::size_t>(out.count++)] = before;
  };
  const auto [stage, work, part] = action;
  if (work == PipelineWork::forward) {
    if (stage > 0) add({stage - 1, PipelineWork::forward, part});
    return out;
  }
  if (work == PipelineWork::weight) {
    add({stage, PipelineWork::input, part});
    return out;
  }
  add({stage, PipelineWork::forward, part});
  if (stage + 1 < schedule_.stages) {
    const PipelineAction whole = {stage + 1, PipelineWork::backward, part};
    add(has(whole) ? whole : PipelineAction{stage + 1, PipelineWork::input, part});
  }
  return out;
}

}  // namespace isobar
