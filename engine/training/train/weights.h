#pragma once
// Weights as safetensors files whose tensor names are those of the tutorial's Python model.
#include <filesystem>
#include <string_view>

#include "comm/comm.h"
#include "model/parameters.h"

namespace isobar {

/// In the head of every such file of ours.
inline constexpr std::string_view kWeightsMark = "\"made_by\":\"isobar\"";

/// Writes all parameters and saved buffers (float32), whole or not at all; not where ranks share them out.
void save_weights(const Parameters& parameters, const std::filesystem::path& path);

/// Saves a model that the ranks of `model` share, all of which call it: the group of the first rank of
/// all writes the whole tensors, other groups do nothing. Where replicas share parameters out, all of them
/// call it, and so do all `stages` that have parameters of a model between them (mesh.pp): the file is that
/// of one process.
void save_weights(const Parameters& parameters, const std::filesystem::path& path, Comm& model,
                  Comm* stages = nullptr);

/// Replaces the values of all of them. A tensor that is missing or too much, of another shape or not F32
/// is an Error (exit code 2) that names it; nothing is changed then. `stages`, all of which call it, have the
/// other tensors of the file.
void load_weights(Parameters& parameters, const std::filesystem::path& path, Comm* stages = nullptr);

}  // namespace isobar
