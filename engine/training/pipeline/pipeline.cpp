#include "pipeline/pipeline.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "comm/comm_seam.h"
#include "config/fault.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/text.h"
#include "device/memory_ledger.h"
#include "fused/weight_gradients.h"
#include "fused/with_gradient.h"
#include "pipeline/stage_links.h"
#include "train/autocast.h"
#include "train/sync_waits.h"

namespace isobar {
namespace {

constexpr std::string_view kTrack = "pipeline";

PipelineSchedule schedule_for(const FusedVit& model, Comm& ranks, const Config& config) {
  PipelineSchedule out = schedule_of(config);
  const std::string where = std::string("mesh.schedule = ") + name_of(config.mesh.schedule);
  if (std::ssize(out.ranks) != ranks.size())
    throw Error(fmt::format("a schedule of {} for {}", counted(std::ssize(out.ranks), "rank"), ranks.size()),
                where, fmt::format("mesh.pp={}", ranks.size()));
  if (out.splits_backward() && config.model.checkpoint != CheckpointKind::none)
    throw Error("gradients of weights are put off, and need what model.checkpoint throws away", where,
                "model.checkpoint=none");
  if (out.stages_of(ranks.rank()).size() != model.held().size())
    throw Error("the model has other stages than the schedule", where, "stages_here has these", Exit::failed);
  ranks.check_same("schedules", to_csv(out));
  return out;
}

/// A result to start backward from that holds no memory: what is sent goes when it has left.
at::Tensor root_of(const at::Tensor& out) {
  return with_gradient(out, {.forward =
                                 [](const at::Tensor& x) {
                                   return at::empty_strided(x.sizes(), std::vector<std::int64_t>(2, 0),
                                                            x.options());
                                 },
                             .backward = [](const at::Tensor& dy) { return dy; }});
}

}  // namespace

std::vector<ModelStage> stages_here(const Comm& ranks, const Config& config) {
  if (ranks.size() == 1) return {{.end_block = config.model.depth}};
  const PipelineSchedule schedule = schedule_of(config);
  const std::vector<StageBlocks> blocks =
      blocks_of_stages(config.model.depth, schedule.stages, config.mesh.stage_blocks);
  std::vector<ModelStage> out;
  for (const int stage : schedule.stages_of(ranks.rank())) {
    const StageBlocks& own = blocks.at(static_cast<std::size_t>(stage));
    out.push_back({own.first, own.end, stage == 0, stage + 1 == schedule.stages});
  }
  return out;
}

class Pipeline::Core {
 public:
  Core(const FusedVit& model, Comm& ranks, const Config& config, const Objective& objective)
      : model_(model),
        ranks_(ranks),
        objective_(objective),
        amp_(config.amp.mode),
        schedule_(schedule_for(model, ranks, config)),
        stages_(schedule_.stages_of(ranks.rank())),
        links_(ranks, schedule_),
        tokens_ranks_(config.mesh.sequence_parallel ? config.mesh.tp : 1) {
    for (const PipelineAction& action : actions()) {
      if (action.work == PipelineWork::input) split_.insert({action.stage, action.part});
      if (action.work != PipelineWork::forward && action.work != PipelineWork::weight) last_ = action;
    }
  }

  const std::vector<PipelineAction>& actions() const {
    return schedule_.ranks[static_cast<std::size_t>(ranks_.rank())];
  }

  void begin(const Batch& batch) {
    if (batch.size() % schedule_.parts != 0)
      throw Error(fmt::format("{} samples cannot be cut in {} of one size", batch.size(),
                              counted(schedule_.parts, "micro-batch")),
                  "train.accumulate", "a number that divides them");
    kept_.clear();
    step_ = {};
    step_.batch = batch;
    step_.before = ranks_.counts();
    step_.before_links = links_.counts();
    step_.before_members = objective_.counts();
    step_.members_waited_us = objective_.waited_us();
    step_.on_host = batch.input.is_cpu();
    step_.begin_us = step_.end_us = steady_us();
    const std::int64_t images = batch.size() / schedule_.parts * objective_.members_here();
    links_.begin(stream_shape(images), batch.input.options());
    model_.share_cast(true);
    if (!actions().empty()) links_.expect(actions().front());
  }

