#pragma once
// A prediction as a run folder.
#include <filesystem>
#include <string>

#include "config/config.h"
#include "formula/step_time.h"

namespace isobar {

struct Prediction {
  std::string lesson;
  std::string preset;
  std::string point;    ///< "key=value ...", what was set beyond the lesson and its preset; "" = nothing
  std::string command;  ///< that made it
  Config config;
  StepForm form;
  DeviceRates device;
  StepTime time;

  double samples_per_s() const;
  double flops_per_sample() const;
};

/// Writes run.toml and a stream of a few equal steps into `folder`, which must be new or empty (Error, exit
/// code 2). Stages, launches and bytes are there; losses are not, since no formula knows them.
void write_predicted_run(const Prediction& prediction, const std::filesystem::path& folder);

}  // namespace isobar
