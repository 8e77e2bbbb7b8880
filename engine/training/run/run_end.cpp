#include "run/run_end.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <new>

#include "core/text.h"
#include "device/memory.h"
#include "device/peak.h"
#include "device/torch_error.h"

namespace isobar {
namespace {

RunSummary whole_summary(RunParts& run) {
  RunSummary out = run.recorder->summary();
  const Config& config = run.plan.config();
  if (!run.complete() || config.run.measure == MeasureKind::io || !run.groups.speaks()) return out;
  const Peak peak = peak_of(run.plan.device, config.amp.mode);
  out.peak_flops_per_s = peak.flops_per_s;
  out.peak_of_data_sheet = peak.from_data_sheet;
  return out;
}

Error out_of_memory(const std::string& text, std::size_t at, const std::string& where) {
  std::uint64_t asked = 0;
  if (at != std::string::npos) std::from_chars(text.data() + at, text.data() + text.size(), asked);
  return {fmt::format("out of memory{}; {} were held at most so far, {} are free",
                      asked > 0 ? ": " + human_bytes(asked) + " more were asked for" : "",
                      human_bytes(peak_own_bytes()),
                      human_bytes(static_cast<std::uint64_t>(memory_now(c10::Device(c10::kCPU)).free_bytes))),
          where, "a smaller train.global_batch, or a smaller preset", Exit::failed};
}

/// A folder that is removed goes piece by piece, and the file by which its owner is known may go last.
std::optional<Error> lost_in_part(const RunParts& run, const Error& error) {
  const std::string what = error.what();
  const std::string folder = run.output->folder().path.string() + "/";
  if (!error.where().starts_with(folder) || !what.ends_with(std::strerror(ENOENT))) return std::nullopt;
  return Error("a part of the run folder was moved or removed while it was written to: " + what,
               error.where(), "a checkpoint that is still there can be resumed", Exit::failed);
}

}  // namespace

int finish(RunParts& run) {
  run.recorder->release();
  run.recorder->record_done_steps(/*wait_for_all=*/true);
  RunOutput& output = *run.output;
  output.check_owned(/*soon=*/false);  // open files take what nobody will find
  const RunPlan& plan = run.plan;
  const bool complete = run.complete();
  const int stop = run.vote.signal();
  const std::string reason = complete
                                 ? ""
                                 : fmt::format("{} after {} steps, {} a checkpoint", signal_name(stop),
                                               run.progress.steps_done, plan.measures() ? "without" : "with");
  const RunSummary whole = whole_summary(run);
  const std::exception_ptr lost = output.end(complete ? "done" : "stopped", reason, whole);
  const Fault fault = plan.config().run.fault;
  Console& console = run.console;
  console.line((complete ? "done" : "stopped: " + reason) +
               (fault == Fault::none ? "" : std::string("  with the fault ") + name_of(fault)));
  for (const std::string& line : summary_lines(whole)) console.line(line);
  console.line("  run          " + output.folder().path.string());
  if (lost) {
    output.status().end(RankPhase::failed);
    std::rethrow_exception(lost);
  }
  const bool resumes = !complete && !plan.measures();
  if (resumes) {
    console.line("  continue     ./isobar run " + plan.lesson.name + " --resume " +
                 shell_quoted(output.folder().path.string()));
  }
  console.finish();
  output.status().end(RankPhase::done);
  if (complete) return static_cast<int>(Exit::done);
  return resumes ? static_cast<int>(Exit::checkpointed) : 128 + stop;
}

Error explained(const RunParts& run, const std::exception& error) {
  if (const std::optional<Error> lost = run.output->lost()) return *lost;
  if (const auto* const ours = dynamic_cast<const Error*>(&error)) {
    const std::optional<Error> lost = lost_in_part(run, *ours);
    return lost ? *lost : *ours;
  }
  const std::string where =
      fmt::format("step {}, stage {}", run.progress.steps_done + 1, run.recorder->phase());
  const auto* const torch = dynamic_cast<const c10::Error*>(&error);
  const Error told =
      torch != nullptr ? as_error(*torch) : Error(printable(error.what(), 400), "", "", Exit::failed);
  const std::string text = told.what();
  const std::string kAsked = "tried to allocate ";
  const std::size_t at = text.find(kAsked);
  if (at != std::string::npos) return out_of_memory(text, at + kAsked.size(), where);
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return out_of_memory(text, at, where);
  return {text, told.where().empty() ? where : told.where() + ", " + where, told.hint(), Exit::failed};
}

void fail(RunParts& run, const Error& error) noexcept {
  const std::string reason = error.text();
  run.output->status().end(run.groups.world().followed() ? RankPhase::followed : RankPhase::failed);
  run.recorder->release();
  try {
    run.recorder->record_done_steps(/*wait_for_all=*/true);
  } catch (...) {  // the device, or a loss that is no number: the first error is the one that is reported
  }
  try {
    run.console.note(reason);
  } catch (...) {
  }
  try {
    run.output->end("failed", reason, run.recorder->summary());
  } catch (
      ...) {  // the stream is what failed, or the disk is full: the first error is the one that is reported
  }
}

}  // namespace isobar
