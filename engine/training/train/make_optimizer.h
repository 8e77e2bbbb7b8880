#pragma once
#include <memory>

#include "config/config.h"
#include "train/fused_adam.h"

namespace isobar {

/// The optimiser that optim.name and mesh.offload name: FusedAdam, HostAdam or Muon, with their errors. Where
/// there are `stages` (FusedAdam::unite_over), all of them call it.
std::unique_ptr<FusedAdam> make_optimizer(Parameters& parameters, const Config& config,
                                          const TensorParallel& ranks = {}, Comm* stages = nullptr);

}  // namespace isobar
