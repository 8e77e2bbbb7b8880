#pragma once
// A lesson's step on more ranks than there are, by the simulation of engine/base/cluster, with the range that
// is left open by what is not published of a cluster, and with the error that such predictions had.
#include <optional>
#include <string>
#include <vector>

#include "analyse/predicted_run.h"
#include "analyse/scaling.h"
#include "cluster/back_test.h"
#include "cluster/terms.h"

namespace isobar {

/// Over the corners of the unknown terms.
struct OpenRange {
  double middle = 0, least = 0, most = 0;
  bool is_open() const { return most > least; }
};

struct ClusterPoint {
  int ranks = 1, nodes = 1;
  SimulatedStep step;  ///< with unknown terms in the middle of their ranges
  double batch = 0;    ///< samples a step, of all ranks
  OpenRange samples_per_s, efficiency;
};

struct ClusterPrediction {
  ClusterMachine machine;
  std::string device;  ///< whose rates stand for the machine's
  ScalingLaw law = ScalingLaw::weak;
  std::vector<ClusterPoint> points = {};  ///< ascending; the first is one rank
  /// Name of the largest term of the last point that is no computing; "" for a point of one rank.
  std::string ended_by() const;
  const ClusterPoint& last() const { return points.back(); }
};

/// Error (exit code 2) for schedules of files, compressed messages and averages of weights.
void check_modelled(const Config& config);

/// The job of a step in which the models of one ensemble train on these samples; activations have
/// `value_bytes`.
TrainingJob job_of(const Config& config, const VitShape& shape, double samples, std::int64_t value_bytes);

/// Most ranks that are simulated.
inline constexpr int kMostClusterRanks = 1'000'000;
/// Powers of two from 1 to `ranks`, and `ranks`.
std::vector<int> rank_counts(int ranks);

/// `on_one`: the step on one rank, whose batch each of the ranks has (weak), or all together (strong); strong
/// with `joint` above 0: all together have `joint` samples. Computing is predicted for the share of each
/// number of ranks. Error (exit code 2) for compressed messages, averages of weights, ranks of no whole
/// models, a batch that not every number of ranks divides, and a network that is not known.
ClusterPrediction predict_on_cluster(const Prediction& on_one, const ClusterMachine& machine, ScalingLaw law,
                                     const std::vector<int>& ranks, const SimulationTerms& terms,
                                     double joint = 0);

/// Which of two has the higher efficiency on so many ranks, over the whole of both ranges.
struct ClusterOrder {
  std::string better;  ///< name of the machine; "" = cannot be decided
  std::string term;    ///< the unknown term that moves the difference most
};
/// Error (exit code 2) for two of one name.
ClusterOrder order_of(const Prediction& on_one, const ClusterMachine& a, const Prediction& on_other,
                      const ClusterMachine& b, ScalingLaw law, int ranks, const SimulationTerms& terms,
                      double joint = 0);

/// The step of a lesson on one GPU of a cluster, the device that [machine] rates names; of a pipeline the
/// work of all its stages, of other split models a rank's. Each rank has to fit.
Prediction predict_on_one(const LessonInfo& lesson, const Settings& settings, const ClusterMachine& machine,
                          const std::string& command);

/// A lesson on several clusters.
struct ClusterStudy {
  Config config = {};  ///< with the ranks of one model
  std::vector<ClusterPrediction> clusters;
  std::vector<ClusterOrder> orders;  ///< each cluster and the next one

  std::string order_sentence(std::size_t index) const;
};
/// `set`: terms that are not as they were fitted, "jitter=0.03"; a term that is set is no range any more.
ClusterStudy study_clusters(std::vector<ClusterMachine> machines, const LessonInfo& lesson,
                            const Settings& settings, ScalingLaw law, int ranks,
                            const std::vector<std::string>& set, const std::string& command);

/// How far off published points are with some terms. Nothing where none was predicted.
struct EarnedErrors {
  std::optional<ErrorFigures> calibration, test;         ///< all classes
  std::optional<ErrorFigures> data_parallel, pipelines;  ///< points of that class in the test split

  /// The error that predictions of data-parallel steps carry, or those of pipelines; "" where there is none.
  std::string sentence(bool of_pipelines = false) const;
};
/// What is known of the error of predictions of such steps: EarnedErrors::sentence, or that no point of their
/// kind was published, or that those that were are not predicted; "" where nothing is.
std::string known_error(const EarnedErrors& earned, const Config& config);
/// The end of it for what has no graded point: "no published point of context parallel: this prediction is
/// not graded"; "" for all else.
std::string ungraded(const Config& config);
/// Nothing at all where the file of published points is missing.
EarnedErrors earned_errors(const std::filesystem::path& home, const SimulationTerms& terms);

}  // namespace isobar
