#include "running/standalone_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>

#include "check/yours.h"
#include "config/check_fault.h"
#include "config/load.h"
#include "config/with_fault.h"
#include "core/clock.h"
#include "core/files.h"
#include "core/machine.h"
#include "core/text.h"
#include "launch/rank_launcher.h"
#include "launch/supervise.h"
#include "running/environment.h"
#include "samples/batch_order.h"

namespace isobar {
namespace {

constexpr std::size_t kMostPath = 4096;

void check_can_meet(const RankEnvironment& environment, const LessonInfo& lesson, std::int64_t wanted) {
  const std::string start =
      fmt::format("./isobar run {} --ranks {}", lesson.name, std::max<std::int64_t>(2, wanted));
  if (wanted != environment.world) {
    throw Error(fmt::format("{} ranks are wanted, and this process is alone", wanted), "run.ranks",
                start + " starts them");
  }
  if (environment.world == 1 || environment.launched_by == LaunchedBy::isobar) return;
  throw Error(fmt::format("the ranks of {} meet in memory that ./isobar lays, and these were started by {}",
                          lesson.name, name_of(environment.launched_by)),
              "environment", start + " starts them");
}

/// There is one message a step, and nothing that it could be cut into.
void check_sync(const LessonInfo& lesson, const LoadedConfig& loaded) {
  const SyncKind sync = loaded.config.comm.sync;
  if (sync == SyncKind::at_end || sync == SyncKind::none) return;
  const auto origin = loaded.origins.find("comm.sync");
  throw Error(fmt::format("{} does not have comm.sync = {}", lesson.name, name_of(sync)),
              origin == loaded.origins.end() ? "lessons/base.toml" : origin->second, "here: at_end, none");
}

/// Before anything is written.
void check_batch(const Config& config) {
  BatchOrder(Sampler(config.data.samples, config.data.shuffle, config.data.seed), config.train.global_batch);
}

/// From rank 0 to all.
std::string tell_path(RingGroup& group, const std::string& path) {
  std::vector<double> words(kMostPath);
  for (std::size_t i = 0; i < std::min(path.size(), words.size()); ++i)
    words[i] = static_cast<unsigned char>(path[i]);
  group.broadcast(words);
  std::string told;
  for (const double word : words) {
    if (word == 0) break;
    told += static_cast<char>(static_cast<unsigned char>(word));
  }
  return told;
}

}  // namespace

StandaloneStep::StandaloneStep(StandaloneRun& run, std::int64_t index)
    : run_(run), index_(index), begin_us_(steady_us()), since_us_(begin_us_) {}

void StandaloneStep::close(std::int64_t now_us) {
  if (stage_ != kNone) {
    stage_us_[stage_] += now_us - since_us_;
    if (run_.journal_->spans().wants(index_)) intervals_.push_back({stage_, since_us_, now_us});
  }
  since_us_ = now_us;
}

void StandaloneStep::enter(Stage stage) {
  close(steady_us());
  stage_ = static_cast<std::size_t>(stage);
  entered_[stage_] = true;
  run_.journal_->status().stage(index_, name_of(stage));
}

void StandaloneStep::leave() {
  close(steady_us());
  stage_ = kNone;
}

void StandaloneStep::finish(const Result& result) {
  const std::int64_t now_us = steady_us();
  close(now_us);
  run_.finished(*this, now_us - begin_us_, result);
}

StandaloneRun::StandaloneRun(const LessonInfo& lesson, const RunArguments& arguments,
                             const std::vector<std::string>& command)
    : lesson_(lesson), environment_(read_rank_environment()) {
  Settings settings = arguments.settings;
  if (!settings.resume.empty())
    throw Error(fmt::format("{} keeps no checkpoints, so there is nothing to resume", lesson.name),
                "--resume", "leave it out");
  if (environment_.launched_by != LaunchedBy::nobody)
    settings.sets.push_back("run.ranks=" + std::to_string(environment_.world));
  loaded_ = load_config(project_home(), lesson, settings, "cpu");
  const RunConfig& run = asked().run;
  if (honours(lesson, "comm.sync")) check_sync(lesson, loaded_);
  if (honours(lesson, "data.samples")) check_batch(asked());
  check_can_meet(environment_, lesson, run.ranks);
  fault_ = take_fault(asked(), environment_.rank, "cpu");
  page_config_ = with_fault(asked(), fault_);
  make_fault(fault_);
  if (environment_.rank > 0) console_.be_quiet();
  meet(arguments, command);
}

RingMeeting StandaloneRun::meeting() {
  return {.file = environment_.meeting_file,
          .rank = environment_.rank,
          .size = environment_.world,
          .timeout_us = static_cast<std::int64_t>(asked().comm.timeout_s * 1e6),
          .followed = &followed_};
}

void StandaloneRun::meet(const RunArguments& arguments, const std::vector<std::string>& command) {
  group_ = std::make_unique<RingGroup>(meeting());
  ranks_ = std::make_unique<RunRanks>(*group_, page_config_.comm);
  JournalFolder folder;
  if (group_->rank() == 0) {
    folder = take_journal_folder(lesson_.name, {}, arguments.run_dir, console_);
    if (group_->size() > 1) show_run_folder(environment_.meeting_file, folder.folder.path);
    write_run_toml(folder, lesson_.name, asked(),
                   environment_toml({{"device", "cpu"}, {"device_is", cpu_name()}}, 1, command));
  }
  folder.folder.path = tell_path(*group_, folder.folder.path.string());
  journal_ = std::make_unique<RunJournal>(console_, std::move(folder), asked().run,
                                          JournalStart{.rank = group_->rank()});
  if (group_->rank() == 0)
    board_ = std::make_unique<TfEventsWriter>(journal_->folder().path / "tb", host_name());
  journal_->write(begin_line(lesson_.name, loaded_, journal_->attempt(), group_->rank(), group_->size())
                      .add("replicas", group_->size())
                      .add("device", "cpu")
                      .add("threads", 1));
}

double StandaloneRun::largest(double value) {
  std::array<double, 1> values = {value};
  group_->largest(values);
  return values[0];
}

void StandaloneRun::announce(const std::vector<std::string>& lines) {
  console_.line(lesson_.name + "  " + lesson_.title);
  console_.lines(lines);
  if (group_->size() > 1)
    console_.line(fmt::format("  ranks   {} processes over shared memory", group_->size()));
  console_.line("  run     " + journal_->folder().path.string());
  if (!yours().empty())
    console_.line(fmt::format("  YOURS   {} replaces a part of this lesson", printable(yours())));
  if (fault_.fault == Fault::none) return;
  console_.line(fmt::format("  FAULT   {}: {}", name_of(fault_.fault), fault_sentence(fault_)));
  if (board_) board_->scalar(std::string("Fault/") + name_of(fault_.fault), 1, 0);
}

void StandaloneRun::note(const std::string& text,
                         const std::vector<std::pair<const char*, double>>& figures) {
  JsonLine line("note");
  line.add("text", text);
  for (const auto& [name, value] : figures) line.add(name, value);
  journal_->write(line);
}

StandaloneStep StandaloneRun::begin_step() {
  journal_->check_owned(/*soon=*/true);
  return {*this, steps_done_};
}

void StandaloneRun::finished(const StandaloneStep& step, std::int64_t step_us,
                             const StandaloneStep::Result& result) {
  if (result.loss) {
    std::array<double, 1> loss = {*result.loss};
    group_->mean(loss);  // over the whole batch
    last_loss_ = loss[0];
    has_losses_ = true;
  }
  // One rank that is asked to stop stops all.
  stop_signal_ = static_cast<int>(largest(static_cast<double>(StopSignals::requested())));
  const std::int64_t all_samples = result.samples * group_->size();
  if (steps_done_ == 0) {
    first_loss_ = last_loss_;
  } else {
    ++steady_.steps;
    steady_.samples += all_samples;
    steady_.us += step_us;
    for (std::size_t i = 0; i < kStageNames.size(); ++i) steady_.stage_us[i] += step.stage_us_[i];
  }
  ++steps_done_;
  samples_ += all_samples;
  JsonLine line("step");
  line.add("step", step.index_)
      .add("t_us", journal_->since_begin_us())
      .add("epoch", result.epoch)
      .add("samples", result.samples);
  for (std::size_t i = 0; i < kStageNames.size(); ++i) {
    if (step.entered_[i]) line.add(fmt::format("{}_us", kStageNames[i]), step.stage_us_[i]);
  }
  line.add("step_us", step_us);
  if (result.loss) line.add("loss", last_loss_).add("lr", result.lr);
  for (const auto& [name, value] : result.figures) line.add(name, value);
  journal_->write(line);
  for (const auto& [stage, begin_us, end_us] : step.intervals_) {
    journal_->spans().add({.track = "loop",
                           .name = kStageNames[stage],
                           .step = step.index_,
                           .begin_us = begin_us,
                           .end_us = end_us});
  }
  if (board_ && result.loss) board_->scalar("Loss/train", last_loss_, step.index_);
}

RunSummary StandaloneRun::summary() const {
  RunSummary out;
  out.steps = steps_done_;
  out.wanted_steps = asked().train.steps;
  out.world = out.replicas = group_->size();
  out.samples = samples_;
  out.wall_s = static_cast<double>(journal_->since_begin_us()) * 1e-6;
  out.has_losses = has_losses_;
  out.first_loss = first_loss_;
  out.last_loss = last_loss_;
  out.warm_up_steps = 1;
  if (steady_.steps == 0 || steady_.us == 0) return out;
  const auto mean = [&](std::int64_t sum) {
    return static_cast<double>(sum) / static_cast<double>(steady_.steps);
  };
  out.step_us = mean(steady_.us);
  out.samples_per_s = static_cast<double>(steady_.samples) / (static_cast<double>(steady_.us) * 1e-6);
  for (std::size_t i = 0; i < kStageNames.size(); ++i) {
    if (steady_.stage_us[i] > 0) out.stages_us.emplace_back(kStageNames[i], mean(steady_.stage_us[i]));
  }
  return out;
}

int StandaloneRun::finish() {
  journal_->check_owned(/*soon=*/false);
  const bool complete = steps_done_ >= asked().train.steps;
  const std::string reason = complete ? ""
                                      : fmt::format("{} after {} steps, without a checkpoint",
                                                    signal_name(stop_signal_), steps_done_);
  const RunSummary whole = summary();
  const std::exception_ptr lost = journal_->end(complete ? "done" : "stopped", reason, whole);
  console_.line(
      (complete ? "done" : "stopped: " + reason) +
      (fault_.fault == Fault::none ? "" : std::string("  with the fault ") + name_of(fault_.fault)));
  console_.lines(summary_lines(whole));
  console_.line("  run          " + journal_->folder().path.string());
  if (lost) {
    journal_->status().end(RankPhase::failed);
    std::rethrow_exception(lost);
  }
  console_.finish();
  journal_->status().end(RankPhase::done);
  return complete ? static_cast<int>(Exit::done) : 128 + stop_signal_;
}

void StandaloneRun::fail(const Error& error) noexcept {
  journal_->status().end(followed_ ? RankPhase::followed : RankPhase::failed);
  try {
    console_.note(error.text());
    journal_->end("failed", error.text(), summary());
  } catch (...) {  // such as a full disk: the first error is the one that is reported
  }
}

int run_standalone(const std::string& lesson_name, int argc, char** argv, void (*page)(StandaloneRun&)) {
  follow_launcher();
  std::signal(SIGXFSZ, SIG_IGN);  // so that a file size limit is an error that can be reported
  std::signal(SIGPIPE, SIG_IGN);  // so that it continues when nobody reads its output any more
  return guarded_main(lesson_name, [&] {
    const LessonInfo lesson = read_lesson(project_home(), lesson_name);
    const RunArguments arguments = parse_run_arguments({argv + 1, argv + argc}, lesson, project_home());
    if (arguments.help) {
      std::fputs(arguments.help_text.c_str(), stdout);
      return static_cast<int>(Exit::done);
    }
    StandaloneRun run(lesson, arguments, {argv, argv + argc});
    try {
      page(run);
      return run.finish();
    } catch (const Error& error) {
      run.fail(error);
      throw;
    }
  });
}

}  // namespace isobar