  at::Tensor receive(const PipelineAction& action) {
    if (step_.next == actions().size() || actions()[step_.next] != action)
      throw Error("it is not the turn of " + cell_of(action), "Pipeline", "actions() has their order",
                  Exit::failed);
    if (++step_.next < actions().size()) links_.expect(actions()[step_.next]);
    at::Tensor out;
    if (is_first(action.stage) && action.work == PipelineWork::forward) {
      out = part_of(step_.batch.input, action.part);
    } else {
      const std::int64_t since_us = steady_us();
      out = links_.receive(action);
      step_.stood.push_back({since_us, steady_us()});
    }
    return out;
  }

  at::Tensor forward(const PipelineAction& action, const at::Tensor& in) {
    const Timed timed(*this, action);
    Kept kept;
    kept.in = in;
    if (!is_first(action.stage)) kept.in = in.detach().requires_grad_(true);
    std::optional<PutOff> put_off;
    if (split_.count({action.stage, action.part}) > 0) {
      kept.later = std::make_shared<WeightGradients>();
      put_off.emplace(kept.later);
    }
    at::Tensor out;
    {
      const Autocast autocast(amp_, in.device());
      out = compute(action, kept.in);
    }
    if (is_last(action.stage)) {
      const at::Tensor share = out.div(schedule_.parts);
      kept.root = has_fault(Fault::no_loss_scale) ? out : share;
      out = share.detach();
      step_.loss = step_.loss.defined() ? step_.loss.add(out) : out;
    } else {
      kept.root = root_of(out);
      out = out.detach();
    }
    kept_[{action.stage, action.part}] = std::move(kept);
    step_.most_kept = std::max<std::int64_t>(step_.most_kept, std::ssize(kept_));
    return out;
  }

  at::Tensor backward(const PipelineAction& action, const at::Tensor& gradient, GradScaler& scaler) {
    const Timed timed(*this, action);
    Kept& kept = kept_at(action);
    const bool is_split = action.work == PipelineWork::input;
    {
      std::optional<MemoryScope> until_weights;
      if (is_split) until_weights.emplace(MemoryCategory::activations);
      const bool starts_here = is_last(action.stage);
      const at::Tensor from = starts_here ? scaler.scale(kept.root) : gradient;
      ranks_.backward({from, {}, action == last_, [&](const at::Tensor& root) {
                         starts_here ? root.backward() : kept.root.backward(root);
                       }});
    }
    at::Tensor out = is_first(action.stage) ? at::Tensor() : kept.in.grad();
    if (!is_first(action.stage) && !out.defined()) out = no_gradient(action, kept.in);
    kept.in.reset();
    kept.root.reset();
    if (!is_split) kept_.erase({action.stage, action.part});
    return out;
  }

  void weights(const PipelineAction& action) {
    const Timed timed(*this, action);
    kept_at(action).later->run();
    kept_.erase({action.stage, action.part});
  }

  void send(const PipelineAction& action, const at::Tensor& out) { links_.send(action, out); }

  at::Tensor finish() {
    const std::int64_t since_us = steady_us();
    links_.finish();
    const int last = schedule_.rank_of_stage.back();
    at::Tensor loss = ranks_.rank() == last ? step_.loss.to(at::kFloat)
                                            : at::empty({}, step_.batch.input.options().dtype(at::kFloat));
    if (ranks_.size() > 1) step_.loss_times = ranks_.broadcast(loss, last, "pp loss").wait();
    step_.stood.push_back({since_us, steady_us()});
    model_.share_cast(false);
    step_.batch = {};
    return loss;
  }

  SyncFigures figures() {
    std::vector<CollectiveTimes> times = links_.take_times();
    if (schedule_.ranks.size() > 1) times.push_back(step_.loss_times);
    SyncFigures out = sync_figures(times, step_.stood, ranks_, step_.before, {});
    const CommCounts now = links_.counts();
    out.calls += now.calls - step_.before_links.calls;
    out.wire_bytes += now.wire_bytes - step_.before_links.wire_bytes;
    const CommCounts members = objective_.counts();
    out.ens_calls = members.calls - step_.before_members.calls;
    out.ens_wire_bytes = members.wire_bytes - step_.before_members.wire_bytes;
    out.calls += out.ens_calls;
    out.wire_bytes += out.ens_wire_bytes;
    out.forward_wait_us = objective_.waited_us() - step_.members_waited_us;
    if (step_.on_host) {
      out.pipe_us = step_.end_us - step_.begin_us;
      out.pipe_busy_us = step_.busy_us;
    }
    out.pipe_calls = links_.sent();
    out.pipe_bytes = links_.sent_bytes();
    out.pipe_kept = step_.most_kept;
    return out += context_figures(model_.context());
  }

