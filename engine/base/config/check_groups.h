#pragma once
// What the keys of groups of ranks ask of each other: ranks of a model, of an ensemble, and those that share
// tokens or read together. For load and validate.
#include <map>
#include <string>

#include "config/config.h"

namespace isobar {

/// mesh.cp, where nobody set it (a run's own file counts as nobody): what mesh.tp and mesh.pp leave of
/// mesh.gpus_per_model. `origins` gets where the latter was set. What they do not divide is left as it is,
/// for check_groups.
void derive_groups(Config& config, std::map<std::string, std::string>& origins);

/// Error (exit code 2) with what would fit: a mesh.gpus_per_model that is not mesh.tp x mesh.cp x mesh.pp;
/// ensembles of no whole number of models, or ranks of no whole number of ensembles; fewer tokens than
/// mesh.cp, a model.window larger than the smallest share of them, heads that mesh.cp_comm = a2a cannot share
/// out, and what is not made for shared tokens; read groups that do not divide a model's ranks or the rows of
/// the grid; a rollout through stages. run.ranks is a multiple of ranks_of_model.
void check_groups(const Config& config, const std::map<std::string, std::string>& origins);

}  // namespace isobar
