// What `main` of a lesson does around its page.
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <new>

#include "core/error.h"
#include "core/nvidia.h"
#include "core/text.h"
#include "device/memory.h"
#include "device/peak.h"
#include "device/torch_error.h"
#include "run/run.h"

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

int finish(RunParts& run) {
  run.recorder->release();
  run.recorder->record_done_steps(/*wait_for_all=*/true);
  run.recorder->write_memory();
  RunOutput& output = *run.output;
  output.check_owned(/*soon=*/false);  // open files take what nobody will find
  const std::string resume = run.plan.measures() ? ""
                                                 : "./isobar run " + run.plan.lesson.name + " --resume " +
                                                       shell_quoted(output.folder().path.string());
  return finish_run(output, run.complete(), run.vote.signal(), resume, whole_summary(run));
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
  fail_run(*run.output, run.groups.world().followed(), error.text(), [&] {
    run.recorder->release();
    try {
      run.recorder->record_done_steps(/*wait_for_all=*/true);
      run.recorder->write_memory();
    } catch (...) {  // the device, or a loss that is no number: the first error is the one that is reported
    }
    return run.recorder->summary();
  });
}

[[noreturn]] void leave(int code) {
  std::fflush(nullptr);
  _exit(code);
}

/// A rank of several that fails reports it and exits at once: waits for other ranks would hold it
/// up.
[[noreturn]] void leave_hard(const std::string& lesson, const Error& error) {
  leave(guarded_main(lesson, [&]() -> int { throw error; }));
}

/// libtorch would forget its operators one by one, which takes 0.1 s. Profilers of CUDA and the
/// sanitizers want to see the end of a program.
bool ends_at_once() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#else
  return !has_nvidia_driver();
#endif
}

}  // namespace

int run_lesson(const std::string& lesson, int argc, char** argv, void (*page)(Run&), JoinRanks join_ranks) {
  const int code = run_main(lesson, argc, argv, [&](const RunStart& start) {
    RunParts parts(start, join_ranks);
    try {
      Run run(parts);
      page(run);
      return finish(parts);
    } catch (const std::exception& error) {
      const Error told = explained(parts, error);
      fail(parts, told);
      if (parts.groups.world().size() > 1) leave_hard(lesson, told);
      throw told;
    }
  });
  if (ends_at_once()) leave(code);
  return code;
}

}  // namespace isobar
