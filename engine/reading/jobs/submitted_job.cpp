#include "jobs/submitted_job.h"

#include <fmt/format.h>

#include <map>
#include <system_error>

#include "config/toml_text.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "foreign/toml_limits.h"
#include "record/run_tree.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr const char* kJobFile = "job.toml";
constexpr std::uint64_t kMostScript_bytes = 4'000'000;

/// `number` = 0: it is not known.
void write_job_file(const JobPlan& plan, std::int64_t number) {
  write_file_whole(
      plan.run / kJobFile,
      fmt::format("job = {}\nlesson = {}\nnodes = {}\nranks_per_node = {}\nsubmitted = {}\ncommand = {}\n",
                  number, toml_string(plan.lesson), plan.settings.nodes(), plan.settings.ranks_per_node(),
                  toml_string(wall_iso()), toml_string(plan.command)));
}

}  // namespace

fs::path SubmittedJob::log() const { return run / fmt::format("job-{}.log", number); }

SubmittedJob submit_job(const Slurm& slurm, const JobPlan& plan) {
  const SubmittedJob planned{0, plan.run};
  std::error_code code;
  const bool again = fs::exists(planned.script(), code);
  const std::string before = again ? read_text_file(planned.script(), kMostScript_bytes) : "";
  write_file_whole(planned.script(), job_script(plan));
  SubmittedJob out = planned;
  try {
    out.number = slurm.submit(plan.run, kJobScript);
  } catch (const NoJobNumber&) {
    write_job_file(plan, 0);  // so that nothing takes the folder for an empty one
    throw;
  } catch (const Error&) {
    if (again)
      write_file_whole(planned.script(), before);
    else
      fs::remove(planned.script(), code);
    throw;
  }
  write_job_file(plan, out.number);
  return out;
}

SubmittedJob job_of_run(const fs::path& run) {
  SubmittedJob out{0, run};
  std::error_code code;
  if (!fs::exists(run / kJobFile, code)) return out;
  for (const TomlEntry& entry :
       parse_toml(read_text_file(run / kJobFile, kMostTomlBytes), (run / kJobFile).string())) {
    const auto* const number = std::get_if<std::int64_t>(&entry.value);
    if (entry.key == "job" && number != nullptr && *number > 0) out.number = *number;
  }
  return out;
}

std::vector<FoundFolder> list_job_folders(const fs::path& runs) { return folders_with(runs, kJobFile); }

fs::path find_job_folder(const std::string& name, const fs::path& runs) {
  const auto whole = [](const fs::path& folder) { return fs::absolute(folder).lexically_normal(); };
  if (name == "last") {
    const std::vector<FoundFolder> all = list_job_folders(runs);
    return all.empty() ? fs::path() : whole(all.back().path);
  }
  std::error_code code;
  for (const fs::path& folder : {fs::path(name), runs / name}) {
    if (fs::exists(folder / kJobFile, code)) return whole(folder);
  }
  return {};
}

std::string fate_text(const JobState& state) {
  static const std::map<std::string, std::string> kWords = {
      {"COMPLETED", "finished"},
      {"CANCELLED", "was cancelled"},
      {"TIMEOUT", "ran out of its time"},
      {"NODE_FAIL", "lost a node"},
      {"PREEMPTED", "had to give way to another job"},
      {"OUT_OF_MEMORY", "was killed because memory ran out"},
      {"DEADLINE", "missed its deadline"},
      {"BOOT_FAIL", "got nodes that did not start"},
      {"", "is over, and Slurm has forgotten it"}};
  if (const auto found = kWords.find(state.state); found != kWords.end()) return found->second;
  const std::string code = state.exit_code.substr(0, state.exit_code.find(':'));
  return state.state == "FAILED" && !code.empty() ? "failed with exit code " + code
                                                  : "ended as " + printable(state.state, 40);
}

}  // namespace isobar
