#include "config/anemoi_keys.h"

namespace isobar {
namespace {

struct Pair {
  std::string_view theirs;
  const char* here;
};

constexpr Pair kPairs[] = {
    {"system.hardware.num_gpus_per_model", "mesh.gpus_per_model"},
    {"system.hardware.num_gpus_per_ensemble", "mesh.gpus_per_ensemble"},
    {"training.strategy.num_gpus_per_model", "mesh.gpus_per_model"},
    {"training.strategy.num_gpus_per_ensemble", "mesh.gpus_per_ensemble"},
    {"training.strategy.read_group_size", "data.read_group"},
    {"dataloader.read_group_size", "data.read_group"},
    {"dataloader.num_workers.training", "data.workers"},
    {"dataloader.prefetch_factor", "data.prefetch"},
    {"dataloader.pin_memory", "data.pin_memory"},
    {"dataloader.batch_size.training", "train.global_batch, over all replicas"},
    {"training.ensemble_size_per_device", "mesh.members_per_device"},
    {"training.accum_grad_batches", "train.accumulate"},
    {"training.gradient_clip.val", "optim.clip_norm"},
    {"training.max_steps", "train.steps"},
    {"training.precision", "amp.mode"},
    {"training.optimization.lr", "optim.lr, of all replicas"},
    {"task.rollout.maximum", "train.rollout"},
};

}  // namespace

std::string key_of_anemoi(std::string_view theirs) {
  for (const Pair& pair : kPairs) {
    const std::string_view last = pair.theirs.substr(pair.theirs.rfind('.') + 1);
    // One-word ends such as "lr" are those of other programs too.
    if (theirs == pair.theirs || (theirs == last && last.find('_') != std::string_view::npos))
      return pair.here;
  }
  return "";
}

}  // namespace isobar
