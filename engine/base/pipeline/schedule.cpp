#include "pipeline/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "config/choices.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr char kLetters[] = {'F', 'B', 'I', 'W'};
constexpr std::uint64_t kLargestFile = 16 << 20;

bool is_there(const PipelineSchedule& schedule, const PipelineAction& action) {
  const auto& row =
      schedule
          .ranks[static_cast<std::size_t>(schedule.rank_of_stage[static_cast<std::size_t>(action.stage)])];
  return std::find(row.begin(), row.end(), action) != row.end();
}

}  // namespace

std::string cell_of(const PipelineAction& action) {
  return fmt::format("{}{}{}", action.stage, kLetters[static_cast<std::size_t>(action.work)], action.part);
}

bool PipelineSchedule::splits_backward() const {
  return std::any_of(ranks.begin(), ranks.end(), [](const auto& row) {
    return std::any_of(row.begin(), row.end(),
                       [](const PipelineAction& action) { return action.work == PipelineWork::input; });
  });
}

std::vector<int> PipelineSchedule::stages_of(int rank) const {
  std::vector<int> out;
  for (int stage = 0; stage < stages; ++stage)
    if (rank_of_stage[static_cast<std::size_t>(stage)] == rank) out.push_back(stage);
  return out;
}

PipelineSchedule schedule_of(const Config& config) {
  const MeshConfig& mesh = config.mesh;
  const auto ranks = static_cast<int>(mesh.pp), chunks = static_cast<int>(mesh.chunks),
             parts = static_cast<int>(config.train.accumulate);
  if (mesh.schedule != PipelineForm::file) return make_schedule(mesh.schedule, ranks, chunks, parts);
  const std::string where = printable(mesh.schedule_file, 4096);
  PipelineSchedule out = parse_schedule(read_text_file(mesh.schedule_file, kLargestFile), where);
  const auto require = [&](std::int64_t has, std::int64_t wanted, const char* what, const char* key,
                           const char* more = "") {
    if (has != wanted)
      throw Error(fmt::format("a schedule of {}{}, and {} is {}", counted(has, what), more, key, wanted),
                  where, fmt::format("{}={}", key, has));
  };
  require(std::ssize(out.ranks), ranks, "rank", "mesh.pp");
  require(out.parts, parts, "micro-batch", "train.accumulate");
  const auto stages_on = [&](int rank) { return std::ssize(out.stages_of(rank)); };
  for (int rank = 1; rank < ranks; ++rank)
    if (stages_on(rank) != stages_on(0))
      throw Error(fmt::format("rank 0 has {}, rank {} has {}", counted(stages_on(0), "stage"), rank,
                              counted(stages_on(rank), "stage")),
                  where, "a schedule with as many stages on each rank");
  require(stages_on(0), chunks, "stage", "mesh.chunks", " on each rank");
  if (out.splits_backward() && config.model.checkpoint != CheckpointKind::none)
    throw Error(
        fmt::format("a schedule with W puts off gradients of weights, and needs what model.checkpoint = "
                    "{} throws away",
                    name_of(config.model.checkpoint)),
        where, "model.checkpoint=none");
  check_schedule(out, where);
  return out;
}

PipelineMessage message_before(const PipelineSchedule& schedule, const PipelineAction& action) {
  if (action.work == PipelineWork::weight) return {};
  const bool is_forward = action.work == PipelineWork::forward;
  const int other = is_forward ? action.stage - 1 : action.stage + 1;
  if (other < 0 || other >= schedule.stages) return {};
  const auto rank_of = [&](int stage) { return schedule.rank_of_stage[static_cast<std::size_t>(stage)]; };
  if (rank_of(other) == rank_of(action.stage)) return {};
  if (is_forward) return {true, {other, PipelineWork::forward, action.part}};
  PipelineAction from = {other, PipelineWork::backward, action.part};
  if (!is_there(schedule, from)) from.work = PipelineWork::input;
  return {true, from};
}

std::vector<StageBlocks> blocks_of_stages(std::int64_t depth, int stages,
                                          const std::vector<std::int64_t>& stage_blocks) {
  std::vector<StageBlocks> out;
  std::int64_t first = 0;
  for (std::int64_t stage = 0; stage < stages; ++stage) {
    const std::int64_t blocks = stage_blocks.empty() ? depth / stages + (stage < depth % stages ? 1 : 0)
                                                     : stage_blocks.at(static_cast<std::size_t>(stage));
    out.push_back({first, first + blocks});
    first += blocks;
  }
  return out;
}

}  // namespace isobar
