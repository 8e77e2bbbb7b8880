#include "running/run_journal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "check/yours.h"
#include "core/clock.h"
#include "core/machine.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr int kSchema = 1;

}  // namespace

RunJournal::RunJournal(Console& console, JournalFolder folder, const RunConfig& run, const JournalStart& from)
    : console_(console), folder_(std::move(folder)) {
  const StreamStart start = from.silent     ? StreamStart::nowhere
                            : attempt() > 0 ? StreamStart::go_on
                                            : StreamStart::create;
  const auto flush_ms = static_cast<int>(run.flush_ms);
  const RunFolder& files = folder_.folder;
  stream_ = std::make_unique<StreamWriter>(files.stream_file(from.rank), flush_ms, start);
  begin_us_ = steady_us();
  spans_ = std::make_unique<SpanWriter>(files.spans_file(from.rank), flush_ms, start, begin_us_,
                                        from.first_step, from.silent ? 0 : run.trace_steps, attempt());
  status_ = StatusSlot(files.path, from.rank);
  if (from.rank == 0) events_ = std::make_unique<TfEventsWriter>(files.path / "tb", host_name());
}

JsonLine begin_line(const std::string& lesson, const LoadedConfig& loaded, int attempt, int rank, int world) {
  const RunConfig& run = loaded.config.run;
  JsonLine line("run");
  line.add("schema", kSchema)
      .add("lesson", lesson)
      .add("preset", loaded.preset)
      .add("attempt", attempt)
      .add("rank", rank)
      .add("world", world)
      .add("host", host_name())
      .add("pid", static_cast<std::int64_t>(getpid()))
      .add("parent_pid", static_cast<std::int64_t>(getppid()))
      .add("yours", yours())
      .add("fault", name_of(run.fault))
      .add("measure", name_of(run.measure))
      .add("group", run.group)
      .add("point", run.point)
      .add("repeat", run.repeat)
      .add("wanted_steps", loaded.config.train.steps)
      .add("started", wall_iso());
  return line;
}

JsonLine step_line(std::int64_t step, std::int64_t t_us, std::int64_t epoch, std::int64_t samples,
                   const StageTimes& times, const StageTimes* host) {
  JsonLine line("step");
  line.add("step", step).add("t_us", t_us).add("epoch", epoch).add("samples", samples);
  for (std::size_t stage = 0; stage < kStageNames.size(); ++stage) {
    if (!times.entered[stage]) continue;
    line.add(fmt::format("{}_us", kStageNames[stage]), times.stage_us[stage]);
    if (host != nullptr) line.add(fmt::format("{}_host_us", kStageNames[stage]), host->stage_us[stage]);
  }
  line.add("step_us", times.step_us);
  if (host != nullptr) line.add("step_host_us", host->step_us);
  return line;
}

std::int64_t RunJournal::since_begin_us() const { return steady_us() - begin_us_; }

void RunJournal::trace(std::string_view track, std::int64_t step,
                       const std::vector<StageInterval>& intervals) {
  if (!spans_->wants(step)) return;
  for (const auto& [stage, begin_us, end_us] : intervals)
    spans_->add(
        {.track = track, .name = name_of(stage), .step = step, .begin_us = begin_us, .end_us = end_us});
}

void RunJournal::trace_loop(std::string_view name, std::int64_t begin_us, std::int64_t step) {
  spans_->add({.track = "loop", .name = name, .step = step, .begin_us = begin_us, .end_us = steady_us()});
}

void RunJournal::check_owned(bool soon) const {
  if (soon && !folder_.owner.seen_lost()) return;
  if (const std::optional<Error> lost = folder_.owner.lost()) throw *lost;
}

std::exception_ptr RunJournal::end(const std::string& status, const std::string& reason,
                                   const RunSummary& whole) {
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
    write(JsonLine("note").add("text", text).add("waited_us", waited_us));
    console_.line(
        fmt::format("  slow disk    {} for {}", text, human_seconds(static_cast<double>(waited_us) * 1e-6)));
  }
  write(summary_event(whole));
  write(last);
  stream_->finish();
  folder_.owner.release();
  return lost;
}

}  // namespace isobar
