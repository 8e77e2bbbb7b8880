#include "config/check_stages.h"

#include <fmt/format.h>

#include <numeric>

#include "config/origins.h"
#include "core/text.h"

namespace isobar {
namespace {

void check_blocks(const Config& config, const Origins& origins) {
  const MeshConfig& mesh = config.mesh;
  const std::int64_t stages = mesh.pp * mesh.chunks;
  const auto refuse = refuser(origins);
  if (stages > config.model.depth)
    refuse("mesh.pp", "mesh.chunks",
           fmt::format("a model of {} cannot be cut in {}", counted(config.model.depth, "block"),
                       counted(stages, "stage")),
           fmt::format("mesh.pp x mesh.chunks of {} at most", config.model.depth));
  if (!mesh.stage_blocks.empty()) {
    const std::int64_t blocks =
        std::accumulate(mesh.stage_blocks.begin(), mesh.stage_blocks.end(), std::int64_t{0});
    if (std::ssize(mesh.stage_blocks) != stages || blocks != config.model.depth)
      refuse("mesh.stage_blocks", "mesh.pp",
             fmt::format("mesh.stage_blocks has {} for {}, {} for {}", counted(blocks, "block"),
                         counted(std::ssize(mesh.stage_blocks), "stage"),
                         counted(config.model.depth, "block"), counted(stages, "stage")),
             fmt::format("{} that add up to {}, or [] for even ones", counted(stages, "number"),
                         config.model.depth));
  }
}

void check_schedule(const Config& config, const Origins& origins) {
  const MeshConfig& mesh = config.mesh;
  const std::int64_t parts = config.train.accumulate;
  const auto refuse = refuser(origins);
  const std::int64_t wanted = mesh.schedule == PipelineForm::zb_v ? 2 : 1;
  if (mesh.pp == 1 && (mesh.schedule == PipelineForm::interleaved || wanted > 1))
    refuse("mesh.schedule", "mesh.pp",
           fmt::format("{} is an order of several stages a rank, and mesh.pp is 1", name_of(mesh.schedule)),
           "mesh.schedule=1f1b and mesh.chunks=1, or mesh.pp=2");
  if (mesh.schedule == PipelineForm::interleaved) {
    if (mesh.chunks < 2)
      refuse("mesh.chunks", "mesh.schedule",
             "interleaved takes at least two stages a rank, and mesh.chunks is 1",
             "mesh.chunks=2, or mesh.schedule=1f1b");
    if (parts % mesh.pp != 0)
      refuse("train.accumulate", "mesh.schedule",
             fmt::format("interleaved takes micro-batches by rounds of mesh.pp = {}, and there are {}",
                         mesh.pp, parts),
             fmt::format("train.accumulate={}", nearest_multiple(parts, mesh.pp)));
  } else if (mesh.schedule != PipelineForm::file && mesh.chunks != wanted) {
    refuse("mesh.chunks", "mesh.schedule",
           fmt::format("{} takes {} a rank, and mesh.chunks is {}", name_of(mesh.schedule),
                       counted(wanted, "stage"), mesh.chunks),
           fmt::format("mesh.chunks={}", wanted));
  }
  if (splits_backward(mesh.schedule) && config.model.checkpoint != CheckpointKind::none)
    refuse("model.checkpoint", "mesh.schedule",
           fmt::format("{} puts off gradients of weights, and needs what model.checkpoint = {} throws away",
                       name_of(mesh.schedule), name_of(config.model.checkpoint)),
           "model.checkpoint=none, or mesh.schedule=1f1b");
}

/// What stages do not go with.
void check_beside(const Config& config, const Origins& origins) {
  const MeshConfig& mesh = config.mesh;
  const auto refuse = refuser(origins);
  check_passes(config, origins);
  if (mesh.shard > 0 || mesh.offload != OffloadKind::none)
    refuse(mesh.shard > 0 ? "mesh.shard" : "mesh.offload", "mesh.pp",
           "stages share out the states of the optimiser over all replicas, in device memory",
           "mesh.shard=0 and mesh.offload=none");
  if (config.model.norm == NormKind::batch)
    refuse("model.norm", "mesh.pp", "a norm over the batch would go over each micro-batch by itself",
           "model.norm=layer, or mesh.pp=1");
  if (config.comm.average == Averaged::weights)
    refuse("comm.average", "mesh.pp", "replicas whose stages train apart are not made",
           "comm.average=gradients, or mesh.pp=1");
}

}  // namespace

void check_stages(const Config& config, const std::map<std::string, std::string>& origins) {
  const MeshConfig& mesh = config.mesh;
  const auto refuse = refuser(origins);
  check_blocks(config, origins);
  if ((mesh.schedule == PipelineForm::file) == mesh.schedule_file.empty())
    refuse("mesh.schedule", "mesh.schedule_file",
           mesh.schedule_file.empty() ? "mesh.schedule = file reads mesh.schedule_file, which is not set"
                                      : "mesh.schedule_file is read with mesh.schedule = file alone",
           mesh.schedule_file.empty() ? "mesh.schedule_file=mine.csv" : "mesh.schedule=file");
  if (mesh.pp == 1 && mesh.schedule != PipelineForm::interleaved && mesh.schedule != PipelineForm::zb_v &&
      mesh.chunks > 1)
    refuse("mesh.chunks", "mesh.pp", "mesh.chunks cuts the blocks of ranks of a pipeline, and mesh.pp is 1",
           "mesh.pp=2, or mesh.chunks=1");
  check_schedule(config, origins);
  if (mesh.pp > 1) check_beside(config, origins);
}

void check_passes(const Config& config, const std::map<std::string, std::string>& origins) {
  const std::int64_t zero = config.mesh.zero;
  if (zero > 1)
    refuser(origins)("mesh.zero", "mesh.pp",
                     fmt::format("a pipeline keeps a step's gradients until its last micro-batch, and "
                                 "mesh.zero = {} shares them out before",
                                 zero),
                     "mesh.zero=1 or 0");
}

}  // namespace isobar
