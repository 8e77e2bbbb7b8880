#pragma once
#include <c10/core/Device.h>

#include <string>
#include <vector>

#include "launch/rank_environment.h"

namespace isobar {

/// The `[environment]` table of run.toml: what is needed to tell where and with what a run was made. Text of
/// one TOML table.
std::string environment_toml(c10::Device device, int threads, const std::vector<std::string>& command);

/// The commit of the project the program belongs to (its first 12 digits), "" outside a git checkout.
std::string project_commit();

std::string host_name();

/// `wanted` (run.device) as this rank takes it: one GPU of a machine for each of its ranks. Where a launcher
/// shows each rank a single GPU that is cuda:0 for all.
std::string rank_device(const std::string& wanted, const RankEnvironment& ranks);

}  // namespace isobar
