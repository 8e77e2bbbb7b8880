#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/machine.h"
#include "core/stage.h"
#include "core/text.h"
#include "log/operators.h"
#include "log/run_reader.h"
#include "record/run_owner.h"

namespace isobar {
namespace {

constexpr std::int64_t kSchema = 1;
constexpr double kSilence_s = 180;   // a run of another machine that is silent for so long is taken for dead
constexpr double kClockSlack_s = 2;  // machines of one cluster keep time better than that

constexpr std::size_t kMostCategories = 20, kMostRemarks = 20;

/// A step has the number of samples that its rank's model trained on, and each model has as many.
std::int64_t samples_of_all(std::int64_t samples, std::int64_t models) {
  constexpr std::int64_t kMost = 9'000'000'000'000'000;
  return std::clamp(samples, -kMost / models, kMost / models) * models;
}

/// Gives each stage that the event has a time of to `take`.
template <typename Take>
void each_stage(const Event& event, const Take& take) {
  for (std::size_t stage = 0; stage < kStageKeys.size(); ++stage) {
    const EventField* const field = event.find(kStageKeys[stage]);
    double time_us = 0;
    if (field != nullptr && field->number(time_us)) take(stage, time_us);
  }
}

constexpr std::pair<std::string_view, std::string RunView::*> kRunTexts[] = {
    {"lesson", &RunView::lesson}, {"preset", &RunView::preset},       {"device", &RunView::device},
    {"host", &RunView::host},     {"started", &RunView::started},     {"provenance", &RunView::provenance},
    {"source", &RunView::source}, {"replay_of", &RunView::replay_of}, {"yours", &RunView::yours},
    {"group", &RunView::group},   {"point", &RunView::point}};

/// 0 where the number is missing, below zero or not finite.
double positive(const Event& event, std::string_view key) {
  const double value = event.number(key);
  return std::isfinite(value) && value > 0 ? value : 0;
}

std::vector<std::string> channels_of(const Event& event) {
  std::vector<std::string> out;
  for (const EventField& field : event.fields()) {
    if (field.key.starts_with("rmse_")) out.push_back(printable(field.key.substr(5), 40));
  }
  return out;
}

/// Puts the scores of a channel into what has members for them.
template <typename Scores>
void take_scores(const Event& event, const std::string& channel, Scores& out) {
  out.headline = channel;
  out.rmse = event.number("rmse_" + channel);
  out.persistence_rmse = event.number("persistence_rmse_" + channel);
  out.climatology_rmse = event.number("climatology_rmse_" + channel);
}

/// Whether process `pid` of this machine is alive and is called `program`. A number can be given to another
/// process later, and a killed one whose parent has not looked yet is dead all the same.
bool is_alive(std::int64_t pid, const std::string& program) {
  const std::optional<ProcessFacts> facts = process_facts(pid);
  return facts && facts->name == program.substr(0, 15) && !facts->has_ended();
}

}  // namespace

void RunLog::skip() {
  partial_ = true;
  view_.summary.samples = 0;
  forget_speed();
  series_.skip();
}

void RunLog::forget_speed() {
  view_.summary.samples_per_s = view_.summary.step_us = 0;
  view_.summary.stages_us.clear();
  steady_steps_ = steady_samples_ = 0;
  steady_us_ = 0;
  steady_stages_us_ = {};
}

void RunLog::take(const Event& event) {
  const std::string_view kind = event.kind();
  take_watched(event, view_.summary.watched);
  if (kind == "step") {
    take_step(event);
  } else if (kind == "eval") {
    take_eval(event);
  } else if (kind == "run") {
    take_run(event);
  } else if (kind == "note") {
    take_note(event);
  } else if (kind == "summary") {
    take_summary(event);
  } else if (kind == "end") {
    ended_ = true;
    view_.reason = event.text("reason");
    const std::string status = event.text("status");
    view_.state = status == "done"      ? RunState::done
                  : status == "stopped" ? RunState::stopped
                                        : RunState::failed;
  }
  if (keeps_columns_) take_columns(event);
}

void RunLog::take_columns(const Event& event) {
  series_.take(event);
  if (event.kind() == "run") peak_bytes_.reset();
  if (const double bytes = event.number("peak_bytes", -1); bytes >= 0 && std::isfinite(bytes))
    peak_bytes_ = std::max(peak_bytes_.value_or(0), bytes);
}

void RunLog::take_note(const Event& event) {
  const std::string text = event.text("text");
  if (text == "graph") take_graph(event);
  if (text == "memory") take_memory(event);
  if (text == "left_out") view_.left_out.add(event.text("what"), event.text("why"), event.integer("count"));
  if (text == "remark" && view_.remarks.size() < kMostRemarks) view_.remarks.push_back(event.text("remark"));
  if (text == "probe")
    view_.probe = {event.text("backend"), positive(event, "latency_us"), positive(event, "algbw_gb_per_s"),
                   positive(event, "busbw_gb_per_s"), positive(event, "bytes")};
  if (event.find("steps_per_epoch") == nullptr) return;
  view_.steps_per_epoch = event.integer("steps_per_epoch");
  RunSummary& summary = view_.summary;
  const std::int64_t usual =
      summary.measure.empty() ? warm_up_steps(view_.steps_per_epoch, summary.wanted_steps - view_.from_step)
                              : kMeasureWarmUpSteps;
  summary.warm_up_steps = event.integer("warm_up_steps", usual);
}

void RunLog::take_run(const Event& event) {
  if (const std::int64_t schema = event.integer("schema"); schema != kSchema) {
    throw Error(fmt::format("the stream has schema {}, this program reads {}", schema, kSchema), where_,
                "the run was made by another version");
  }
  for (const auto& [key, member] : kRunTexts) view_.*member = event.text(key);
  const auto unless = [&](std::string_view usual, std::string_view key) {
    const std::string text = event.text(key);
    return text == usual ? "" : text;
  };
  view_.replay_speed = event.number("replay_speed");
  view_.yours = printable(view_.yours, 80);
  view_.fault = unless("none", "fault");
  view_.data_source = unless("files", "data_source");
  view_.throttle_mb_per_s = event.integer("throttle_mb_per_s");
  view_.repeat = event.integer("repeat");
  view_.summary.measure = unless("none", "measure");
  view_.summary.precision = printable(unless("none", "precision"), 20);
  view_.summary.emulated = event.flag("emulated");
  view_.pid = event.integer("pid");
  view_.parent_pid = event.integer("parent_pid");
  const Attempt attempt(event);
  view_.attempt = attempt.number;
  view_.from_step = attempt.from_step;
  view_.reason.clear();
  earlier_wall_s_ = attempt.from_wall_s;
  if (view_.attempt > 0) {  // it resumed from a checkpoint, and figures of speed are those of this attempt
    view_.summary.steps = view_.from_step;
    if (!partial_) view_.summary.samples = std::max<std::int64_t>(0, attempt.from_samples);
    forget_speed();
    std::erase_if(view_.scores, [&](const RunScores& scores) { return scores.step > view_.from_step; });
  }
  view_.summary.wanted_steps = event.integer("wanted_steps");
  view_.summary.world = attempt.world;
  view_.summary.replicas = attempt.replicas;
  view_.summary.flops_per_sample = event.number("flops_per_sample");
  view_.summary.redone_flops_per_sample = event.number("redone_flops_per_sample");
  ended_ = false;  // a resumed run continues behind the `end` of its attempt before
}

/// Steps that were launched piece by piece, and the recorded one, are warm-up of those that are replayed.
void RunLog::take_graph(const Event& event) {
  std::int64_t& warm_up = view_.summary.warm_up_steps;
  warm_up = std::max(warm_up, event.integer("step") - view_.from_step + 1);
  forget_speed();
}

void RunLog::take_memory(const Event& event) {
  view_.memory.clear();
  constexpr std::string_view kUnit = "_bytes";
  for (const EventField& field : event.fields()) {
    if (!field.key.ends_with(kUnit) || field.key == "predicted_bytes") continue;
    const std::int64_t bytes = event.integer(field.key);
    if (bytes > 0 && view_.memory.size() < kMostCategories)
      view_.memory.emplace_back(printable(field.key.substr(0, field.key.size() - kUnit.size()), 40), bytes);
  }
}

void RunLog::take_step(const Event& event) {
  RunSummary& summary = view_.summary;
  const std::int64_t step = event.integer("step");
  summary.steps = step + 1;
  const std::int64_t samples = samples_of_all(event.integer("samples"), summary.replicas);
  // A line of another program's log may stand for all steps since the one before it.
  const std::int64_t stands_for = std::max<std::int64_t>(1, event.integer("stands_for", 1));
  if (!partial_) summary.samples = sum_of(summary.samples, samples_of_all(samples, stands_for));
  summary.wall_s = earlier_wall_s_ + event.number("t_us") * 1e-6;
  view_.last_epoch = event.integer("epoch");
  summary.scale = event.number("scale", summary.scale);
  summary.skipped = event.integer("skipped", summary.skipped);
  if (event.find("loss") != nullptr) {
    summary.last_loss = event.number("loss");
    summary.has_losses = summary.measure.empty();
  }
  if (step == 0 && view_.from_step == 0) summary.first_loss = summary.last_loss;
  const bool is_timed = event.find("step_us") != nullptr;
  if (view_.steps_per_epoch == 0 || step < view_.steady_from() || !is_timed) return;
  ++steady_steps_;
  steady_samples_ = sum_of(steady_samples_, samples);
  steady_us_ += event.number("step_us");
  each_stage(event, [&](std::size_t stage, double time_us) {
    steady_stages_us_[stage] = steady_stages_us_[stage].value_or(0) + time_us;
  });
  const auto steps = static_cast<double>(steady_steps_);
  summary.step_us = steady_us_ / steps;
  summary.samples_per_s = steady_us_ > 0 ? static_cast<double>(steady_samples_) / steady_us_ * 1e6 : 0;
  summary.stages_us.clear();
  for (std::size_t stage = 0; stage < kStageNames.size(); ++stage) {
    if (const std::optional<double>& sum_us = steady_stages_us_[stage])
      summary.stages_us.emplace_back(kStageNames[stage], *sum_us / steps);
  }
}

void RunLog::take_eval(const Event& event) {
  const std::vector<std::string> channels = channels_of(event);
  const std::string headline = channels.empty() ? "" : channels.front();
  RunSummary& summary = view_.summary;
  RunScores scores{.step = event.integer("step"), .loss = event.number("loss"), .headline = ""};
  take_scores(event, headline, scores);
  take_scores(event, headline, summary);
  scores.acc = event.number("acc_" + headline);
  scores.members = std::max<std::int64_t>(1, event.integer("members", 1));
  scores.crps = positive(event, "crps_" + headline);
  scores.spread = positive(event, "spread_" + headline);
  if (event.find("t_us") != nullptr) scores.wall_s = earlier_wall_s_ + event.number("t_us") * 1e-6;
  const bool knows_samples = summary.samples > 0 || scores.step == 0 || view_.source.empty();
  if (!partial_ && knows_samples) scores.samples = summary.samples;
  summary.steps = std::max(summary.steps, scores.step);
  summary.has_valid_loss = summary.has_valid_loss || event.find("loss") != nullptr;
  summary.has_scores = !headline.empty();
  summary.valid_loss = event.number("loss", summary.valid_loss);
  std::erase_if(view_.scores, [&](const RunScores& earlier) { return earlier.step == scores.step; });
  view_.scores.push_back(scores);
  if (view_.channels.empty()) view_.channels = channels;
}

void RunLog::take_summary(const Event& event) {
  RunSummary& summary = view_.summary;
  summary.steps = event.integer("steps", summary.steps);
  // The summary of a rank without the number of ranks is its own.
  const std::int64_t more = event.find("world") == nullptr ? summary.replicas : 1;
  if (event.find("samples") != nullptr) summary.samples = samples_of_all(event.integer("samples"), more);
  summary.wall_s = event.number("wall_us") * 1e-6;
  summary.has_losses = summary.measure.empty() && (summary.has_losses || event.find("loss") != nullptr);
  summary.first_loss = event.number("first_loss", summary.first_loss);
  summary.last_loss = event.number("loss", summary.last_loss);
  summary.scale = event.number("scale", summary.scale);
  summary.skipped = event.integer("skipped", summary.skipped);
  summary.peak_flops_per_s = event.number("peak_flops_per_s");
  summary.peak_of_data_sheet = event.text("peak_source") == "data sheet";
  summary.samples_per_s = event.number("samples_per_s") * static_cast<double>(more);
  summary.step_us = event.number("step_us", summary.step_us);
  summary.stall_us = event.number("stall_us");
  summary.ready_slots = event.number("queue_slots");
  summary.slots = event.integer("slots");
  summary.read_bytes = event.integer("read_bytes");
  summary.read_cpu_us = event.integer("read_cpu_us");
  summary.processor_wait = std::min(1.0, event.number("processor_wait", -1));
  summary.comm_total_us = event.number("comm_total_us", 0);
  const auto bytes = [&](const char* key) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, event.integer(key)));
  };
  summary.predicted_bytes = bytes("predicted_bytes");
  summary.peak_bytes = bytes("peak_bytes");
  std::vector<std::pair<std::string, double>> stages_us;
  each_stage(event,
             [&](std::size_t stage, double time_us) { stages_us.emplace_back(kStageNames[stage], time_us); });
  if (!stages_us.empty()) summary.stages_us = std::move(stages_us);
  summary.has_valid_loss = summary.has_valid_loss || event.find("valid_loss") != nullptr;
  summary.valid_loss = event.number("valid_loss", summary.valid_loss);
  const std::vector<std::string> channels = channels_of(event);
  if (channels.empty()) return;
  summary.has_scores = true;
  take_scores(event, channels.front(), summary);
}

void RunLog::judge(double silence_s, const std::filesystem::path& folder) {
  view_.age_s = std::max(0.0, silence_s);
  view_.clock_ahead_s = silence_s < -kClockSlack_s ? -silence_s : 0;
  if (ended_) return;
  if (!view_.replay_of.empty() && has_owner(folder)) {
    view_.state = RunState::running;
    return;
  }
  if (!view_.provenance.empty()) {
    view_.state = RunState::done;
    return;
  }
  const bool here = view_.pid > 0 && view_.host == host_name();
  const bool gone =
      !view_.replay_of.empty() || (here ? !is_alive(view_.pid, view_.lesson) : silence_s > kSilence_s);
  view_.state = gone ? RunState::died : RunState::running;
}

}  // namespace isobar
