// The script of a job, as text.

#include "core/files.h"
#include "jobs/job_script.h"
#include "jobs/job_settings.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace isobar;

namespace {

JobPlan plan_of(JobSettings settings) {
  complete(settings);
  return {.settings = std::move(settings),
          .lesson = "06_ddp",
          .command = "./isobar submit 06_ddp",
          .words = {"--preset", "cpu_micro", "--set", "run.point=a b"},
          .programs = "/opt/here/bin",
          .run = "/scratch/runs/x",
          .folder = "/home/somebody/it's here",
          .cache_prefix = "/home/somebody/.cache/isobar"};
}

}  // namespace

TEST_CASE("what was asked for stands in the script once") {
  JobSettings settings = read_profile(project_home(), "perlmutter");
  settings.set("account", "m1234", {"--account", "command line"});
  settings.set("nodes", "2", {"--nodes", "command line"});
  settings.add_module("cuda/13.0", {"--module", "command line"});
  settings.code = {"ulimit -n 65536"};
  settings.code_from = "./my.toml";
  const std::string text = job_script(plan_of(settings));
  for (const char* const line : {"#SBATCH --job-name=06_ddp\n",
                                 "#SBATCH --nodes=2\n",
                                 "#SBATCH --ntasks-per-node=4\n",
                                 "#SBATCH --cpus-per-task=32\n",
                                 "#SBATCH --gpus-per-node=4\n",
                                 "#SBATCH --account=m1234\n",
                                 "#SBATCH --constraint=gpu\n",
                                 "#SBATCH --qos=regular\n",
                                 "#SBATCH --time=00:30:00\n",
                                 "#SBATCH --requeue\n",
                                 "#SBATCH --signal=B:USR1@120\n",
                                 "\nfolder='/home/somebody/it'\\''s here'\n",
                                 "\nmodules=(cuda/13.0)\n",
                                 "\ncpus=32\n",
                                 "FI_MR_CACHE_MONITOR=userfaultfd",
                                 "# Cluster: Perlmutter (NERSC)\n",
                                 "# Lines of ./my.toml:\nsite_lines='ulimit -n 65536'\n",
                                 "\nprogram=/opt/here/bin/06_ddp\n",
                                 "\nwrapper=()\n",
                                 "\nwords=(--preset cpu_micro --set 'run.point=a b')\n"}) {
    INFO(line);
    CHECK_THAT(text, says(line));
    CHECK(text.find(line) == text.rfind(line));
  }
}

TEST_CASE("the traps stand before anything that takes time, and nothing is preset") {
  const std::string text = job_script(plan_of({}));
  CHECK(text.find("trap '") < text.find("\ncd "));
  const std::string own = text.substr(0, text.find("# shellcheck"));  // what is not that of every job
  CHECK(text.substr(own.size()) == read_text_file(project_home() / "submit/job.sbatch", 100'000));
  for (const char* const absent : {"--account", "--partition", "--reservation", "gpus"})
    CHECK(own.find(absent) == std::string::npos);
  for (const char* const empty : {"\nmodules=()\n", "\nexports=()\n", "\ncpus=''\n", "\nsite_lines=\n"})
    CHECK_THAT(own, says(empty));
}

TEST_CASE("a run that is there already goes on with what was said now, and no preset") {
  JobPlan plan = plan_of({});
  CHECK_THAT(job_script(plan), says("\nresume_words=()\n"));
  plan.resume_words = {"--set", "run.point=a b"};
  CHECK_THAT(job_script(plan), says("\nresume_words=(--set 'run.point=a b')\n"));
}

TEST_CASE("containers are wrapped around the program, and see the run") {
  const auto script = [](const char* kind, bool gpu) {
    JobSettings settings;
    const ValuePlace place = {"--x", "command line"};
    settings.set("container", kind, place);
    settings.set("image", "docker:a/b:1", place);
    if (gpu) settings.set("gpus_per_node", "4", place);
    settings.set("container_modules", "gpu,nccl-plugin", place);
    settings.add_volume("/s:/data", place);
    JobPlan plan = plan_of(settings);
    plan.folder = "/home/somebody/here";
    return job_script(plan);
  };
  CHECK_THAT(script("shifter", true),
             says("#SBATCH --image=docker:a/b:1\n") &&
                 says("wrapper=(shifter --module=gpu,nccl-plugin --volume=/s:/data)\n") &&
                 says("program=/opt/isobar/build/bin/06_ddp\n"));
  CHECK_THAT(script("apptainer", true),
             says("apptainer exec --nv --bind=/s:/data --bind=/home/somebody/here:") &&
                 says("--bind=/scratch/runs/x:/scratch/runs/x") && says(" docker:a/b:1)\n") &&
                 says("program=/opt/isobar/build/bin/06_ddp\n"));
  CHECK_THAT(script("podman", false),
             says("podman run --rm --network=host --ipc=host --env-host") && says("--volume=/s:/data"));
  CHECK(script("podman", false).find("--device") == std::string::npos);
}

TEST_CASE("a container cannot see a folder whose name its options cannot hold") {
  JobSettings settings;
  settings.set("container", "apptainer", {"--container", "command line"});
  settings.set("image", "x.sif", {"--image", "command line"});
  CHECK_THAT(error_of([&] { job_script(plan_of(settings)); }), says("a folder that the container needs"));
}

TEST_CASE("a word that no line can hold is refused") {
  JobPlan plan = plan_of({});
  plan.words = {"--set", "run.point=a\nb"};
  CHECK_THAT(error_of([&] { job_script(plan); }), says("a word of the job's script"));
  plan = plan_of({});
  plan.run = "/a\n#SBATCH --account=x";
  error_of([&] { job_script(plan); });
}
