#pragma once
// A training that another program logged, in the terms of ours (steps count from 0, a score after n steps is
// at n): from which files it is read, and the run folder of ours that it becomes.
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
  std::string name;         ///< name of the run there: "short-4GPU-00"
  std::string preset = {};  ///< its configuration's name, "" = not known
  std::string device = {};
  std::string precision = "none";
  std::string started = {};
  std::int64_t batch = 0;  ///< samples a step of all ranks; 0 = not known
  std::int64_t gpus = 0;   ///< GPUs that trained together; 0 = not known
  std::int64_t steps_per_epoch = 0;
  std::optional<double> first_loss = {};  ///< loss of the untrained model
  std::vector<ForeignStep> steps = {};
  std::vector<ForeignScore> scores = {};
  std::string failure = {};                       ///< what ended it, "" = nothing did
  LeftOut left_out = {};                          ///< contents of the files that are left out
  std::vector<std::string> notes = {};            ///< what is not known or was guessed
  std::vector<std::filesystem::path> files = {};  ///< files that it was read from
};

/// Facts that a log lacks, from the user who imports it.
struct ImportWish {
  std::int64_t batch = 0;  ///< 0 = the log's
  std::string device = {};
  std::string train_loss = {}, valid_loss = {};  ///< columns of Lightning's table, "" = by their names
};

/// The columns of the losses are found by their names (train..., val... or valid..., with "loss"), or by
/// `wish`. Error (exit code 2) where no column does, with those there are.
ForeignRun read_lightning_run(const std::filesystem::path& file, const ImportWish& wish);

/// What stands in the folder: the same log gives the same bytes.
struct RunText {
  std::string config;   ///< text of run.toml, but for its last line
  std::string sources;  ///< the last line of run.toml: where the log lay, which may change
  std::string stream;   ///< text of rank-0000.jsonl
};

/// The stream has provenance "recorded" and `source`. One log is about all GPUs, so it is that of one rank
/// (world 1) whose samples are those of all; how many GPUs there were stands in run.toml (run.ranks).
RunText run_text(const ForeignRun& run);

/// "imported-short-4GPU-00-3fa2b1c9": its name there, and the checksum of what is written but for `sources`.
std::string folder_name(const ForeignRun& run, const RunText& text);

enum class Imported {
  new_run,
  known,   ///< the folder is there with equal contents, of a log that lies here or elsewhere
  changed  ///< the folder is there with other contents: it is left unchanged
};

/// Writes `folder` unless it is there; what is there is never written over, but for one thing: the run.toml
/// that an import before could not write any more is added. Error (exit code 2) for a link.
Imported write_run(const std::filesystem::path& folder, const RunText& text);

/// A run of the ERA5 tutorial from its out.log, its event files, or both. Values are those of the event files
/// where there are some, times of an epoch those of the log. `folder` is EXPERIMENTS/CONFIG/4GPU/RUN, as the
/// tutorial makes it; of another form it only gives its name. An empty `log` or no `events` is none. Error
/// (exit code 2) for logs without a training, and for a log alone whose batch is not known.
ForeignRun read_tutorial_run(const std::filesystem::path& log,
                             const std::vector<std::filesystem::path>& events,
                             const std::filesystem::path& folder, const ImportWish& wish);

}  // namespace isobar
