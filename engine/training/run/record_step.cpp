// The lines that a Recorder writes of steps and scores.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/clock.h"
#include "device/memory.h"
#include "fields/npy.h"
#include "model/parameters.h"
#include "run/recorder.h"
#include "running/signals.h"

namespace isobar {
namespace {

/// `sends`: a step without a collective is one of several that share theirs, and counts as none.
void add_sync(JsonLine& line, const SyncFigures& sync, bool sends) {
  if (sync.pipe_us > 0) line.add("pipe_us", sync.pipe_us).add("pipe_busy_us", sync.pipe_busy_us);
  if (sync.pipe_kept > 0) {
    line.add("pipe_calls", sync.pipe_calls)
        .add("pipe_bytes", sync.pipe_bytes)
        .add("pipe_kept", sync.pipe_kept);
  }
  if (sync.calls == 0 && !sends) return;
  if (sync.total_us >= 0) line.add("comm_total_us", sync.total_us);
  line.add("comm_calls", sync.calls).add("wire_bytes", sync.wire_bytes);
  if (sync.tp_calls > 0) {
    line.add("tp_calls", sync.tp_calls)
        .add("tp_wire_bytes", sync.tp_wire_bytes)
        .add("tp_wait_us", sync.tp_forward_wait_us + sync.tp_backward_wait_us);
  }
  if (sync.cp_calls > 0) {
    line.add("cp_calls", sync.cp_calls)
        .add("cp_wire_bytes", sync.cp_wire_bytes)
        .add("cp_forward_wait_us", sync.cp_forward_wait_us)
        .add("cp_backward_wait_us", sync.cp_backward_wait_us);
  }
  if (sync.ens_calls > 0) line.add("ens_calls", sync.ens_calls).add("ens_wire_bytes", sync.ens_wire_bytes);
  if (sync.read_calls > 0)
    line.add("read_calls", sync.read_calls).add("read_wire_bytes", sync.read_wire_bytes);
  if (sync.node_calls > 0)
    line.add("node_calls", sync.node_calls).add("node_wire_bytes", sync.node_wire_bytes);
  if (sync.offload_down_bytes > 0)
    line.add("offload_down_bytes", sync.offload_down_bytes).add("offload_up_bytes", sync.offload_up_bytes);
  if (sync.compress_us > 0)
    line.add("compress_us", sync.compress_us).add("comm_wait_us", sync.backward_wait_us);
  if (sync.waited_for >= 0) line.add("waited_for", sync.waited_for).add("waited_us", sync.waited_us);
}

}  // namespace

void Recorder::record_step(const PendingStep& step, const DeviceTimes& times) {
  const auto& [index, result, fetched, pending, t_us, loader, operators] = step;
  JsonLine line = step_line(index, t_us, result.epoch, result.samples, times, &times.host);
  if (result.loss.defined()) line.add("lr", result.learning_rate);
  line.add("stall_us", loader.stall_us).add("read_bytes", loader.read_bytes);
  if (loader.slots > 0) line.add("queue_slots", loader.ready);
  const StepFigures figures = fetched.take();
  const bool broken = fetched && guard_ != nullptr && guard_->is_broken(figures);
  const bool tells = progress_.report_due(index) || broken;
  add_figures(line, step, figures, tells);
  if (tells) line.add("peak_bytes", peak_bytes(plan_.device));
  const std::int64_t samples = result.samples * plan_.replicas();  // sum over all ranks
  summary_.samples += samples;
  if (index - progress_.first_step >= summary_.warm_up_steps) sums_.add(samples, times, loader, result.sync);
  if (operators) write_operators(index, line, operators->take());
  output_.write(line);
  Board* const board = output_.board();
  if (result.loss.defined() && board != nullptr)
    board->add_step(result.loss, result.learning_rate, samples, times.step_us);
  if (broken) pending_.clear();  // what came after it is meaningless
  if (fetched && guard_ != nullptr) guard_->check(index, figures);
  if (progress_.report_due(index)) show_step(index, result);
}

void Recorder::add_figures(JsonLine& line, const PendingStep& step, const StepFigures& figures, bool tells) {
  const bool due = progress_.report_due(step.index);
  const bool has_loss = step.result.loss.defined();
  const bool fetched = static_cast<bool>(step.fetched);
  if (fetched) last_loss_ = figures.loss;
  if (step.index == 0 && has_loss) {
    summary_.first_loss = last_loss_;
    if (Board* const board = output_.board()) board->begin(last_loss_);
  }
  if (tells && has_loss) line.add("loss", last_loss_);
  if (due && has_loss && groups_.world().size() > 1) line.add("loss_rank", figures.own_loss);
  add_sync(line, step.result.sync,
           groups_.world().size() > 1 && plan_.config().comm.average == Averaged::weights);
  if (step.result.error.own >= 0)
    line.add("error_norm", step.result.error.own).add("mean_error_norm", step.result.error.mean);
  if (step.result.squares.is_known())
    line.add("local_square", step.result.squares.local).add("mean_square", step.result.squares.mean);
  if (due && step.result.gradient_norm.defined()) line.add("grad_norm", figures.gradient_norm);
  if (figures.scale == 0) return;  // the loss is not scaled
  summary_.scale = figures.scale;
  summary_.skipped = std::llround(figures.skipped);
  line.add("scale", figures.scale).add("skipped", summary_.skipped);
}

std::int64_t Recorder::watched_step() const {
  constexpr std::int64_t kWarm = 2;  // libraries have chosen their kernels, and memory is there
  const Config& config = plan_.config();
  if (config.run.measure == MeasureKind::io) return -1;
  std::int64_t last = std::max<std::int64_t>(1, summary_.warm_up_steps) - 1;
  // A step that is recorded as a graph is none to time, and of one that is replayed nothing is seen.
  const bool records = config.graph.enabled && plan_.honours("graph.enabled");
  if (records) last = std::min(last, config.graph.warmup - 1);
  return progress_.first_step + std::min(kWarm, last);
}

bool Recorder::records_memory(std::int64_t index) const {
  if (plan_.config().run.measure == MeasureKind::io) return false;
  const std::int64_t steps = progress_.steps - progress_.first_step;
  return index - progress_.first_step == recorded_step(steps, watched_step() - progress_.first_step);
}

void Recorder::write_operators(std::int64_t index, JsonLine& step, const OperatorRecord& record) {
  step.add("launches", record.launches).add("moved_bytes", record.moved_bytes);
  WatchedSummary watched{.step = index,
                         .launches = record.launches,
                         .moved_bytes = record.moved_bytes,
                         .class_us = {},
                         .attention = {}};
  for (std::size_t i = 0; i < kOperatorClasses.size(); ++i) {
    const std::int64_t class_us = std::llround(record.class_us[i]);
    step.add(fmt::format("{}_op_us", kOperatorClasses[i]), class_us);
    watched.class_us.emplace_back(kOperatorClasses[i], static_cast<double>(class_us));
  }
  for (const WatchedOperator& row : record.rows) {
    if (row.kind == OperatorClass::attention && row.module != "backward") watched.add_attention(row.name);
    output_.write(JsonLine("note")
                      .add("text", "operator")
                      .add("module", row.module)
                      .add("operator", row.name)
                      .add("class", kOperatorClasses[static_cast<std::size_t>(row.kind)])
                      .add("input_types", row.inputs)
                      .add("output_type", row.output)
                      .add("calls", row.calls)
                      .add("moved_bytes", row.moved_bytes)
                      .add("op_us", std::round(row.op_us * 10) / 10));
  }
  summary_.watched = std::move(watched);
}

std::function<bool(std::int64_t, std::int64_t)> Recorder::live(const std::string& what) {
  begin_phase(what.c_str());
  live_begin_us_ = steady_us();
  return [this, what](std::int64_t done, std::int64_t all) {
    Console& console = output_.console();
    if (console.is_terminal() && groups_.speaks()) console.progress(fmt::format("{} {}/{}", what, done, all));
    const int requested = StopSignals::requested();
    // Ranks that compute together stop together: those that share a model, and those that gather weights.
    const bool gathers = training_ != nullptr && !training_->parameters.shared_layout().whole_values;
    const bool is_cut =
        ranks_of_model(plan_.config()) > plan_.config().mesh.tp || groups_.along("ens").size() > 1;
    Comm& together = gathers || is_cut ? groups_.world() : groups_.model();
    if (together.size() == 1) return requested == 0;
    return together.start_max(requested, "stop while validating")() == 0;
  };
}

void Recorder::record(const Evaluation& evaluation) {
  record_done_steps(/*wait_for_all=*/true);
  const std::int64_t done = progress_.steps_done;
  // One rank that was asked to stop is enough: there are no scores then, on any.
  const std::vector<double> complete =
      groups_.world().all_gather_numbers(evaluation.complete ? 1 : 0, "validation");
  if (std::find(complete.begin(), complete.end(), 0.0) != complete.end())
    return output_.trace_loop("validate", live_begin_us_, done);
  progress_.scored_step = done;
  const ChannelScores& headline = evaluation.headline();
  summary_.has_valid_loss = summary_.has_scores = true;
  summary_.valid_loss = evaluation.loss;
  summary_.headline = headline.name;
  summary_.rmse = headline.rmse;
  summary_.persistence_rmse = headline.persistence_rmse;
  summary_.climatology_rmse = evaluation.has_climatology ? headline.climatology_rmse : 0;
  JsonLine line("eval");
  line.add("step", done).add("t_us", output_.since_begin_us()).add("samples", evaluation.samples);
  line.add("loss", evaluation.loss);
  const bool has_members = evaluation.members > 1;
  if (has_members) line.add("members", evaluation.members);
  for (const ChannelScores& channel : evaluation.channels) {
    line.add("rmse_" + channel.name, channel.rmse)
        .add("persistence_rmse_" + channel.name, channel.persistence_rmse);
    if (has_members)
      line.add("crps_" + channel.name, channel.crps).add("spread_" + channel.name, channel.spread);
    if (!evaluation.has_climatology) continue;
    line.add("climatology_rmse_" + channel.name, channel.climatology_rmse)
        .add("acc_" + channel.name, channel.acc);
  }
  std::vector<double> by_lead = {headline.rmse}, persistence_by_lead = {headline.persistence_rmse};
  for (const LeadScores& lead : evaluation.later) {
    by_lead.push_back(lead.rmse);
    persistence_by_lead.push_back(lead.persistence_rmse);
    line.add(fmt::format("lead{}_rmse_{}", by_lead.size(), headline.name), lead.rmse)
        .add(fmt::format("lead{}_persistence_rmse_{}", by_lead.size(), headline.name), lead.persistence_rmse);
  }
  output_.write(line);
  if (groups_.speaks()) {
    const at::Tensor fields = evaluation.fields.contiguous();
    write_npy(output_.folder().fields_file(done), fields.sizes(),
              {fields.const_data_ptr<float>(), static_cast<std::size_t>(fields.numel())});
    output_.board()->add_evaluation(done, evaluation);
    const std::string climatology =
        evaluation.has_climatology ? fmt::format("; climatology {:.3f}", headline.climatology_rmse) : "";
    const std::string members = has_members ? fmt::format("; {} members: spread {:.4f}, CRPS {:.4f}",
                                                          evaluation.members, headline.spread, headline.crps)
                                            : "";
    output_.console().line(
        fmt::format("valid  after {} steps: loss {:.4f}, {} RMSE {:.4f} (persistence {:.4f}, {:+.1f} %{}){}",
                    done, evaluation.loss, headline.name, headline.rmse, headline.persistence_rmse,
                    100 * (headline.rmse / headline.persistence_rmse - 1), climatology, members));
    if (!evaluation.later.empty())
      output_.console().line(fmt::format("       by lead, 1 to {}: {} RMSE {:.3f} (persistence {:.3f})",
                                         by_lead.size(), headline.name, fmt::join(by_lead, ", "),
                                         fmt::join(persistence_by_lead, ", ")));
  }
  output_.trace_loop("validate", live_begin_us_, done);
}

}  // namespace isobar