  at::Tensor forecast(const at::Tensor& image) {
    const at::NoGradGuard no_grad;
    const Autocast autocast(amp_, image.device());
    if (schedule_.stages == 1) return model_.stage_forward(0, image);
    const std::vector<std::int64_t> shape = stream_shape(image.size(0));
    at::Tensor out = image;
    for (int stage = 0; stage < schedule_.stages; ++stage) {
      if (rank_of(stage) == ranks_.rank()) out = model_.stage_forward(held(stage), out);
      if (!is_last(stage)) out = links_.hand_on(stage, out, shape, image.options());
    }
    const int last = schedule_.rank_of_stage.back();
    out = ranks_.rank() == last ? out.to(at::kFloat).contiguous() : at::empty_like(image);
    ranks_.broadcast(out, last, "pp forecast").wait();
    return out;
  }

  std::vector<at::Tensor> forecast_members(const Batch& batch) {
    const at::NoGradGuard no_grad;
    const std::int64_t leads = objective_.leads(), members = objective_.members_here();
    const bool takes_them = rank_of(0) == ranks_.rank();  // the others need their shape
    at::Tensor images = takes_them ? objective_.inputs(batch) : batch.input.repeat_interleave(members, 0);
    std::vector<at::Tensor> out;
    for (std::int64_t lead = 1; lead <= leads; ++lead) {
      const at::Tensor forecasts = forecast(images).to(at::kFloat);
      out.push_back(objective_.all_members(forecasts));
      if (lead < leads) images = objective_.next_inputs(forecasts, batch, lead);
    }
    return out;
  }

 private:
  /// What a micro-batch leaves from F to B, or to W.
  struct Kept {
    at::Tensor in = {};    ///< a leaf of the graph; images for the first stage
    at::Tensor root = {};  ///< where backward begins
    std::shared_ptr<WeightGradients> later = {};
  };

  /// An action that computes: busy time, and a span. On a CUDA device the host does not compute.
  class Timed {
   public:
    Timed(Core& core, const PipelineAction& action) : core_(core), action_(action) {}
    ~Timed() {
      core_.step_.end_us = steady_us();
      if (!core_.step_.on_host) return;
      core_.step_.busy_us += core_.step_.end_us - since_us_ - (core_.within_us() - waited_us_);
      if (core_.ranks_.size() == 1) return;  // a row without gaps
      core_.ranks_.leave_span(kTrack, cell_of(action_), since_us_, core_.step_.end_us, 0);
    }
    Timed(const Timed&) = delete;
    Timed& operator=(const Timed&) = delete;

   private:
    Core& core_;
    PipelineAction action_;
    std::int64_t waited_us_ = core_.within_us();
    std::int64_t since_us_ = steady_us();
  };

  /// Waits for ranks that share layers or tokens, or that have other members of an ensemble.
  std::int64_t within_us() const {
    return model_.ranks().waited_us() + model_.context().waited_us() + objective_.waited_us();
  }
  int rank_of(int stage) const { return schedule_.rank_of_stage[static_cast<std::size_t>(stage)]; }
  bool is_first(int stage) const { return stage == 0; }
  bool is_last(int stage) const { return stage + 1 == schedule_.stages; }
  /// Its place among the stages of this rank.
  std::size_t held(int stage) const {
    return static_cast<std::size_t>(std::find(stages_.begin(), stages_.end(), stage) - stages_.begin());
  }
  at::Tensor part_of(const at::Tensor& whole, int part) const {
    const std::int64_t samples = whole.size(0) / schedule_.parts;
    return whole.narrow(0, part * samples, samples);
  }
  Batch part_of(const Batch& whole, int part) const {
    Batch out = {
        .input = part_of(whole.input, part), .target = part_of(whole.target, part), .epoch = whole.epoch};
    if (whole.later.defined()) out.later = whole.later.narrow(1, part * out.size(), out.size());
    if (!whole.samples.empty()) {
      const auto first = whole.samples.begin() + part * out.size();
      out.samples.assign(first, first + out.size());
    }
    return out;
  }
  std::vector<std::int64_t> stream_shape(std::int64_t samples) const {
    return {samples * model_.context().own(model_.shape().tokens()).count / tokens_ranks_,
            model_.shape().embed};
  }

