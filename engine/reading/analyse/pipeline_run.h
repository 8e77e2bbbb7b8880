#pragma once
// Steps of a pipeline from the spans of a run: track "pipeline" of each rank, a span for each action ("2F0").
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/comm_times.h"
#include "analyse/pipeline_step.h"
#include "core/json.h"
#include "log/run_files.h"
#include "log/spans.h"

namespace isobar {

inline constexpr std::string_view kPipelineTrack = "pipeline";

/// "2F0"; nothing for what is none, or of a stage or micro-batch beyond what is drawn.
std::optional<PipelineAction> action_named(std::string_view cell);

/// Whether the table has actions of a pipeline.
bool has_pipeline(const SpanTable& table);

/// What the configuration of a run has, where it is known.
struct PipelineShape {
  std::optional<PipelineForm> form = {};  ///< mesh.schedule
  int stages = 0;                         ///< mesh.pp x mesh.chunks; 0 = not known
  int parts = 0;                          ///< train.accumulate; 0 = not known
};
PipelineShape pipeline_shape(const ConfigText& config);

/// The spans of one rank.
struct PipelineRank {
  int rank = 0;
  const SpanTable* table = nullptr;
  std::int64_t shift_us = 0;  ///< added to its times, so that all ranks have one clock
};

struct PipelineRun {
  PipelineStep drawn;                   ///< the wanted step, else the steady one nearest to their median
  std::int64_t steps = 0;               ///< traced steps of all ranks that figures are over
  StepRange of = {};                    ///< the first and the last of them
  std::vector<std::int64_t> traced;     ///< all steps that all ranks traced, in order
  double idle_share = 0, of_ideal = 0;  ///< medians over them
  PipelineCosts costs = {};             ///< means over them
  SlowestStage slowest = {};
  int slowest_rank = 0;
  /// The drawn schedule on a clock of events with `costs` and messages that take no time, and with equal
  /// stages; nothing where the drawn step is not whole.
  std::optional<PipelineStep> scheduled = {};
  double equal_idle = 0;   ///< idle share with equal stages
  std::string lacks = {};  ///< what part of the spans cannot be used; "" = nothing
};

/// Ranks that hold the same stages as one before are of another pipeline, and left out. Nothing where no rank
/// has actions. Error (exit code 2) when step `wanted` (-1: any) was not traced by all of them. Steps in
/// which a rank's actions take no time are left out.
std::optional<PipelineRun> pipeline_run(const std::vector<PipelineRank>& ranks, const PipelineShape& shape,
                                        StepRange steady = {}, std::int64_t wanted = -1);

/// What to add to the times of `other`: ranks of one machine have one clock, that of another is set by the
/// ends of collectives.
std::int64_t clock_shift_us(const SpanTable& first, const SpanTable& other, bool is_one_machine);

/// From the files of a run: ranks of other machines have their clock set by the ends of collectives.
/// At most 64 ranks are read. A rank without spans is left out, which `lacks` names. Nothing where no rank
/// has spans of a pipeline.
std::optional<PipelineRun> read_pipeline(const std::filesystem::path& run, StepRange steady = {},
                                         std::int64_t wanted = -1);

/// Sentences: idle shares over the steps beside the formula's, the schedule with these times, what the rest
/// is, and the slowest stage.
std::vector<std::string> pipeline_sentences(const PipelineRun& run);
Json pipeline_json(const PipelineRun& run);

/// A copy whose names on the track "pipeline" are works, "forward", "backward", "weights": for the timeline
/// of one rank, which does not distinguish micro-batches.
SpanTable with_works(SpanTable table);

}  // namespace isobar
