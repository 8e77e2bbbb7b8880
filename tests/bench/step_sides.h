#pragma once
// Whole training steps, ours and PyTorch's, each in a process of its own with the same weights and batches.
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/worker.h"

namespace isobar {

inline constexpr int kStepPatience_s = 900;  // for one answer of a worker: a compiler may work in it

/// Our step in a process of its own: writes `sheet` (bench/case_sheet.h; "fused": that of lesson 05) to
/// `folder`, and the worker writes weights and batches there. `environment`: more variables, "NAME=value".
Worker our_step(const std::filesystem::path& folder, const nlohmann::ordered_json& sheet,
                const std::vector<std::string>& environment = {});

struct StepSides {
  /// Starts both. `environment`: more variables of the peer.
  StepSides(const std::filesystem::path& folder, const nlohmann::ordered_json& sheet,
            const std::filesystem::path& peers, const std::vector<std::string>& environment = {});

  /// Ten steps of both from the same weights, PyTorch's in `form`: how far their losses are apart. Beyond the
  /// tolerance of the tests it is an Error (exit code 1), for a comparison of speed would mean nothing.
  double largest_difference(const std::string& form);

  /// PyTorch offers its plain Adam as a loop over the tensors and as operations over lists of them: the one
  /// that is quicker here.
  std::string better_form(int steps);

  Worker ours;
  Worker peer;

 private:
  double tolerance_;
};

/// Medians of one block's steps and parts, in milliseconds.
std::map<std::string, double> step_block(Worker& worker, int steps);

}  // namespace isobar
