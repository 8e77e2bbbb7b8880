#include "jobs/job_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/error.h"
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

std::string counted(std::int64_t count, const char* one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
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

constexpr const char* kTraps = R"(
# The traps come first: a signal that nobody waits for would end this shell.
again=0 stop=0 step=
trap 'again=1; if [ -n "$step" ]; then kill -USR1 "$step"; fi' USR1  # the time is nearly up: srun tells every rank
trap 'stop=1' TERM  # scancel, or the time is up: Slurm tells the ranks itself

)";

std::string surroundings(const JobPlan& plan) {
  const JobSettings& job = plan.settings;
  std::string out = "cd " + word(plan.folder.string()) + " || exit 1\n";
  out += "run=" + word(plan.run.string()) + "\n";
  // What a launcher of the submitting shell left there would be taken for this job's.
  out += "unset RANK LOCAL_RANK WORLD_SIZE MASTER_ADDR MASTER_PORT\n";
  if (!job.modules.empty()) out += "module load " + words(job.modules) + "\n";
  out += "export ISOBAR_PREFIX=" + word(plan.cache_prefix.string()) + "\n";
  if (const std::string cpus = job.value("cpus_per_task");
      !cpus.empty() && job.environment.count("OMP_NUM_THREADS") == 0)
    out += "export OMP_NUM_THREADS=" + cpus + "\n";
  for (const auto& [name, value] : job.environment) out += "export " + name + "=" + word(value) + "\n";
  if (job.code.empty()) return out;
  out += "\n# Lines of " + checked_text(job.code_from, {"the profile's name", "--cluster"}) +
         ", as they stand there:\n";
  for (const std::string& line : job.code) out += line + "\n";
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

std::string start(const JobPlan& plan) {
  const JobSettings& job = plan.settings;
  const std::filesystem::path programs = job.has_container() ? job.value("programs") : plan.programs.string();
  std::string out = R"(
# Who asks for this run asks for the job that has it now, however that was submitted.
case $SLURM_JOB_ID in
  '' | *[!0-9]*) ;;
  *) [ ! -e "$run/job.toml" ] || grep -qx "job = $SLURM_JOB_ID" "$run/job.toml" ||
    sed -i "s/^job = .*/job = $SLURM_JOB_ID/" "$run/job.toml" ;;
esac

# A job that starts again goes on from the newest checkpoint. What one that never came to its first left is set aside.
if (cd -- "$run" && compgen -G 'checkpoints/step-*') >/dev/null 2>&1; then
  start=(--set "train.resume=$run"MORE)
else
  # Whoever writes there gives a sign every ten seconds, by the clock of the file system.
  for ((waited = 0; waited < 45; waited++)); do
    { [ -s "$run/owner" ] && touch -- "$run/job-clock" && : <"$run/owner"; } || break
    age=$(($(stat -c %Y -- "$run/job-clock") - $(stat -c %Y -- "$run/owner" || echo 0)))
    [ "$age" -lt 30 ] || break
    sleep 1
  done
  if [ "$waited" = 45 ]; then
    echo "job $SLURM_JOB_ID: another process writes to $run; stop it first" >&2
    exit 2
  fi
  aside=$run/job-$SLURM_JOB_ID-before-start-${SLURM_RESTART_COUNT:-0}
  for file in "$run"/*; do
    case ${file##*/} in job* | '*') continue ;; esac
    mkdir -p -- "$aside" && mv -- "$file" "$aside/" || exit 1
  done
)";
  constexpr std::string_view kMore = "MORE";
  out.replace(out.find(kMore), kMore.size(), plan.resume_words.empty() ? "" : " " + words(plan.resume_words));
  out += "  start=(--run-dir \"$run\"";
  if (!plan.words.empty()) out += " " + words(plan.words);
  out += ")\nfi\n";
  // The ranks find each other by themselves: rank 0 is on the first host of SLURM_JOB_NODELIST, which the
  // program reads by its own rules; no shell ever sees that list.
  out += R"(
echo "job $SLURM_JOB_ID: start ${SLURM_RESTART_COUNT:-0} on $SLURM_JOB_NODELIST"
)";
  out += "srun --kill-on-bad-exit=1 --unbuffered";
  if (const std::string cpus = job.value("cpus_per_task"); !cpus.empty()) out += " --cpus-per-task=" + cpus;
  if (job.has_container()) out += " \\\n  " + words(container_words(plan));
  out += " \\\n  " + word((programs / plan.lesson).string()) + " \"${start[@]}\" &\nstep=$!\n";
  // A signal between fork and exec would be lost.
  out += "[ \"$again\" = 0 ] || { sleep 1; kill -USR1 \"$step\"; }  # the warning came before srun\n";
  return out;
}

constexpr const char* kEnd = R"(
while wait "$step"; rc=$?; kill -0 "$step" 2>/dev/null; do :; done  # a trap ends a wait early
wait "$step"; rc=$?
echo "job $SLURM_JOB_ID: srun ended with $rc"

# 75: stopped on request, and the checkpoint is complete. 138: asked before there was anything to save.
if [ "$again" = 1 ] && [ "$stop" = 0 ] && { [ "$rc" = 75 ] || [ "$rc" = 138 ]; }; then
  if [ "${SLURM_RESTART_COUNT:-0}" -lt RESTARTS ]; then
    echo "job $SLURM_JOB_ID: to be requeued, and to go on where it stopped"
    if scontrol requeue "$SLURM_JOB_ID"; then
      sleep 300  # Slurm ends this shell
    else
      echo "job $SLURM_JOB_ID: Slurm did not take it back; sbatch SCRIPT goes on"
    fi
  else
    echo "job $SLURM_JOB_ID: LAST"
  fi
fi
exit "$rc"
)";

std::string end(const JobPlan& plan) {
  std::string out = kEnd;
  const auto put = [&](const std::string& name, const std::string& value) {
    for (std::size_t at = 0; (at = out.find(name, at)) != std::string::npos; at += value.size())
      out.replace(at, name.size(), value);
  };
  put("LAST", plan.settings.value("restarts") == "0"
                  ? "its time is up, and it is not to start again by itself; a longer --time may do"
                  : "started again RESTARTS times already, so it ends here; sbatch SCRIPT goes on");
  put("RESTARTS", plan.settings.value("restarts"));
  put("SCRIPT", kJobScript);
  return out;
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
  return head(plan) + kTraps + surroundings(plan) + start(plan) + end(plan);
}

}  // namespace isobar
