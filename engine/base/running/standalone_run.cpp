#include "running/standalone_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "config/check_fault.h"
#include "config/load.h"
#include "config/with_fault.h"
#include "core/error.h"
#include "core/files.h"
#include "core/machine.h"
#include "samples/batch_order.h"

namespace isobar {
namespace {

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

}  // namespace

StandaloneRun::StandaloneRun(const RunStart& start)
    : start_(start),
      vote_([this](double own) { return [most = largest(own)] { return most; }; }, StopSignals::requested) {
  const LessonInfo& lesson = start.lesson;
  const Settings& settings = start.arguments.settings;
  if (!settings.resume.empty())
    throw Error(fmt::format("{} keeps no checkpoints, so there is nothing to resume", lesson.name),
                "--resume", "leave it out");
  loaded_ = load_config(project_home(), lesson, settings, "cpu");
  if (honours(lesson, "comm.sync")) check_sync(lesson, loaded_);
  if (honours(lesson, "data.samples")) check_batch(asked());
  check_can_meet(start.ranks, lesson, asked().run.ranks);
  const FaultSetting fault = take_fault(asked(), start.ranks.rank, "cpu");
  page_config_ = with_fault(asked(), fault);
  make_fault(fault);
  if (start.ranks.rank > 0) console_.be_quiet();
  meet();
  summary_.wanted_steps = asked().train.steps;
  summary_.world = summary_.replicas = size();
  summary_.warm_up_steps = 1;
}

RingMeeting StandaloneRun::meeting() {
  return {.file = start_.ranks.meeting_file,
          .rank = start_.ranks.rank,
          .size = start_.ranks.world,
          .timeout_us = static_cast<std::int64_t>(asked().comm.timeout_s * 1e6),
          .followed = &followed_};
}

void StandaloneRun::meet() {
  group_ = std::make_unique<RingGroup>(meeting());
  ranks_ = std::make_unique<RunRanks>(*group_, page_config_.comm);
  const RunPlace place{.config = asked(), .about = {{"device", "cpu"}, {"device_is", cpu_name()}}};
  JournalFolder folder = meet_in_folder(start_, place, console_,
                                        [&](std::string text) { return group_->broadcast(std::move(text)); });
  journal_ = std::make_unique<RunJournal>(console_, std::move(folder), asked().run,
                                          JournalStart{.rank = group_->rank()});
  journal_->write(begin_line(start_.lesson.name, loaded_, journal_->attempt(), group_->rank(), group_->size())
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
  console_.line(start_.lesson.name + "  " + start_.lesson.title);
  console_.lines(lines);
  if (group_->size() > 1)
    console_.line(fmt::format("  ranks   {} processes over shared memory", group_->size()));
  console_.line("  run     " + journal_->folder().path.string());
  announce_changes(*journal_);
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
  return {summary_.steps, StageClock(journal_->spans().wants(summary_.steps)), *this};
}

void StandaloneRun::entered(Stage stage) { journal_->status().stage(summary_.steps, name_of(stage)); }

void StandaloneRun::finished(std::int64_t index, const StandaloneResult& result, const StageClock& clock) {
  if (result.loss) {
    std::array<double, 1> loss = {*result.loss};
    group_->mean(loss);  // over the whole batch
    summary_.last_loss = loss[0];
    if (index == 0) summary_.first_loss = loss[0];
    summary_.has_losses = true;
  }
  vote_.ask(/*now=*/true);
  const StageTimes& times = clock.times();
  const std::int64_t all_samples = result.samples * size();
  if (index > 0) sums_.add(all_samples, times);
  ++summary_.steps;
  summary_.samples += all_samples;
  JsonLine line = step_line(index, journal_->since_begin_us(), result.epoch, result.samples, times);
  if (result.loss) line.add("loss", summary_.last_loss).add("lr", result.lr);
  for (const auto& [name, value] : result.figures) line.add(name, value);
  journal_->write(line);
  journal_->trace("loop", index, clock.intervals());
  if (journal_->events() != nullptr && result.loss)
    journal_->events()->scalar("Loss/train", summary_.last_loss, index);
}

RunSummary StandaloneRun::summary() const {
  RunSummary out = summary_;
  out.wall_s = static_cast<double>(journal_->since_begin_us()) * 1e-6;
  sums_.put_into(out);
  return out;
}

int StandaloneRun::finish() {
  journal_->check_owned(/*soon=*/false);
  return finish_run(*journal_, is_complete(), vote_.signal(), "", summary());
}

void StandaloneRun::fail(const Error& error) noexcept {
  fail_run(*journal_, followed_, error.text(), [this] { return summary(); });
}

int run_standalone(const std::string& lesson, int argc, char** argv, void (*page)(StandaloneRun&)) {
  return run_main(lesson, argc, argv, [page](const RunStart& start) {
    StandaloneRun run(start);
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
