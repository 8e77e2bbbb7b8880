#include "formula/memory_course.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/stage.h"
#include "formula/model_shape.h"

namespace isobar {
namespace {

constexpr double kCourseSpan = 1e5;  // at_us of a step whose time is not known

std::uint64_t share_of(std::uint64_t bytes, std::int64_t part, std::int64_t parts) {
  return static_cast<std::uint64_t>(static_cast<double>(bytes) * static_cast<double>(part) /
                                    static_cast<double>(parts));
}

/// What a unit of the model takes of the time of its pass: embedding, each block, head.
struct UnitShares {
  double embedding = 0, block = 0, head = 0;
};

UnitShares forward_shares(const VitShape& shape) {
  const ForwardFlops flops = count_forward_flops(shape);
  const double blocks = flops.total() - flops.patch - flops.head;
  return {flops.patch / flops.total(), blocks / flops.total() / static_cast<double>(shape.depth),
          flops.head / flops.total()};
}

UnitShares backward_shares(const VitShape& shape, double redone) {
  const ForwardFlops flops = count_forward_flops(shape);
  const double blocks = 2 * (flops.total() - flops.patch - flops.head) + redone;
  const double all = flops.patch + blocks + 2 * flops.head;
  return {flops.patch / all, blocks / all / static_cast<double>(shape.depth), 2 * flops.head / all};
}

/// Times by counted operations, where none are known.
StepStages counted_times(const VitShape& shape, double redone) {
  const double forward = count_forward_flops(shape).total(), all = training_flops(shape) + redone;
  constexpr double kUpdate = 0.04;
  return {.forward_us = (1 - kUpdate) * kCourseSpan * forward / all,
          .backward_us = (1 - kUpdate) * kCourseSpan * (all - forward) / all,
          .optimize_us = kUpdate * kCourseSpan};
}

class CourseMaker {
 public:
  CourseMaker(const Config& config, const MemoryFacts& facts)
      : plan_(plan_memory(config, facts)),
        shape_(vit_shape(config)),
        form_(training_form(config, facts)),
        bytes_(count_training_bytes(shape_, form_)),
        passes_(config.train.accumulate) {
    out_.device = facts.on_cuda ? "cuda" : "cpu";
    out_.micro_batches = passes_;
    out_.program_bytes = plan_.program;
    base_ = held_bytes(plan_);
    at(MemoryCategory::communication) = plan_.buffers;
    at(MemoryCategory::activations) = 0;
    resident_ = facts.on_cuda ? 0 : plan_.working - std::min(plan_.working, bytes_.working);
    at(MemoryCategory::workspace) = resident_;
    out_.owners.emplace_back("embed");
    for (std::int64_t i = 0; i < shape_.depth; ++i) out_.owners.push_back(fmt::format("blocks.{}", i));
    out_.owners.emplace_back("head");
    fill_kept();
  }

  MemoryTimeline make(StepStages times) {
    const double redone = redone_flops(form_.kept, shape_);
    const bool is_known = times.step_us() > 0;
    if (!is_known) times = counted_times(shape_, redone);
    const std::int64_t drawn = std::min(passes_, kMostDrawnPasses);
    const auto parts = static_cast<double>(drawn);
    const bool computes = plan_.activations > 0;
    if (times.load_us > 0 || !computes) stage(Stage::load, times.load_us, 0);
    for (std::int64_t pass = 0; computes && pass < drawn; ++pass) {
      forward(times.forward_us / parts);
      backward(times.backward_us / parts, redone);
    }
    const bool gathers = form_.shares.stage == 1 || form_.shares.stage == 2;
    const double comm_us = gathers ? times.comm_us / 2 : times.comm_us;
    if (comm_us > 0) stage(Stage::comm, comm_us, plan_.in_flight - bytes_.gathered);
    if (computes) update(times.optimize_us);
    if (gathers && comm_us > 0) stage(Stage::comm, comm_us, 0);
    if (is_known) out_.step_us = std::llround(now_us_);
    thin_moments(out_);
    return std::move(out_);
  }

 private:
  std::uint64_t& at(MemoryCategory category) { return base_[static_cast<std::size_t>(category)]; }

  /// What is kept up to each unit. Blocks that are computed again together keep the input of the first.
  void fill_kept() {
    const std::uint64_t all = plan_.activations + plan_.attention, ends = bytes_.patches + bytes_.last_norm;
    const std::uint64_t blocks = all - std::min(all, ends);
    const std::int64_t every = form_.kept.kind == CheckpointKind::block ? form_.kept.every : 1;
    const std::int64_t groups = (shape_.depth + every - 1) / every;
    kept_.push_back(std::min(all, bytes_.patches));
    for (std::int64_t i = 0; i < shape_.depth; ++i)
      kept_.push_back(kept_.front() + share_of(blocks, i / every + 1, groups));
    kept_.push_back(all);
  }

