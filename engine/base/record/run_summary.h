#pragma once
// What is left of a run in a dozen numbers, and how they are printed. A run fills it in step by step; a
// reader fills it in from the stream, with equal values.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "record/json_line.h"

namespace isobar {

/// What one step of the warm-up was made of (device/operator_watch.h).
struct WatchedSummary {
  std::int64_t step = -1;        ///< -1 = none was watched
  std::int64_t launches = 0;     ///< calls of operators that touch data
  std::int64_t moved_bytes = 0;  ///< bytes that they read and wrote
  std::vector<std::pair<std::string, double>>
      class_us;                        ///< class of operators ("gemm") and time of all of them
  std::vector<std::string> attention;  ///< operators that attention ran as, forward

  /// Adds a name once; at most 20 are kept.
  void add_attention(const std::string& name);
  double all_us() const;
  double time_us(std::string_view operator_class) const;  ///< 0 for one without operators
};

/// The fused operators among these names, or "plain operators (bmm, ...)"; "" without any.
std::string attention_text(const std::vector<std::string>& names);

/// Above this wait a rate depends more on other programs than on the run.
inline constexpr double kCrowdedWait = 0.1;

struct RunSummary {
  std::int64_t steps = 0;
  std::int64_t wanted_steps = 0;
  std::int64_t world = 1;     ///< ranks that train together
  std::int64_t replicas = 1;  ///< models that they hold: each of world / replicas ranks
  std::int64_t samples = 0;   ///< sum over all ranks
  double wall_s = 0;
  std::string measure;  ///< what a run that only measures does ("full", "io", "synthetic"); "" = it trains
  bool has_losses = false;  ///< it trains and reports losses; a predicted run has none
  std::string precision;    ///< "tf32", "fp16" or "bf16"; "" = fp32
  bool emulated = false;    ///< those 16 bits, by fp32 products: this processor has no instructions for them
  double first_loss = 0;    ///< losses are set for a run that trains only
  double last_loss = 0;
  double scale = 0;          ///< loss scale at the end; 0 = not scaled
  std::int64_t skipped = 0;  ///< steps in which a gradient overflowed, so that no update was made
  bool has_valid_loss = false;
  double valid_loss = 0;
  bool has_scores = false;  ///< the scores below are set; a log of another program may have only a loss
  std::string headline;     ///< the channel that the scores below are of, "u10m"
  double rmse = 0;
  double persistence_rmse = 0;
  double climatology_rmse = 0;  ///< 0 = the data set has no climatology
  // Over the steady steps: those after the warm-up.
  std::int64_t warm_up_steps = 0;
  double samples_per_s = 0;  ///< sum over all ranks; 0 = no step was steady
  double step_us = 0;        ///< mean
  std::vector<std::pair<std::string, double>>
      stages_us;  ///< name and mean time a step, in the order of a step
  // Figures of the loader over the steady steps.
  double stall_us = 0;           ///< mean time a step that the loop waited for its batch
  double ready_slots = 0;        ///< mean number of batches that lay ready when one was asked for
  std::int64_t slots = 0;        ///< most that can; 0 = nothing is read ahead
  std::int64_t read_bytes = 0;   ///< all of it; 0 = not known
  std::int64_t read_cpu_us = 0;  ///< processor time that reading and normalising took
  /// The share of the time in which the training loop's thread could have run and waited for a processor; -1
  /// = not known.
  double processor_wait = -1;
  // Averaging of gradients over the steady steps; means per step.
  double comm_total_us = 0;  ///< collectives were under way, beside backward or not (the stage comm is what
                             ///< shows); -1 = not known
  double comm_calls = 0;
  double wire_bytes = 0;     ///< bytes that this rank sent
  double tp_calls = 0;       ///< calls of split layers among them
  double tp_wire_bytes = 0;  ///< bytes that split layers sent
  double cp_calls = 0;       ///< calls of ranks that share tokens, likewise
  double cp_wire_bytes = 0;  ///< bytes that these sent
  double waited_us = 0;      ///< for the rank that came last
  int waited_for = -1;       ///< the rank that came last most often, -1 = not known
  std::uint64_t predicted_bytes =
      0;                         ///< memory of this rank at its peak, as worked out before; 0 = it was not
  std::uint64_t peak_bytes = 0;  ///< measured peak; 0 = not known
  double flops_per_sample = 0;   ///< forward and backward, model operations
  double redone_flops_per_sample = 0;  ///< those of forward that backward does again (formula/recompute.h)
  double peak_flops_per_s =
      0;  ///< peak of matrix products in their precision, measured or predicted; 0 = not known
  bool peak_of_data_sheet = false;  ///< the peak is not measured
  WatchedSummary watched;           ///< the step that was looked at closely

  std::optional<double> stage_us(const std::string& stage) const;  ///< mean
  /// The arithmetic of the products: "fp32" also where 16 bits are emulated.
  std::string arithmetic() const;
  /// Model operations per second and rank over the peak of one; 0 when one of them is not known, or when the
  /// peak was measured too low. Data loading is inside the clock.
  double mfu() const;
  /// With the operations that are done again, which the device does and the model does not need.
  double hfu() const;
  /// The steps did more operations a second than the peak that was measured: another program took part in it.
  bool peak_is_too_low() const;
  /// Processors were shared to an extent that lowers rates.
  bool is_crowded() const { return processor_wait > kCrowdedWait; }
};

/// Steps that are not steady in a run that only measures, whatever its epochs.
inline constexpr std::int64_t kMeasureWarmUpSteps = 3;

/// Warm-up steps of a run that trains for `steps`: the first epoch, or 20 steps when an epoch is longer than
/// 64, but no more than a quarter of the run, or three. 0 steps = how many is not known.
std::int64_t warm_up_steps(std::int64_t steps_per_epoch, std::int64_t steps);

/// "the training loop waited for a processor 36 % of the time: ..."
std::string crowded_sentence(double processor_wait);

/// One sentence of what a run with this `run.measure` does; "" for "none" and "".
std::string measure_sentence(const std::string& measure);

/// The `summary` line of the stream.
JsonLine summary_event(const RunSummary& summary);

/// A few lines for a person. `provenance` is "" for figures that were measured in this run, "recorded" for a
/// run of another machine or day, "predicted" for one that nobody ran.
std::vector<std::string> summary_lines(const RunSummary& summary, const std::string& provenance = "");

/// "load 6 %, forward 33 %, ..." of the step, the rest included.
std::string stage_shares(const std::vector<std::pair<std::string, double>>& stages_us, double step_us);

}  // namespace isobar
