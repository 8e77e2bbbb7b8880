#include "jobs/job_script.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace isobar {
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
    if (std::find(volumes.begin(), volumes.end(), volume) == volumes.end()) volumes.push_back(volume);
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
  const std::string name = job.value("job_name");
  std::vector<std::string> out = {"--job-name=" + (name.empty() ? plan.lesson : name),
                                  "--nodes=" + job.value("nodes"),
                                  "--ntasks-per-node=" + job.value("ranks_per_node")};
  const auto add = [&](const char* key, const char* option) {
    if (const std::string value = job.value(key); !value.empty()) out.push_back(std::string(option) + value);
  };
  add("cpus_per_task", "--cpus-per-task=");
  if (job.has_gpus()) add("gpus_per_node", "--gpus-per-node=");
  add("gpu_bind", "--gpu-bind=");
  add("ranks_per_core", "--ntasks-per-core=");
  add("hint", "--hint=");
  add("memory", "--mem=");
  if (job.value("exclusive") == "true") out.emplace_back("--exclusive");
  add("time", "--time=");
  add("account", "--account=");
  add("partition", "--partition=");
  add("qos", "--qos=");
  add("reservation", "--reservation=");
  add("constraint", "--constraint=");
  add("switches", "--switches=");
  if (job.value("container") == "shifter") add("image", "--image=");
  if (!batch) return out;
  out.insert(out.end(), {"--requeue", "--open-mode=append", "--output=job-%j.log",
                         "--signal=B:USR1@" + job.value("warn")});
  return out;
}

std::string job_script(const JobPlan& plan) {
  const std::filesystem::path rest = project_home() / "submit" / kJobScript;
  return head(plan) + "\n" + values(plan) + "\n" + read_text_file(rest, 100'000);
}

}  // namespace isobar
