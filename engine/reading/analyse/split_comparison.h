#pragma once
// A step whose ranks share the tokens of a model, beside one whose ranks share its layers instead: what of
// the difference is computing, messages, and the rest.
#include <cstdint>
#include <string>
#include <vector>

#include "cluster/training_job.h"
#include "config/config.h"
#include "config/lesson.h"
#include "core/processors.h"
#include "formula/machine_rates.h"

namespace isobar {

struct SplitTerm {
  std::string name;
  double tokens_us = 0;  ///< mesh.cp
  double layers_us = 0;  ///< mesh.tp
  double saved_us() const { return layers_us - tokens_us; }
};

struct SplitComparison {
  std::vector<SplitTerm> terms = {};                   ///< they add up to both steps
  double tokens_bytes = 0, layers_bytes = 0;           ///< sent by a rank to others of its model
  std::uint64_t tokens_memory = 0, layers_memory = 0;  ///< a rank's

  double tokens_us() const;
  double layers_us() const;
  bool tokens_are_faster() const { return tokens_us() < layers_us(); }
  /// The term that differs most in the direction of the whole difference.
  const SplitTerm& largest() const;
  /// "mesh.cp=2 takes 41.20 ms a step, mesh.tp=2 50.10 ms; most of the difference is computing: 6.10 ms
  /// less". `cp` ranks on tokens, `tp` on layers beside them.
  std::string sentence(std::int64_t cp, std::int64_t tp = 1) const;
};

/// `config` with its mesh.cp ranks on mesh.tp instead.
Config with_split_layers(Config config);
/// Whether that is a mesh: heads that its ranks share out.
bool can_split_layers(const Config& config);

/// On this machine. Error (exit code 2) for what predict_stages refuses.
SplitComparison compare_splits(const LessonInfo& lesson, const Config& config, const MachineRates& rates,
                               const Processors& here);

/// The terms of two simulated steps.
SplitComparison compare_splits(const SimulatedStep& tokens, const SimulatedStep& layers);

}  // namespace isobar