  /// A moment with the activations of so many units.
  void moment(std::size_t units, std::uint64_t workspace, std::uint64_t in_flight, std::size_t unit) {
    MemoryMoment now{.at_us = std::llround(now_us_), .bytes = base_};
    now.activations.resize(out_.owners.size());
    for (std::size_t i = 0; i < units; ++i) now.activations[i] = kept_[i] - (i == 0 ? 0 : kept_[i - 1]);
    now.bytes[static_cast<std::size_t>(MemoryCategory::activations)] = units == 0 ? 0 : kept_[units - 1];
    now.bytes[static_cast<std::size_t>(MemoryCategory::workspace)] += workspace;
    now.bytes[static_cast<std::size_t>(MemoryCategory::communication)] += in_flight;
    if (now.total() > most_) {
      most_ = now.total();
      out_.peak_stage = out_.stages.back().name;
      out_.peak_module = unit < out_.owners.size() ? out_.owners[unit] : "";
    }
    out_.moments.push_back(std::move(now));
  }

  void begin(Stage stage) {
    const std::int64_t at_us = std::llround(now_us_);
    out_.stages.push_back({.name = name_of(stage), .begin_us = at_us, .end_us = at_us});
  }
  void end() { out_.stages.back().end_us = std::llround(now_us_); }

  /// A stage in which nothing is computed with.
  void stage(Stage which, double time_us, std::uint64_t in_flight) {
    begin(which);
    moment(0, 0, in_flight, out_.owners.size());
    now_us_ += time_us;
    end();
  }

  void forward(double time_us) {
    const UnitShares shares = forward_shares(shape_);
    begin(Stage::forward);
    for (std::size_t unit = 0; unit < kept_.size(); ++unit) {
      moment(unit + 1, 0, bytes_.gathered, unit);
      now_us_ += time_us * share(shares, unit);
    }
    end();
  }

  void backward(double time_us, double redone) {
    const UnitShares shares = backward_shares(shape_, redone);
    begin(Stage::backward);
    for (std::size_t unit = kept_.size(); unit-- > 0;) {
      // The last norm's output is free in the last block, which `mlp` allows for.
      const std::size_t units = unit + 2 == kept_.size() ? unit + 2 : unit + 1;
      moment(units, backward_workspace(unit), plan_.in_flight, unit);
      now_us_ += time_us * share(shares, unit);
    }
    end();
  }

  std::uint64_t backward_workspace(std::size_t unit) const {
    if (unit + 1 == kept_.size()) return bytes_.turn;
    if (unit == 0) return static_cast<std::uint64_t>(4 * form_.batch * shape_.tokens() * shape_.embed);
    const auto block = static_cast<std::int64_t>(unit) - 1;
    if (block + 1 == shape_.depth) return bytes_.mlp;
    const std::int64_t every = form_.kept.kind == CheckpointKind::block ? form_.kept.every : 1;
    const std::int64_t first = block / every * every, size = std::min(every, shape_.depth - first);
    const std::uint64_t own =
        bytes_.mlp + bytes_.last_norm / static_cast<std::uint64_t>(form_.leads) - bytes_.redone;
    return own + share_of(bytes_.redone, block - first + 1, size);
  }

  void update(double time_us) {
    begin(Stage::optimize);
    moment(0, bytes_.update > resident_ ? bytes_.update - resident_ : 0, 0, out_.owners.size());
    now_us_ += time_us;
    end();
  }

  double share(const UnitShares& shares, std::size_t unit) const {
    if (unit == 0) return shares.embedding;
    return unit + 1 == kept_.size() ? shares.head : shares.block;
  }

  MemoryPlan plan_;
  VitShape shape_;
  TrainingForm form_;
  TrainingBytes bytes_;
  std::int64_t passes_ = 1;
  std::array<std::uint64_t, kHeldCategories> base_ = {};  ///< through the whole step
  std::uint64_t resident_ = 0;                            ///< part of workspace that stays
  std::vector<std::uint64_t> kept_;                       ///< up to each unit
  std::uint64_t most_ = 0;
  double now_us_ = 0;
  MemoryTimeline out_;
};

}  // namespace

std::array<std::uint64_t, kHeldCategories> held_bytes(const MemoryPlan& plan) {
  std::array<std::uint64_t, kHeldCategories> out = {};
  for (const auto& [category, bytes] : {std::pair{MemoryCategory::weights, plan.weights},
                                        {MemoryCategory::gradients, plan.gradients},
                                        {MemoryCategory::moments, plan.moments},
                                        {MemoryCategory::activations, plan.activations + plan.attention},
                                        {MemoryCategory::communication, plan.buffers + plan.in_flight},
                                        {MemoryCategory::workspace, plan.working},
                                        {MemoryCategory::batches, plan.batches}})
    out[static_cast<std::size_t>(category)] = bytes;
  return out;
}

MemoryTimeline memory_course(const Config& config, const MemoryFacts& facts, const StepStages& times) {
  if (config.mesh.pp > 1)
    return pipeline_timeline(config, facts, times.pipeline ? &*times.pipeline : nullptr, times.optimize_us,
                             kCourseSpan);
  return CourseMaker(config, facts).make(times);
}

MemoryTimeline memory_course(const LessonInfo& lesson, const Config& config, const MemoryFacts& facts,
                             const StepStages& times) {
  MemoryFacts here = facts;
  here.joins_batches = honours(lesson, "mesh.pp");
  return memory_course(as_honoured(lesson, config), here, times);
}

}  // namespace isobar
