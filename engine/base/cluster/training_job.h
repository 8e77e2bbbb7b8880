#pragma once
// A training step on a cluster, simulated: ranks that compute at speeds of their own, collectives that begin
// when the last of a group has come, gradients that travel beside the backward pass, batches that are read
// beside everything. Data parallelism, sharded states, pipelines (pipeline_job.cpp); layers and tokens that
// ranks share, and ensembles, by the messages that these send while they compute.
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "cluster/collective.h"
#include "cluster/model_messages.h"
#include "config/choices.h"

namespace isobar {

struct TrainingJob {
  int gpus = 1;
  double micro_batch = 1;  ///< samples of a rank and pass
  int accumulate = 1;      ///< passes a step
  double parameters = 0;
  int layers = 1;  ///< units of equal size that are gathered one by one
  /// Part of `parameters` in the embedding: gathered first and kept, and their gradients are ready last.
  double outer_parameters = 0;
  /// 0: gradients are summed. 1, 2: they are scattered and weights gathered once a step. 3: weights are
  /// gathered in forward and in backward, unit by unit (what FSDP sends).
  int zero = 0;
  int shard_group = 0;      ///< ranks that share one copy of the states, consecutive ones; 0 = all
  bool checkpoint = false;  ///< backward computes forward again
  bool overlaps = true;     ///< false: gradients travel behind the backward pass
  double gather_bytes = 4;  ///< bytes of a gathered parameter
  double reduce_bytes = 4;  ///< bytes of a summed gradient
  double bucket_bytes = 25 * 1048576.0;
  double first_bucket_bytes = 1048576;
  double optimizer_us = 0;  ///< update of a rank of mean speed, of its share of the states
  // A pipeline where stages are several: `accumulate` micro-batches of `micro_batch` samples go through it.
  int stages = 1;  ///< ranks of one
  int chunks = 1;  ///< stages of each rank
  PipelineForm schedule = PipelineForm::one_f_one_b;
  double message_bytes = 0;  ///< a micro-batch sends so many from stage to stage
  /// Ranks that share each layer, and those that share the tokens. What they send is part of computing where
  /// no `messages` have it.
  int tensor = 1, context = 1;
  int ensemble = 1;                        ///< models that forecast the same samples
  std::vector<AxisMessage> messages = {};  ///< nothing is computed beside them
  std::string order = "tp-cp-pp-dp";       ///< mesh.order
  double load_us = 0;                      ///< a reader's time for the batch of a step, two steps ahead
};

/// Terms that are fitted to published points, since no machine states them.
struct SimulationTerms {
  LinkTerms link;
  double jitter = 0;     ///< standard deviation of the speed of ranks
  double sharing = 0;    ///< what a rank loses where all GPUs of its node work: power, memory, processors
  double update = 1;     ///< whole states: times optimizer_us that all work on weights and gradients takes
  double straggler = 1;  ///< so many times as long as its speed has it the slowest rank takes
  double overlap =
      1;  ///< part of the backward pass in which gradients become ready: the rest is before the first
  double contention = 0;  ///< what computing loses to a collective beside it all the time
};

/// Parts of a step on the rank that ends it; they add up to the step.
struct StepTerms {
  double forward_us = 0, backward_us = 0, optimize_us = 0;  ///< at mean speed
  double contention_us = 0;                                 ///< beside collectives
  double sharing_us = 0;                                    ///< beside other ranks of a node
  double jitter_us = 0;                                     ///< what the slowest rank takes longer
  double bubble_us = 0;                                     ///< idle time of a pipeline, with its messages
  double comm_us = 0;                                       ///< collectives that nothing hides
  double load_us = 0;                                       ///< waiting for the batch
  double step_us() const;
  void scale(double factor);  ///< all of them
  std::array<std::pair<const char*, double>, 9> named() const;
};

struct SimulatedStep {
  StepTerms terms;
  double comm_total_us = 0;  ///< all collectives, hidden or not
  double sent_bytes = 0;     ///< by each rank
  std::size_t activities = 0;
  double step_us() const { return terms.step_us(); }
};

/// all: each rank by itself. slowest: the rank that all others wait for, which gives the same step.
enum class SimulatedRanks : unsigned char { all, slowest };

/// `compute_us`: forward and backward of one pass, on a rank of mean speed without contention; of a pipeline
/// all its stages' together; of a model whose ranks share layers or tokens one rank's part. Speeds of n
/// ranks are the n-quantiles of a normal distribution: rank i takes 1 + jitter q((i + 1/2) / n) as long.
/// Error (exit code 2) for a job that does not fit its machine.
SimulatedStep simulate_step(const ClusterMachine& machine, const TrainingJob& job,
                            const SimulationTerms& terms, double compute_us,
                            SimulatedRanks which = SimulatedRanks::slowest);

/// simulate_step of a job with several stages. One pipeline stands for all: its stages are alike but for
/// those of one rank, which computes at the pace of the slowest of the job. Gradients are summed over
/// replicas behind it.
/// Error (exit code 2) for ranks that form no whole pipelines, and a schedule that is not of these numbers.
SimulatedStep simulate_pipeline(const ClusterMachine& machine, const TrainingJob& job,
                                const SimulationTerms& terms, double compute_us);

/// The compute_us with which the step takes `step_us`; 0 where the collectives alone take longer.
double calibrated_compute_us(const ClusterMachine& machine, const TrainingJob& job,
                             const SimulationTerms& terms, double step_us);

/// Ranks 0 to n - 1, node by node.
NodeGroup group_of(const ClusterMachine& machine, int ranks);

/// The p-quantile of the standard normal distribution, 0 < p < 1.
double normal_quantile(double p);

}  // namespace isobar
