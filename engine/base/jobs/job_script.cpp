#include "jobs/job_script.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <system_error>

#include "config/toml_text.h"
#include "core/clock.h"
#include "core/find.h"
#include "core/machine.h"
#include "core/text.h"
#include "foreign/toml_limits.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

/// One word of the script: whatever it holds, bash takes it as it is.
std::string word(const std::string& text) {
  return shell_quoted(checked_text(text, {"a word of the job's script", "command line"}));
}

std::string words(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : " ") + word(text);
  return out;
}

std::string head(const JobPlan& plan) {
  const JobSettings& job = plan.settings;
  std::string out =
      fmt::format("#!/bin/bash\n# {} on {} with {} each: a job for Slurm, written by\n#   {}\n", plan.lesson,
                  counted(job.nodes(), "node"), counted(job.ranks_per_node(), "rank"),
                  checked_text(plan.command, {"the command", "command line"}));
  if (!job.title.empty()) out += "# Cluster: " + job.title + "\n";
  for (const std::string& note : job.notes) out += "#   " + note + "\n";
  out += fmt::format("# Change it as you like; from its folder it is submitted again by: sbatch {}\n",
                     kJobScript);
  for (const std::string& option : slurm_options(plan, /*batch=*/true)) out += "#SBATCH " + option + "\n";
  return out;
}

/// What stands between srun and the program.
std::vector<std::string> container_words(const JobPlan& plan) {
  const JobSettings& job = plan.settings;
  const std::string kind = job.value("container");
  std::vector<std::string> out;
  std::vector<std::string> volumes = job.volumes;
  if (kind == "shifter") {
    out = {"shifter"};
    if (const std::string modules = job.value("container_modules"); !modules.empty())
      out.push_back("--module=" + modules);
    for (const std::string& volume : volumes) out.push_back("--volume=" + volume);
    return out;  // the image is an option of sbatch there
  }
  // The run folder and the data must be seen inside, under the same names.
  std::vector<std::filesystem::path> seen = {plan.folder, plan.run, plan.cache_prefix};
  seen.insert(seen.end(), plan.inputs.begin(), plan.inputs.end());
  for (const auto& path : seen) {
    const std::string same =
        checked_path(path.string(), {"a folder that the container needs", path.string()});
    const std::string volume = same + ":" + same;
    if (!holds(volumes, volume)) volumes.push_back(volume);
  }
  if (kind == "apptainer") {
    out = {"apptainer", "exec"};
    if (job.has_gpus()) out.push_back("--nv");
    for (const std::string& volume : volumes) out.push_back("--bind=" + volume);
  } else {
    out = {"podman",
           "run",
           "--rm",
           "--network=host",
           "--ipc=host",
           "--env-host",
           "--workdir=" + plan.folder.string()};
    if (job.has_gpus()) out.push_back("--device=nvidia.com/gpu=all");
    for (const std::string& volume : volumes) out.push_back("--volume=" + volume);
  }
  out.push_back(job.value("image"));
  return out;
}

/// Values of the script, one a line, under the names that submit/job.sbatch reads.
struct Values {
  void add(const std::string& name, const std::string& value) { text += name + "=" + word(value) + "\n"; }
  void add(const std::string& name, const std::vector<std::string>& list) {
    text += name + "=(" + words(list) + ")\n";
  }
  std::string text;
};

std::string values(const JobPlan& plan) {
  const JobSettings& job = plan.settings;
  const std::filesystem::path programs = job.has_container() ? job.value("programs") : plan.programs.string();
  std::vector<std::string> exports;
  for (const auto& [name, value] : job.environment) exports.push_back(name + "=" + value);
  Values out;
  out.add("folder", plan.folder.string());
  out.add("run", plan.run.string());
  out.add("prefix", plan.cache_prefix.string());
  out.add("program", (programs / plan.lesson).string());
  out.add("words", plan.words);
  out.add("resume_words", plan.resume_words);
  out.add("wrapper", job.has_container() ? container_words(plan) : std::vector<std::string>());
  out.add("modules", job.modules);
  out.add("exports", exports);
  out.add("cpus", job.value("cpus_per_task"));
  out.add("restarts", job.value("restarts"));
  if (!job.code.empty()) out.text += "# Lines of " + job.code_from + ":\n";
  return out.text + "site_lines=" + (job.code.empty() ? "" : shell_quoted(joined(job.code, "\n"))) + "\n";
}

}  // namespace

