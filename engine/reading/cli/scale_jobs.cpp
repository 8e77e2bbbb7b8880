#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string_view>

#include "cli/lesson_options.h"
#include "cli/scale_arguments.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "jobs/job_script.h"
#include "jobs/slurm.h"
#include "launch/spawn.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kJobAsk_us = 2'000'000;  // between two questions to Slurm
constexpr std::string_view kDataRoot = "data.root=";

JobPlan plan_for(const WantedRun& run, const JobSettings& settings) {
  JobPlan plan;
  plan.settings = settings;
  plan.lesson = run.program.filename().string();
  plan.programs = run.program.parent_path();
  plan.folder = fs::current_path();
  plan.cache_prefix = fs::absolute(cache_prefix());
  plan.command = "./isobar scale " + plan.lesson;
  plan.run = fs::absolute(run.folder).lexically_normal();
  plan.words = words_of(run.settings);
  for (const fs::path& file : run.settings.config_files) plan.inputs.push_back(fs::absolute(file));
  for (const std::string& set : run.settings.sets) {
    if (set.starts_with(kDataRoot))
      plan.inputs.push_back(fs::absolute(set.substr(kDataRoot.size())).lexically_normal());
  }
  return plan;
}

int exit_code_of(const JobState& state) {
  int code = 1;
  std::from_chars(state.exit_code.data(), state.exit_code.data() + state.exit_code.size(), code);
  return code == 0 ? 1 : code;
}

/// A point that Slurm does not take, or does not tell of, is one that failed: the others stand.
Ended failed_by(const Error& error, const std::string& more = "") {
  Ended out;
  out.code = static_cast<int>(error.code());
  out.errors = error.text() + "\n" + more;
  return out;
}

/// Nobody waits for it any more: it must not go on.
Ended give_up(const Slurm& slurm, std::int64_t job, const Error& error) {
  try {
    slurm.cancel(job);
    return failed_by(error);
  } catch (const Error&) {
    return failed_by(error, fmt::format("job {} may go on: ./isobar submit --cancel {}\n", job, job));
  }
}

/// Stopped before its checkpoint, of which a run that measures has none: by the warning that its time is up.
constexpr int kWarned = 128 + SIGUSR1;

Ended wait_for_job(const Slurm& slurm, const SubmittedJob& job, const JobPlan& plan,
                   const HeldSignals& signals, const std::function<void()>& tick) {
  Ended out;
  const auto seen = [](const JobState&, const std::string&) { return kJobAsk_us; };
  const auto [last, asked] = wait_for_end(slurm, job.number, signals, {.seen = seen, .tick = tick});
  out.asked = asked;
  if (out.asked != 0) {
    slurm.cancel(job.number);
    out.code = 128 + out.asked;
    return out;
  }
  if (last.state == "COMPLETED") return out;
  out.code = exit_code_of(last);
  const std::string fate =
      out.code == kWarned ? fmt::format("was not done within its --time of {}", plan.settings.value("time"))
                          : fate_text(last);
  out.errors = fmt::format("job {} {}\n{}\n", job.number, fate, joined(job.end_of_log(), "\n"));
  return out;
}

Ended run_job(const Slurm& slurm, const JobPlan& plan, const std::function<void()>& tick) {
  const HeldSignals signals;
  SubmittedJob job;
  try {
    job = submit_job(slurm, plan);
  } catch (const Error& error) {
    return failed_by(error);
  }
  try {
    return wait_for_job(slurm, job, plan, signals, tick);
  } catch (const Error& error) {
    return give_up(slurm, job.number, error);
  }
}

}  // namespace

JobSettings settings_for(JobSettings settings, std::int64_t ranks) {
  const std::int64_t each =
      std::max<std::int64_t>(1, settings.number("ranks_per_node", settings.number("gpus_per_node", 1)));
  const std::int64_t here = std::min(each, ranks);
  if (ranks % here != 0) {
    throw Error(fmt::format("{} ranks do not fill whole nodes of {} ranks", ranks, each), "--ranks",
                fmt::format("multiples of {}, fewer than {}, or another --ranks-per-node", each, each));
  }
  const ValuePlace place{"--ranks", "command line"};
  settings.set("nodes", std::to_string(ranks / here), place);
  settings.set("ranks_per_node", std::to_string(here), place);
  settings.set("restarts", "0", place);  // what only measures saves nothing to go on from
  complete(settings);
  return settings;
}

StartRun start_as_jobs(const JobSettings& settings) {
  const auto slurm = std::make_shared<Slurm>();
  return [slurm, settings](const WantedRun& run, const std::function<void()>& tick) {
    return run_job(*slurm, plan_for(run, settings_for(settings, run.ranks)), tick);
  };
}

}  // namespace isobar
