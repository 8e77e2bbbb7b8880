// The memory of a rank of a pipeline through one predicted step.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "core/stage.h"
#include "formula/memory_course.h"
#include "formula/model_shape.h"
#include "formula/pipeline_memory.h"

namespace isobar {
namespace {

class TimelineMaker {
 public:
  TimelineMaker(const Config& config, const MemoryFacts& facts, const PipelineSchedule& schedule)
      : blocks_(blocks_of_stages(config.model.depth, schedule.stages, config.mesh.stage_blocks)) {
    const std::vector<MemoryPlan> plans = plans_of_pipeline(config, facts);
    const auto most =
        std::max_element(plans.begin(), plans.end(),
                         [](const MemoryPlan& a, const MemoryPlan& b) { return a.total() < b.total(); });
    plan_ = *most;
    rank_ = static_cast<int>(most - plans.begin());
    stages_ = schedule.stages_of(rank_);
    const VitShape shape = vit_shape(config);
    const TrainingForm form = training_form(config, facts);
    for (const int stage : stages_) by_stage_[stage] = bytes_of_stage(shape, form, blocks_, stage);
    matrices_ = static_cast<double>(plan_.attention) /
                static_cast<double>(std::max<std::int64_t>(1, kept_blocks(schedule, blocks_, rank_)));
    const TrainingBytes bytes = count_pipeline_bytes(shape, form, schedule, blocks_, rank_);
    out_.rank = rank_;
    out_.device = facts.on_cuda ? "cuda" : "cpu";
    out_.micro_batches = schedule.parts;
    out_.program_bytes = plan_.program;
    base_ = held_bytes(plan_);
    at(base_, MemoryCategory::activations) = 0;
    at(base_, MemoryCategory::workspace) = plan_.working - std::min(plan_.working, bytes.working);
    for (const int stage : stages_) out_.owners.push_back(fmt::format("stage {}", stage));
  }

  MemoryTimeline make(const PipelineCourse& course, double optimize_us) && {
    double free_us = 0;
    for (const PlacedAction& placed : course.actions) {
      if (placed.rank != rank_) continue;
      if (placed.begin_us > free_us) enter(Stage::comm, free_us, placed.begin_us);
      take(placed);
      free_us = placed.end_us;
    }
    if (course.step_us > free_us) enter(Stage::comm, free_us, course.step_us);
    enter(Stage::optimize, course.step_us, course.step_us + optimize_us);
    moment(course.step_us, 0);
    out_.step_us = std::llround(course.step_us + optimize_us);
    thin_moments(out_);
    return std::move(out_);
  }

 private:
  using Bytes = std::array<std::uint64_t, kHeldCategories>;
  static std::uint64_t& at(Bytes& bytes, MemoryCategory category) {
    return bytes[static_cast<std::size_t>(category)];
  }

  void take(const PlacedAction& placed) {
    const StageBytes& own = by_stage_[placed.action.stage];
    const PipelineWork work = placed.action.work;
    const bool is_backward = work == PipelineWork::backward || work == PipelineWork::input;
    const StageBlocks& blocks = blocks_[static_cast<std::size_t>(placed.action.stage)];
    const auto matrices =
        static_cast<std::uint64_t>(matrices_ * static_cast<double>(blocks.end - blocks.first));
    std::uint64_t& kept = kept_[placed.action.stage];
    enter(work == PipelineWork::forward ? Stage::forward : Stage::backward, placed.begin_us, placed.end_us);
    if (work == PipelineWork::forward) kept += own.kept + matrices;
    moment(placed.begin_us, is_backward ? own.working : 0);
    if (is_backward) kept -= own.kept + matrices;
    if (work == PipelineWork::input) kept += own.split;
    if (work == PipelineWork::weight) kept -= own.split;
    moment(placed.end_us, 0);
  }

  void enter(Stage stage, double begin_us, double end_us) {
    out_.stages.push_back(
        {.name = name_of(stage), .begin_us = std::llround(begin_us), .end_us = std::llround(end_us)});
  }

  void moment(double at_us, std::uint64_t working) {
    MemoryMoment now{.at_us = std::llround(at_us), .bytes = base_};
    for (const int stage : stages_) {
      now.activations.push_back(kept_[stage]);
      at(now.bytes, MemoryCategory::activations) += kept_[stage];
    }
    at(now.bytes, MemoryCategory::workspace) += working;
    if (now.total() > most_) {
      most_ = now.total();
      out_.peak_stage = out_.stages.back().name;
    }
    out_.moments.push_back(std::move(now));
  }

  std::vector<StageBlocks> blocks_;
  MemoryPlan plan_;
  int rank_ = 0;
  std::vector<int> stages_;
  std::map<int, StageBytes> by_stage_;
  std::map<int, std::uint64_t> kept_ = {};
  double matrices_ = 0;  ///< N x N ones, of a block
  Bytes base_ = {};
  std::uint64_t most_ = 0;
  MemoryTimeline out_;
};

PipelineCourse counted_course(const PipelineSchedule& schedule, const std::vector<StageBlocks>& blocks,
                              double span_us) {
  PipelineCosts costs;
  const auto in_turn = [&](double scale) {
    costs = {};
    for (const StageBlocks& own : blocks)
      costs.forward_us.push_back(scale * static_cast<double>(own.end - own.first));
    costs.input_us = costs.weight_us = costs.forward_us;
    return course_of(schedule, costs);
  };
  return in_turn(span_us / in_turn(1).step_us);
}

}  // namespace

MemoryTimeline pipeline_timeline(const Config& config, const MemoryFacts& facts, const PipelineTimes* times,
                                 double optimize_us, double span_us) {
  const PipelineSchedule schedule = schedule_of(config);
  TimelineMaker maker(config, facts, schedule);
  if (times != nullptr) return std::move(maker).make(times->course, optimize_us);
  const auto blocks = blocks_of_stages(config.model.depth, schedule.stages, config.mesh.stage_blocks);
  constexpr double kUpdate = 0.04;
  MemoryTimeline out =
      std::move(maker).make(counted_course(schedule, blocks, (1 - kUpdate) * span_us), kUpdate * span_us);
  out.step_us = 0;
  return out;
}

}  // namespace isobar
