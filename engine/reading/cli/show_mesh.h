#pragma once
// What `show RUN --mesh` prints: ranks on their nodes, their groups, and what links carry.
#include <filesystem>

namespace isobar {

/// Prints it, as one JSON object where `json`. `per_node`: so many neighbours on each node, 0 = as they ran.
/// Errors are those of mesh_of_run.
void show_mesh(const std::filesystem::path& run, int per_node, bool json);

}  // namespace isobar
