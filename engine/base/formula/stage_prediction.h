#pragma once
// The stages of a step on the machine at hand, predicted from a configuration and the machine's rates: what
// predict prints and what the window draws dotted before anything has run.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"
#include "config/lesson.h"
#include "core/processors.h"
#include "formula/machine_rates.h"
#include "formula/pipeline_step.h"
#include "formula/step_time.h"

namespace isobar {

/// The step that a lesson's page runs with this configuration, on one rank: a key that the lesson does not
/// honour leaves its piece plain. `on_cuda` decides what amp.mode auto and mixed are.
StepForm step_form(const LessonInfo& lesson, const Config& config, bool on_cuda);

/// Microseconds of one rank. Stages add up to the step.
struct StepStages {
  double load_us = 0;  ///< time that the loop waits for its batch
  double forward_us = 0;
  double backward_us = 0;
  double comm_us = 0;  ///< communication that nothing hides
  double optimize_us = 0;
  // Beside the stages.
  double read_us = 0;        ///< until a batch is read and normalised, by any thread
  double read_bytes = 0;     ///< bytes of the files, a step
  double comm_total_us = 0;  ///< collectives, hidden or not
  double wire_bytes = 0;     ///< bytes that the rank sends a step
  // Parts of comm_us, comm_total_us and wire_bytes that nothing is computed beside.
  double model_comm_us = 0;     ///< between ranks that share the tokens or the layers of a model
  double model_wire_bytes = 0;  ///< sent there
  double ensemble_us = 0;       ///< members' forecasts, gathered for the loss
  double gather_us = 0;         ///< part of read_us: fields that ranks of a read group send each other
  /// With mesh.pp above 1; the stages are those of its first rank, for which comm is idle time too.
  std::optional<PipelineTimes> pipeline = {};

  double step_us() const { return load_us + forward_us + backward_us + comm_us + optimize_us; }
  /// By the names of core/stage.h, in the order of a step.
  std::vector<std::pair<std::string, double>> named() const;
  /// The rate at which the loop does not wait, for all ranks of the machine; 0 where nothing is read.
  double needed_bytes_per_s(std::int64_t ranks) const;
};

/// Bytes of the files that a rank reads for a step; 0 where data.source is made up.
double read_bytes_a_step(const Config& config);

/// Threads of tensor operations of a rank, of those that ./isobar run starts.
int threads_a_rank(const Config& config, const Processors& here);

/// The slower of comm.link and what was measured, in each way. A rate of 0 is no limit.
Link link_between(const Config& config, const Link& measured);

/// The slower of comm.node_link, where it is set, else comm.link, and what was measured: between ranks that
/// share their states.
Link node_link_between(const Config& config, const Link& measured);

/// What bounds reading: bytes at the rate of one reader times the readers that find a processor, or at
/// data.throttle_mb_per_s. Ranks and who reads ahead share the processors. Gradients go round a ring
/// (formula/link.h) over the slower of the machine's link and comm.link, bucket by bucket beside the backward
/// pass (formula/overlap.h); copied into buckets and back they are read and written twice. Compressed ones go
/// as formula/compressed_step.h has it, those of shared states as
/// formula/sharded_step.h. Buffers that are broadcast make the forward pass longer. Stages of a pipeline go
/// by its clock (formula/pipeline_step.h), on which ranks share the processors while they compute; gradients
/// are summed behind it. Ranks of one model do their parts of its blocks and wait for what they send each
/// other (formula/context_parallel.h, tensor_parallel.h); gradients are averaged over models, and those of
/// own tokens summed behind them. A rollout has so many passes as forecasts, and a member of an ensemble is a
/// sample. Ranks that read together read their parts at the same time and gather them. Error (exit code 2)
/// for types without a rate.
StepStages predict_stages(const LessonInfo& lesson, const Config& config, const MachineRates& rates,
                          const Processors& here);

}  // namespace isobar