  at::Tensor compute(const PipelineAction& action, const at::Tensor& in) const {
    const std::size_t stage = held(action.stage);
    if (objective_.is_plain()) {
      if (is_last(action.stage))
        return model_.stage_loss(stage, in, part_of(step_.batch.target, action.part));
      return model_.stage_forward(stage, in);
    }
    const Batch part = part_of(step_.batch, action.part);
    if (schedule_.stages == 1) return objective_.loss(model_, part);
    const at::Tensor out = model_.stage_forward(stage, is_first(action.stage) ? objective_.inputs(part) : in);
    return is_last(action.stage) ? objective_.loss_of(out, part) : out;
  }

  /// A stage whose graph is cut, by a mistake on purpose, sends zeros.
  static at::Tensor no_gradient(const PipelineAction& action, const at::Tensor& in) {
    if (has_fault(Fault::checkpoint_under_no_grad)) return at::zeros_like(in);
    throw Error(fmt::format("no gradient comes to the input of stage {}: the graph of its blocks is cut",
                            action.stage),
                cell_of(action), "each block computes from the one in front of it, with gradients",
                Exit::failed);
  }

  Kept& kept_at(const PipelineAction& action) {
    const auto found = kept_.find({action.stage, action.part});
    if (found == kept_.end())
      throw Error(cell_of(action) + " comes before its forward pass", "Pipeline", "actions() has their order",
                  Exit::failed);
    return found->second;
  }

  const FusedVit& model_;
  Comm& ranks_;
  Objective objective_;
  AmpMode amp_;
  PipelineSchedule schedule_;
  std::vector<int> stages_;
  StageLinks links_;
  std::int64_t tokens_ranks_;            ///< ranks that share these (mesh.sequence_parallel)
  std::set<std::pair<int, int>> split_;  ///< stage and micro-batch whose backward is in two
  PipelineAction last_ = {.stage = -1};  ///< last backward pass of a step
  std::map<std::pair<int, int>, Kept> kept_;

  struct CurrentStep {
    Batch batch = {};
    std::size_t next = 0;  ///< action
    at::Tensor loss = {};
    bool on_host = true;
    std::int64_t begin_us = 0;
    std::int64_t end_us = 0;
    std::int64_t busy_us = 0;
    std::int64_t most_kept = 0;  ///< micro-batches, by stage
    CommCounts before = {}, before_links = {}, before_members = {};
    std::int64_t members_waited_us = 0;
    std::vector<StoodStill> stood = {};
    CollectiveTimes loss_times = {};
  };
  CurrentStep step_;
};

Pipeline::Pipeline(const FusedVit& model, Comm& ranks, const Config& config, const Objective& objective)
    : core_(std::make_unique<Core>(model, ranks, config, objective)) {}
Pipeline::~Pipeline() = default;

const std::vector<PipelineAction>& Pipeline::actions() const { return core_->actions(); }
void Pipeline::begin(const Batch& batch) { core_->begin(batch); }
at::Tensor Pipeline::receive(const PipelineAction& action) { return core_->receive(action); }
at::Tensor Pipeline::forward(const PipelineAction& action, const at::Tensor& in) {
  return core_->forward(action, in);
}
at::Tensor Pipeline::backward(const PipelineAction& action, const at::Tensor& gradient, GradScaler& scaler) {
  return core_->backward(action, gradient, scaler);
}
void Pipeline::weights(const PipelineAction& action) { core_->weights(action); }
at::Tensor Pipeline::compute(const PipelineAction& action, const at::Tensor& in, GradScaler& scaler) {
  if (action.work == PipelineWork::forward) return forward(action, in);
  if (action.work != PipelineWork::weight) return backward(action, in, scaler);
  weights(action);
  return {};
}
void Pipeline::send(const PipelineAction& action, const at::Tensor& out) { core_->send(action, out); }
at::Tensor Pipeline::finish() { return core_->finish(); }
SyncFigures Pipeline::figures() const { return core_->figures(); }
at::Tensor Pipeline::forecast(const at::Tensor& image) { return core_->forecast(image); }
std::vector<at::Tensor> Pipeline::forecast_members(const Batch& batch) {
  return core_->forecast_members(batch);
}

}  // namespace isobar
