#pragma once
// Published measurements of training on many GPUs: lessons/published_scaling.toml, or a file of its form.
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cluster/training_job.h"
#include "core/choice.h"

namespace isobar {

enum class PointClass : unsigned char { dp, fsdp, tp, cp, pp };
inline constexpr std::array kPointClasses = {"dp", "fsdp", "tp", "cp", "pp"};
constexpr Choices choices_of(PointClass) { return kPointClasses; }

enum class PointSplit : unsigned char { calibration, test };
inline constexpr std::array kPointSplits = {"calibration", "test"};
constexpr Choices choices_of(PointSplit) { return kPointSplits; }

/// One [[point]]. Numbers that a point lacks are 0.
struct PublishedPoint {
  std::string id;
  std::string source;
  std::string series;
  PointClass kind = PointClass::dp;
  PointSplit split = PointSplit::test;
  std::vector<std::string> assumed;  ///< what its source does not state
  ClusterMachine machine;
  // [point.model]
  double parameters = 0, layers = 0, width = 0, sequence = 0, vocabulary = 0;
  double flops_per_sample = 0;  ///< forward and backward
  std::string sample = {};      ///< what samples_per_s_per_gpu counts: "token" or "image"
  // [point.job]
  int gpus = 0, replicas = 1, tensor = 1, context = 1, pipeline = 1, shard_group = 0;
  int zero = -1;           ///< -1 = of its class: 0 of dp, 3 of fsdp
  double micro_batch = 0;  ///< sequences or images of a rank and pass
  int accumulate = 1;
  int chunks = 1;  ///< stages of each rank of a pipeline
  std::optional<PipelineForm> schedule = {};
  std::string order = {};  ///< axes from the nearest ranks on; "" = tp-cp-dp-pp
  bool checkpoint = false;
  bool overlap = true;  ///< false: gradients travel behind the backward pass
  std::string precision, reduce_precision;
  std::string anchor;  ///< id of the point whose rate calibrates compute; "" = none
  double samples_per_s_per_gpu = 0;
  std::string origin;  ///< file:line:column

  /// Ranks that hold one model.
  int model_ranks() const { return tensor * context * pipeline; }
  /// A pipeline may have split layers, as its anchor has them.
  bool is_modelled() const {
    if (kind == PointClass::pp) return pipeline > 1 && context == 1;
    return (kind == PointClass::dp || kind == PointClass::fsdp) && model_ranks() == 1;
  }
};

struct PublishedFile {
  std::vector<PublishedPoint> points;
  std::vector<std::string> notes;  ///< keys that were not taken, a sentence each

  const PublishedPoint* find(const std::string& id) const;  ///< null where there is none
};

/// Fields that are not of the form become notes. Error (exit code 2, file:line:column) for a point without
/// id, class, job.gpus or samples_per_s_per_gpu, two points of one id, an anchor that is no point, anchors
/// that form a cycle, and a value that is none of its form.
PublishedFile read_published(const std::filesystem::path& file);
PublishedFile parse_published(const std::string& text, const std::string& name);

/// The job of a point that is modelled. Adds to `assumed` what it fills in for numbers that the point lacks.
TrainingJob job_of(const PublishedPoint& point, std::vector<std::string>& assumed);

}  // namespace isobar
