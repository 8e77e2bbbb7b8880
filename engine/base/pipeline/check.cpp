#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "pipeline/needs_of.h"
#include "pipeline/schedule.h"

namespace isobar {
namespace {

std::string all_parts(int count) {
  return count == 1 ? "micro-batch 0" : fmt::format("micro-batches 0 to {}", count - 1);
}

/// Within the schedule's numbers, on its stage's rank, and once.
void check_cells(const PipelineSchedule& schedule, const std::string& where) {
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    std::vector<PipelineAction> row = schedule.ranks[rank];
    for (const PipelineAction& action : row) {
      const auto [stage, work, part] = action;
      if (stage < 0 || stage >= schedule.stages || part < 0 || part >= schedule.parts)
        throw Error(fmt::format("rank {} has {}, beyond {} and {}", rank, cell_of(action),
                                counted(schedule.stages, "stage"), counted(schedule.parts, "micro-batch")),
                    where, "");
      const int home = schedule.rank_of_stage[static_cast<std::size_t>(stage)];
      if (home != static_cast<int>(rank))
        throw Error(
            fmt::format("rank {} has {}, and stage {} is on rank {}", rank, cell_of(action), stage, home),
            where, "all actions of a stage on one rank");
    }
    std::sort(row.begin(), row.end());
    const auto twice = std::adjacent_find(row.begin(), row.end());
    if (twice != row.end())
      throw Error(fmt::format("rank {} has {} twice", rank, cell_of(*twice)), where, "leave one of them out");
  }
}

/// F and B, or F, I and W, of each micro-batch at each stage.
void check_complete(const PipelineSchedule& schedule, const std::string& where) {
  // Sorted, not in a table: a file that names one large number would make a large table.
  std::vector<PipelineAction> all;
  for (const auto& row : schedule.ranks) all.insert(all.end(), row.begin(), row.end());
  std::sort(all.begin(), all.end());
  for (int stage = 0; stage < schedule.stages; ++stage) {
    for (int part = 0; part < schedule.parts; ++part) {
      const auto has = [&](PipelineWork work) {
        return std::binary_search(all.begin(), all.end(), PipelineAction{stage, work, part});
      };
      const auto refuse = [&](const std::string& what) {
        throw Error(fmt::format("rank {} {}", schedule.rank_of_stage[static_cast<std::size_t>(stage)], what),
                    where,
                    fmt::format("F and B, or F, I and W, of {} at each stage", all_parts(schedule.parts)));
      };
      const auto cell = [&](PipelineWork work) { return cell_of({stage, work, part}); };
      const bool is_split = has(PipelineWork::input) || has(PipelineWork::weight);
      if (!has(PipelineWork::forward)) refuse("lacks " + cell(PipelineWork::forward));
      if (!is_split && !has(PipelineWork::backward)) refuse("lacks " + cell(PipelineWork::backward));
      if (!is_split) continue;
      constexpr PipelineWork kHalves[] = {PipelineWork::input, PipelineWork::weight};
      for (const PipelineWork work : kHalves)
        if (has(work) && has(PipelineWork::backward))
          refuse(fmt::format("has {} besides {}", cell(work), cell(PipelineWork::backward)));
      for (const PipelineWork work : kHalves)
        if (!has(work)) refuse("lacks " + cell(work));
    }
  }
}

void check_own_order(const PipelineSchedule& schedule, const ActionTable& table, const std::string& where) {
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    for (const PipelineAction& action : schedule.ranks[rank]) {
      const auto needs = table.needs_of(action);
      for (int next = 0; next < needs.count; ++next) {
        const PipelineAction& before = needs.actions[static_cast<std::size_t>(next)];
        if (table.rank_of(before) == static_cast<int>(rank) && table.at(before) > table.at(action))
          throw Error(
              fmt::format("rank {} has {} before {}, which it needs", rank, cell_of(action), cell_of(before)),
              where, fmt::format("{} behind {}", cell_of(action), cell_of(before)));
      }
    }
  }
}

/// How far each rank comes before it waits for ever.
std::vector<std::size_t> stands_at(const PipelineSchedule& schedule, const ActionTable& table) {
  std::vector<std::size_t> reached(schedule.ranks.size(), 0);
  const auto is_done = [&](const PipelineAction& action) {
    return static_cast<std::size_t>(table.at(action)) <
           reached[static_cast<std::size_t>(table.rank_of(action))];
  };
  for (bool moved = true; std::exchange(moved, false);) {
    for (std::size_t rank = 0; rank < reached.size(); ++rank) {
      const auto& row = schedule.ranks[rank];
      const auto can_go = [&] {
        const auto needs = table.needs_of(row[reached[rank]]);
        return std::all_of(needs.actions.begin(), needs.actions.begin() + needs.count, is_done);
      };
      while (reached[rank] < row.size() && can_go()) {
        ++reached[rank];
        moved = true;
      }
    }
  }
  return reached;
}

void check_waits(const PipelineSchedule& schedule, const ActionTable& table, const std::string& where) {
  const std::vector<std::size_t> reached = stands_at(schedule, table);
  struct Wait {
    PipelineAction at = {};
    PipelineAction needed = {};
  };
  const auto wait_of = [&](int rank) {
    const PipelineAction& at =
        schedule.ranks[static_cast<std::size_t>(rank)][reached[static_cast<std::size_t>(rank)]];
    const auto needs = table.needs_of(at);
    return Wait{at, needs.actions[static_cast<std::size_t>(needs.count - 1)]};  // own ones were checked
  };
  int rank = -1;
  for (std::size_t next = 0; next < reached.size() && rank < 0; ++next)
    if (reached[next] < schedule.ranks[next].size()) rank = static_cast<int>(next);
  if (rank < 0) return;
  std::vector<int> way;  // until a rank comes again: the circle is what lies between
  while (std::find(way.begin(), way.end(), rank) == way.end()) {
    way.push_back(rank);
    rank = table.rank_of(wait_of(rank).needed);
  }
  way.erase(way.begin(), std::find(way.begin(), way.end(), rank));
  std::rotate(way.begin(), std::min_element(way.begin(), way.end()), way.end());
  std::string text;
  for (const int next : way) {
    const Wait wait = wait_of(next);
    text += text.empty() ? fmt::format("rank {} waits", next) : ", which waits";
    text += fmt::format(" at {} for {} of rank {}", cell_of(wait.at), cell_of(wait.needed),
                        table.rank_of(wait.needed));
  }
  throw Error("ranks wait for each other: " + text, where,
              fmt::format("{} before {} on rank {}", cell_of(wait_of(way.back()).needed),
                          cell_of(wait_of(way.front()).at), way.front()));
}

}  // namespace

void check_schedule(const PipelineSchedule& schedule, const std::string& where) {
  check_cells(schedule, where);
  check_complete(schedule, where);
  const ActionTable table(schedule);
  check_own_order(schedule, table, where);
  check_waits(schedule, table, where);
}

}  // namespace isobar
