#pragma once
// What the keys of a pipeline ask of each other. For validate.
#include <map>
#include <string>

#include "config/config.h"

namespace isobar {

/// Error (exit code 2): more stages than blocks, mesh.stage_blocks that do not add up, a schedule that does
/// not suit stages or micro-batches, and what is not made for stages.
void check_stages(const Config& config, const std::map<std::string, std::string>& origins);

/// What lessons that honour mesh.pp ask beside it, of one rank too. Error (exit code 2): gradients, and with
/// them weights, that are shared out before the last micro-batch (mesh.zero above 1).
void check_passes(const Config& config, const std::map<std::string, std::string>& origins);

}  // namespace isobar
