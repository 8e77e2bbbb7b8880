#pragma once
// A training that another program logged, in the terms of ours: steps count from 0, a score after n steps is
// at n.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "record/left_out.h"

namespace isobar {

/// A line of the log. It stands for the steps since the line before it, up to `step`: a mean over them, or
/// the value of the last.
struct ForeignStep {
  std::int64_t step = 0;
  std::int64_t stands_for = 1;
  std::int64_t epoch = 0;
  std::optional<double> loss = {};
  std::optional<double> lr = {};
  std::optional<double> step_s = {};  ///< mean time of one
  std::optional<double> at_s = {};    ///< since the run began
  std::optional<double> peak_bytes = {};
  std::vector<std::pair<std::string, double>> others = {};
};

struct ForeignScore {
  std::int64_t step = 0;
  std::optional<double> loss = {};
  std::optional<double> took_s = {};
  std::optional<double> at_s = {};
  std::vector<std::pair<std::string, double>> others = {};  ///< "rmse_u10m"
};

struct ForeignRun {
  std::string source;       ///< who wrote the log: "tutorial", "lightning"
  std::string name;         ///< of the run there: "short-4GPU-00"
  std::string preset = {};  ///< its configuration's name, "" = not said
  std::string device = {};
  std::string precision = "none";
  std::string started = {};
  std::int64_t batch = 0;  ///< samples a step of all ranks; 0 = not known
  std::int64_t gpus = 0;   ///< that trained together; 0 = not said
  std::int64_t steps_per_epoch = 0;
  std::optional<double> first_loss = {};  ///< of the untrained model
  std::vector<ForeignStep> steps = {};
  std::vector<ForeignScore> scores = {};
  std::string failure = {};                       ///< what ended it, "" = nothing did
  LeftOut left_out = {};                          ///< of what the files hold
  std::vector<std::string> notes = {};            ///< what is not known or was guessed
  std::vector<std::filesystem::path> files = {};  ///< that it was read from
};

/// What a log does not say, and who imports it knows.
struct ImportWish {
  std::int64_t batch = 0;  ///< 0 = as the log says
  std::string device = {};
  std::string train_loss = {}, valid_loss = {};  ///< columns of Lightning's table, "" = by their names
};

}  // namespace isobar
