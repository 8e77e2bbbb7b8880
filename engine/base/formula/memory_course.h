#pragma once
// The memory of a rank through one predicted step: moment by moment the bytes of formula/memory_plan.h, in
// the form in which a run records them (record/memory_timeline.h), so that both are drawn alike.
#include <array>
#include <cstdint>

#include "formula/memory_plan.h"
#include "formula/stage_prediction.h"
#include "record/memory_timeline.h"

namespace isobar {

/// The most passes of a step that are drawn: of more each stands for several, since all are alike.
inline constexpr std::int64_t kMostDrawnPasses = 16;

/// Bytes of `plan` by category, without the program: buffers and what is in flight are communication, N x N
/// matrices activations, `working` is workspace.
std::array<std::uint64_t, kHeldCategories> held_bytes(const MemoryPlan& plan);

/// Each pass enters the embedding, every block and the head, forward and backward; a block that is computed
/// again holds its activations once more while backward is in it. The optimiser follows; where ranks share
/// states, what they gather comes behind it. The largest moment holds held_bytes(plan_memory(...)) and the
/// program is beside it; where the update takes more than a backward pass (plain Adam on a CUDA device, few
/// samples), its sum is that of the plan while no activations are left. On a CPU workspace has, through the
/// whole step, what emulated products widen and what plain Adam makes.
///
/// Of a pipeline it is the rank that holds most, by its actions (pipeline_timeline).
///
/// `times` are those of the step. Without any (step_us() = 0) units take time by their operations, a step has
/// 100,000 of `at_us`, and MemoryTimeline::step_us is 0.
MemoryTimeline memory_course(const Config& config, const MemoryFacts& facts, const StepStages& times = {});
/// With a lesson, keys that it does not honour have no effect.
MemoryTimeline memory_course(const LessonInfo& lesson, const Config& config, const MemoryFacts& facts,
                             const StepStages& times = {});

/// The rank of a pipeline that holds most: a moment for the beginning and the end of each action; owners are
/// its stages. `times`: null = F, I and W take one time for each block, and a step `span_us`.
MemoryTimeline pipeline_timeline(const Config& config, const MemoryFacts& facts, const PipelineTimes* times,
                                 double optimize_us, double span_us);

}  // namespace isobar
