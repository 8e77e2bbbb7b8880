// The script of a batch job that is warned at the very moment at which srun ends.
#include <sys/stat.h>

#include <cstdlib>

#include "core/files.h"
#include "jobs/job_script.h"
#include "support/catch.h"
#include "support/process.h"
#include "support/temp_folder.h"

using namespace isobar;

TEST_CASE("a job that is warned just as srun ends with its checkpoint is requeued") {
  const TempFolder folder;
  const auto program = [&](const char* name, const std::string& body) {
    write_file_whole(folder / name, "#!/bin/sh\n" + body + "\n");
    chmod((folder / name).c_str(), 0755);
  };
  program("srun", "exit 75");
  program("scontrol", "echo \"$@\" >asked; exit 1");  // else the script waits for Slurm to end it
  JobSettings settings;
  settings.set("restarts", "1", {"--restarts", "command line"});
  settings.code = {"echo $$ >batch"};
  settings.code_from = "./my.toml";
  complete(settings);
  write_file_whole(folder / "script", job_script({.settings = settings,
                                                  .lesson = "06_ddp",
                                                  .command = "./isobar submit 06_ddp",
                                                  .words = {},
                                                  .programs = folder.path(),
                                                  .run = folder / "run",
                                                  .folder = folder.path(),
                                                  .cache_prefix = folder / "prefix"}));
  const ProcessResult result = run_process(
      {"/bin/bash", folder / "script"},
      {.environment = {std::string("LD_PRELOAD=") + ISOBAR_SHIM, "SHIM_WARNED=" + (folder / "batch").string(),
                       "PATH=" + folder.path().string() + ":" + std::getenv("PATH"), "SLURM_JOB_ID=4711",
                       "SLURM_JOB_NODELIST=n1"}});
  INFO(result.out << result.err);
  CHECK(result.code == 75);
  CHECK(read_text_file(folder / "asked", 100) == "requeue 4711\n");
}
