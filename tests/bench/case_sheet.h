#pragma once
// What both sides of a comparison with PyTorch read: the sizes of a preset and how they are to work.
#include <nlohmann/json.hpp>
#include <string>

namespace isobar {

/// case.json: "name", "height", "width", "channels", "patch", "embed", "depth", "heads", "batch", "batches",
/// "lr", "beta1", "beta2", "eps", "threads", "device", "tf32". A preset that is not there is an Error (exit
/// code 2).
nlohmann::ordered_json case_sheet(const std::string& preset, const std::string& device, int threads);

}  // namespace isobar
