#pragma once
// A cluster's profile (submit/profiles, or a file of the user's) as a machine.
#include <filesystem>

#include "cluster/machine.h"

namespace isobar {

/// The table [machine] of a cluster's profile; its other tables are those of jobs. The name is that of the
/// file. Error (exit code 2) for a profile without the table, a key that there is not, and node counts that
/// do not rise.
ClusterMachine read_cluster(const std::filesystem::path& file);

}  // namespace isobar