std::vector<std::string> slurm_options(const JobPlan& plan, bool batch) {
  const JobSettings& job = plan.settings;
  std::vector<std::string> out;
  for (const JobField& field : job_fields()) {
    std::string value = job.value(field.key);
    if (field.key == "job_name" && value.empty()) value = plan.lesson;
    const bool is_meant = field.key == "gpus_per_node" ? job.has_gpus()
                          : field.key == "exclusive"   ? value == "true"
                          : field.key == "image"       ? job.value("container") == "shifter"
                                                       : true;
    if (field.slurm.empty() || value.empty() || !is_meant) continue;
    out.push_back(field.slurm + (field.slurm.ends_with('=') ? value : ""));
  }
  if (!batch) return out;
  out.insert(out.end(), {"--requeue", "--open-mode=append", "--output=job-%j.log",
                         "--signal=B:USR1@" + job.value("warn")});
  return out;
}

std::string job_script(const JobPlan& plan) {
  const std::filesystem::path rest = project_home() / "submit" / kJobScript;
  return head(plan) + "\n" + values(plan) + "\n" + read_text_file(rest, 100'000);
}

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

std::vector<std::string> SubmittedJob::end_of_log() const {
  constexpr std::uint64_t kMostLog_bytes = 1'000'000;
  constexpr std::ptrdiff_t kLines = 12;
  std::vector<std::string> out;
  std::error_code code;
  if (!fs::exists(log(), code)) return out;
  for (const std::string& line : split(trimmed(read_text_file(log(), kMostLog_bytes)), '\n'))
    out.push_back(printable(line, 300));
  out.erase(out.begin(), out.end() - std::min(kLines, std::ssize(out)));
  return out;
}

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

namespace {

bool is_set(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

std::string user_name() {
  const passwd* const entry = getpwuid(getuid());
  return entry == nullptr || entry->pw_name == nullptr ? "" : entry->pw_name;
}

/// Above the ports that services have, below those that systems hand out by themselves.
std::int64_t port_of(std::int64_t number) {
  constexpr std::int64_t kFirst = 20'000, kPorts = 10'000;
  return kFirst + (number < 0 ? 0 : number % kPorts);
}

}  // namespace

WatchPlace watch_place(const std::string& login) {
  WatchPlace out;
  out.by_ssh = is_set("SSH_CONNECTION");
  out.in_hub = is_set("JUPYTERHUB_SERVICE_PREFIX");
  out.has_display = is_set("DISPLAY") || is_set("WAYLAND_DISPLAY");
  out.login = login.empty() ? host_name() : login;
  out.user = user_name();
  out.user_id = getuid();
  out.home = std::filesystem::absolute(project_home()).lexically_normal();
  return out;
}

std::string watch_line(const WatchPlace& place, const std::filesystem::path& run, std::int64_t number) {
  const std::string folder = shell_quoted(run.string());
  const std::string isobar = shell_quoted((place.home / "isobar").string());
  if (place.is_near())
    return isobar + (place.has_display && !place.in_hub ? " gui " : " gui --browser ") + folder;
  const std::string socket = fmt::format("/tmp/isobar-{}/watch-{}", place.user_id, number);
  const std::int64_t port = port_of(number);
  const std::string there =
      fmt::format("{} gui --browser --socket {} --port {} {}", isobar, socket, port, folder);
  return fmt::format("ssh -t -o ExitOnForwardFailure=yes -L 127.0.0.1:{}:{} {} {}", port, socket,
                     shell_quoted(place.user_at_host()), shell_quoted(there));
}

}  // namespace isobar
