// The part of Run that tells: the live line, scores, the end.
#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <new>
#include <utility>

#include "core/clock.h"
#include "core/fault.h"
#include "core/text.h"
#include "device/memory.h"
#include "device/peak.h"
#include "device/torch_error.h"
#include "fields/npy.h"
#include "run/run.h"

namespace isobar {
namespace {

constexpr std::int64_t kShowEvery_us = 2'000'000;  // plain lines, where nothing can be overwritten
constexpr std::int64_t kLiveEvery_us = 100'000;

}  // namespace

LoaderCounts Run::loader_since_last_step() {
  if (loader_ == nullptr) return {};
  LoaderCounts now = loader_->counts();
  const LoaderCounts before = std::exchange(loader_before_, now);
  now.stall_us -= before.stall_us;
  now.read_bytes -= before.read_bytes;
  now.cpu_us -= before.cpu_us;
  if (loaded_.config.data.source == "synthetic") now.slots = 0;  // one batch again and again: none lies ready
  return now;
}

void Run::show_step(std::int64_t index, const StepResult& result) {
  if (owner_.seen_lost()) {  // what is computed from here on would have no place
    if (const std::optional<Error> lost = owner_.lost()) throw *lost;
  }
  const std::int64_t now_us = steady_us();
  const std::int64_t every_us = console_.is_terminal() ? kLiveEvery_us : kShowEvery_us;
  const std::int64_t steps = loaded_.config.train.steps;
  const bool last = index + 1 == steps;
  if (index > first_step_ && !last && now_us - shown_us_ < every_us) return;
  shown_us_ = now_us;
  const RunSummary so_far = summary();
  std::string speed;
  if (so_far.samples_per_s > 0) {
    speed = fmt::format("  {:.1f} samples/s  {} left  {}", so_far.samples_per_s,
                        human_seconds(static_cast<double>(steps - index - 1) * so_far.step_us * 1e-6),
                        stage_shares(so_far.stages_us, so_far.step_us));
  }
  const std::string loss = measures() ? "" : fmt::format(" loss {:.4f}", last_loss_);
  console_.progress(fmt::format("step {:>{}}/{}  epoch {:<3}{}{}", index + 1, std::to_string(steps).size(),
                                steps, result.epoch + 1, loss, speed),
                    /*keep=*/true);
}

void Run::record(const Evaluation& evaluation) {
  record_done_steps(/*wait_for_all=*/true);
  // One rank that was asked to stop is enough: there are no scores then, on any.
  const std::vector<double> complete = comm_.all_gather_numbers(evaluation.complete ? 1 : 0, "validation");
  if (std::find(complete.begin(), complete.end(), 0.0) != complete.end())
    return trace_loop("validate", progress_us_);
  scored_step_ = steps_done_;
  const ChannelScores& headline = evaluation.headline();
  summary_.has_scores = true;
  summary_.valid_loss = evaluation.loss;
  summary_.headline = headline.name;
  summary_.rmse = headline.rmse;
  summary_.persistence_rmse = headline.persistence_rmse;
  summary_.climatology_rmse = evaluation.has_climatology ? headline.climatology_rmse : 0;
  JsonLine line("eval");
  line.add("step", steps_done_).add("t_us", steady_us() - begin_us_).add("samples", evaluation.samples);
  line.add("loss", evaluation.loss);
  for (const ChannelScores& channel : evaluation.channels) {
    line.add("rmse_" + channel.name, channel.rmse)
        .add("persistence_rmse_" + channel.name, channel.persistence_rmse);
    if (!evaluation.has_climatology) continue;
    line.add("climatology_rmse_" + channel.name, channel.climatology_rmse)
        .add("acc_" + channel.name, channel.acc);
  }
  stream_->write(line);
  if (!speaks()) return trace_loop("validate", progress_us_);
  const at::Tensor fields = evaluation.fields.contiguous();
  write_npy(folder_.fields_file(steps_done_), fields.sizes(),
            {fields.const_data_ptr<float>(), static_cast<std::size_t>(fields.numel())});
  board_->add_evaluation(steps_done_, evaluation);
  console_.line(fmt::format(
      "valid  after {} steps: loss {:.4f}, {} RMSE {:.4f} (persistence {:.4f}, {:+.1f} %{})", steps_done_,
      evaluation.loss, headline.name, headline.rmse, headline.persistence_rmse,
      100 * (headline.rmse / headline.persistence_rmse - 1),
      evaluation.has_climatology ? fmt::format("; climatology {:.3f}", headline.climatology_rmse) : ""));
  trace_loop("validate", progress_us_);
}

void Run::record(const GraphFacts& graph) {
  const GraphNodes& nodes = graph.nodes;
  stream_->write(JsonLine("note")
                     .add("text", "graph")
                     .add("scope", graph.scope)
                     .add("step", steps_done_)
                     .add("kernels", nodes.kernels)
                     .add("copies", nodes.copies)
                     .add("fills", nodes.fills)
                     .add("others", nodes.others)
                     .add("capture_us", graph.capture_us));
  console_.line(fmt::format(
      "  graph   step {}: {} kernels, {} copies and {} fills recorded in {}, from now on one launch{}",
      steps_done_ + 1, nodes.kernels, nodes.copies, nodes.fills,
      human_seconds(static_cast<double>(graph.capture_us) * 1e-6),
      graph.scope == "model" ? " and those of the optimiser" : ""));
  summary_.warm_up_steps = std::max(summary_.warm_up_steps, steps_done_ - first_step_ + 1);
  if (steady_steps_ == 0) return;
  record_done_steps(/*wait_for_all=*/true);
  steady_steps_ = 0;
  steady_samples_ = 0;
  steady_times_ = {};
  steady_loader_ = {};
  steady_sync_ = {};
  waited_for_.clear();
}

std::function<bool(std::int64_t, std::int64_t)> Run::progress(const std::string& what) {
  enter_stage(what.c_str());
  progress_us_ = steady_us();
  return [this, what](std::int64_t done, std::int64_t all) {
    if (console_.is_terminal() && speaks()) console_.progress(fmt::format("{} {}/{}", what, done, all));
    if (model_ranks_.size() == 1) return StopSignals::requested() == 0;
    // Those that share a model compute together, and stop together.
    return model_ranks_.start_max(StopSignals::requested(), "stop while validating").value() == 0;
  };
}

std::exception_ptr Run::end(const std::string& status, const std::string& reason, const RunSummary& whole) {
  if (ended_) return nullptr;
  ended_ = true;
  std::exception_ptr lost;
  JsonLine last("end");
  try {
    spans_->finish();
    last.add("status", status).add("reason", reason);
  } catch (const Error& error) {  // what was learned is safe: only the timeline has a hole
    lost = std::current_exception();
    last.add("status", "failed").add("reason", status == "failed" ? reason : error.text());
  }
  if (const std::int64_t waited_us = stream_->waited_us(); waited_us > 0) {
    const std::string text = "training waited for the file system of the run folder";
    stream_->write(JsonLine("note").add("text", text).add("waited_us", waited_us));
    console_.line(
        fmt::format("  slow disk    {} for {}", text, human_seconds(static_cast<double>(waited_us) * 1e-6)));
  }
  stream_->write(summary_event(whole));
  stream_->write(last);
  stream_->finish();
  owner_.release();
  return lost;
}

int Run::finish() {
  record_done_steps(/*wait_for_all=*/true);
  if (const std::optional<Error> lost = owner_.lost()) throw *lost;  // open files take what nobody will find
  const int stop = stop_;
  const std::string reason = complete() ? ""
                                        : fmt::format("{} after {} steps, {} a checkpoint", signal_name(stop),
                                                      steps_done_, measures() ? "without" : "with");
  const bool computed = loaded_.config.run.measure != "io";
  const Peak peak = complete() && computed && speaks() ? peak_of(device_, loaded_.config.amp.mode) : Peak{};
  summary_.peak_flops_per_s = peak.flops_per_s;
  summary_.peak_of_data_sheet = peak.from_data_sheet;
  const RunSummary whole = summary();
  const std::exception_ptr lost = end(complete() ? "done" : "stopped", reason, whole);
  const std::string fault = has_fault(Fault::none) ? "" : "  with the fault " + loaded_.config.run.fault;
  console_.line((complete() ? "done" : "stopped: " + reason) + fault);
  for (const std::string& line : summary_lines(whole)) console_.line(line);
  console_.line("  run          " + folder_.path.string());
  if (lost) {
    status_.end(RankPhase::failed);
    std::rethrow_exception(lost);
  }
  const bool resumes = !complete() && !measures();
  if (resumes) {
    console_.line("  go on with   ./isobar run " + lesson_.name + " --resume " +
                  shell_quoted(folder_.path.string()));
  }
  console_.finish();
  status_.end(RankPhase::done);
  if (complete()) return static_cast<int>(Exit::done);
  return resumes ? static_cast<int>(Exit::checkpointed) : 128 + stop;
}

Error Run::explained(const std::exception& error) const {
  if (const std::optional<Error> lost = owner_.lost()) return *lost;
  if (const auto* const ours = dynamic_cast<const Error*>(&error)) return *ours;
  const std::string where = fmt::format("step {}, stage {}", steps_done_ + 1, stage_);
  const auto* const torch = dynamic_cast<const c10::Error*>(&error);
  const Error told =
      torch != nullptr ? as_error(*torch) : Error(printable(error.what(), 400), "", "", Exit::failed);
  const std::string text = told.what();
  const std::string kAsked = "tried to allocate ";
  const std::size_t at = text.find(kAsked);
  const bool memory = at != std::string::npos || dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
  if (!memory)
    return {text, told.where().empty() ? where : told.where() + ", " + where, told.hint(), Exit::failed};
  std::uint64_t asked = 0;
  if (at != std::string::npos)
    std::from_chars(text.data() + at + kAsked.size(), text.data() + text.size(), asked);
  return {fmt::format("out of memory{}; {} were held at most so far, {} are free",
                      asked > 0 ? ": " + human_bytes(asked) + " more were asked for" : "",
                      human_bytes(peak_own_bytes()),
                      human_bytes(static_cast<std::uint64_t>(memory_now(c10::Device(c10::kCPU)).free_bytes))),
          where, "a smaller train.global_batch, or a smaller preset", Exit::failed};
}

void Run::fail(const Error& error) noexcept {
  const std::string reason = error.text();
  status_.end(comm_.followed() ? RankPhase::followed : RankPhase::failed);
  try {
    record_done_steps(/*wait_for_all=*/true);
  } catch (...) {  // the device, or a loss that is no number: the first error is the one that is told
  }
  try {
    console_.note(reason);
  } catch (...) {
  }
  try {
    end("failed", reason, summary());
  } catch (...) {  // the stream is what failed, or the disk is full: the first error is the one that is told
  }
}

}  // namespace isobar
