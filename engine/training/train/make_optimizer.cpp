#include "train/make_optimizer.h"

#include "train/host_adam.h"
#include "train/muon.h"

namespace isobar {
namespace {

std::unique_ptr<FusedAdam> by_name(Parameters& parameters, const Config& config,
                                   const TensorParallel& ranks) {
  if (config.optim.name == OptimizerKind::muon)
    return std::make_unique<Muon>(parameters, config.optim, config.fusion, ranks);
  if (config.mesh.offload != OffloadKind::none)
    return std::make_unique<HostAdam>(parameters, config.optim, config.fusion, ranks, config.mesh.offload);
  return std::make_unique<FusedAdam>(parameters, config.optim, config.fusion, ranks);
}

}  // namespace

std::unique_ptr<FusedAdam> make_optimizer(Parameters& parameters, const Config& config,
                                          const TensorParallel& ranks, Comm* stages) {
  std::unique_ptr<FusedAdam> out = by_name(parameters, config, ranks);
  if (stages != nullptr) out->unite_over(*stages);
  return out;
}

}  // namespace isobar
