// The script of a job as a process, with stand-ins for Slurm's programs: when it requeues, and what a start
// after another finds. With a real Slurm: tests/slurm.
#include <signal.h>

#include <chrono>

#include "cli/slurm_stubs.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace isobar;

namespace fs = std::filesystem;

TEST_CASE("the script requeues after a warning and a complete checkpoint, and in no other case") {
  SlurmStubs slurm;
  const fs::path script = slurm.work() / "script";
  write_file_whole(script, slurm.submit(with(kTwo, {"--dry-run", "--restarts", "3"})).out);
  slurm.script("scontrol", "exit 1");  // else the script waits for Slurm to end it
  struct Case {
    const char* ends_with;  // what srun does
    int signal;             // to the batch shell, 0 = none
    const char* restarts;
    bool requeued;
    int code;
  };
  for (const Case& one : {Case{"75", SIGUSR1, "0", true, 75}, Case{"138", SIGUSR1, "0", true, 138},
                          Case{"75", SIGTERM, "0", false, 75}, Case{"75", 0, "0", false, 75},
                          Case{"0", SIGUSR1, "0", false, 0}, Case{"1", SIGUSR1, "0", false, 1},
                          Case{"75", SIGUSR1, "3", false, 75}, Case{"75", SIGUSR1, "2", true, 75}}) {
    INFO(one.ends_with << " after signal " << one.signal << ", start " << one.restarts);
    slurm.forget("scontrol");
    slurm.forget("srun");
    const fs::path up = slurm.work() / "up";
    const fs::path sent = slurm.work() / "sent";
    for (const fs::path& mark : {up, sent}) fs::remove(mark);
    if (one.signal == 0) write_file_whole(sent, std::string_view(""));
    slurm.script("srun", "trap true USR1; touch '" + up.string() + "'; until [ -e '" + sent.string() +
                             "' ]; do sleep 0.02; done; exit " + one.ends_with);
    const ProcessResult result = run_process(
        {"/bin/bash", script.string()},
        {.environment = {"PATH=" + slurm.bin().string() + ":" + std::getenv("PATH"), "SLURM_JOB_ID=4711",
                         "SLURM_JOB_NODELIST=n[1-2]", std::string("SLURM_RESTART_COUNT=") + one.restarts},
         .folder = slurm.work().string(),
         .signal = one.signal,
         .interrupt_when = [&] { return one.signal != 0 && fs::exists(up); },
         .interrupted = [&] { write_file_whole(sent, std::string_view("")); }});
    CHECK(result.code == one.code);
    CHECK(slurm.arguments("scontrol") ==
          (one.requeued ? std::vector<std::string>{"requeue", "4711"} : std::vector<std::string>{}));
  }
}

TEST_CASE("a start after another goes on, and what never came to a checkpoint is set aside") {
  const SlurmStubs slurm;
  const fs::path run = slurm.work() / "my run [1]*";
  const fs::path script = slurm.work() / "script";
  write_file_whole(script, slurm.submit(with(kTwo, {"--dry-run", "--run-dir", run.string()})).out);
  CHECK(run_script(slurm, script).code == 0);
  CHECK(has(slurm.arguments("srun"), "--run-dir"));
  fs::create_directories(run);
  for (const char* const name : {"rank-0000.jsonl", "job.sbatch", "job-4711.log", "owner"})
    write_file_whole(run / name, std::string_view("x"));
  write_file_whole(run / "job.toml", std::string_view("job = 12\nlesson = \"06_ddp\"\n"));
  fs::last_write_time(run / "owner", fs::last_write_time(run / "owner") - std::chrono::seconds(31));
  slurm.forget("srun");
  CHECK(run_script(slurm, script, {"SLURM_RESTART_COUNT=2"}).code == 0);
  CHECK(has(slurm.arguments("srun"), "--run-dir"));
  CHECK(fs::exists(run / "job-4711-before-start-2" / "rank-0000.jsonl"));
  CHECK(fs::exists(run / "job-4711.log"));
  CHECK_FALSE(fs::exists(run / "rank-0000.jsonl"));
  CHECK(read_text_file(run / "job.toml", 100) == "job = 4711\nlesson = \"06_ddp\"\n");
  fs::create_directories(run / "checkpoints" / "step-000012");
  slurm.forget("srun");
  CHECK(run_script(slurm, script, {"SLURM_RESTART_COUNT=3"}).code == 0);
  CHECK(has(slurm.arguments("srun"), "--resume"));
  CHECK(has(slurm.arguments("srun"), run.string()));
  CHECK_FALSE(has(slurm.arguments("srun"), "--run-dir"));
}

TEST_CASE("what another process writes to is not set aside") {
  const SlurmStubs slurm;
  const fs::path run = slurm.work() / "mine";
  const fs::path script = slurm.work() / "script";
  std::string text = slurm.submit(with(kTwo, {"--dry-run", "--run-dir", run.string()})).out;
  for (const std::string most : {"waited < 45", "\"$waited\" = 45"}) {
    REQUIRE(text.find(most) != std::string::npos);
    text.replace(text.find(most) + most.size() - 2, 2, "2");
  }
  write_file_whole(script, text);
  fs::create_directories(run);
  for (const char* const name : {"run.toml", "owner"}) write_file_whole(run / name, std::string_view("x"));
  const ProcessResult result = run_script(slurm, script);
  CHECK(result.code == 2);
  CHECK_THAT(result.err, says("another process writes to"));
  CHECK(fs::exists(run / "run.toml"));
  CHECK(slurm.arguments("srun").empty());
}

TEST_CASE("a warning before there are ranks is passed on; one that scancel follows requeues nothing") {
  SlurmStubs slurm;
  slurm.script("scontrol", "exit 1");
  const fs::path script = slurm.work() / "script";
  write_file_whole(script, slurm.submit(with(kTwo, {"--dry-run", "--module", "slow"})).out);
  slurm.script("module", "kill -USR1 $PPID");
  slurm.script("srun", "trap 'exit 75' USR1; while true; do sleep 0.02; done");
  const int code = run_script(slurm, script).code;  // 138 when it comes before srun listens
  CHECK((code == 75 || code == 138));
  CHECK(slurm.arguments("scontrol") == std::vector<std::string>{"requeue", "4711"});
  slurm.forget("scontrol");
  slurm.script("module", "exit 0");
  slurm.script("srun",
               "trap '' USR1; kill -USR1 " + kBatchShell + "; kill -TERM " + kBatchShell + "; exit 75");
  CHECK(run_script(slurm, script).code == 75);
  CHECK(slurm.arguments("scontrol").empty());
}

TEST_CASE("a run that only measures is not started again when its time is up") {
  SlurmStubs slurm;
  slurm.script("scontrol", "exit 1");
  const ProcessResult shown = slurm.submit(with(kTwo, {"--dry-run", "--set", "run.measure=full"}));
  CHECK_THAT(shown.out, says("saves no checkpoint: when its time is up it is over"));
  const fs::path script = slurm.work() / "script";
  write_file_whole(script, shown.out);
  slurm.script("srun", "trap '' USR1; kill -USR1 " + kBatchShell + "; exit 138");
  const ProcessResult result = run_script(slurm, script);
  CHECK(result.code == 138);
  CHECK_THAT(result.out, says("its time is up, and it is not to start again by itself"));
  CHECK(slurm.arguments("scontrol").empty());
}

TEST_CASE("scale over jobs takes the preset of the nodes, and a point that Slurm refuses costs no other") {
  SlurmStubs slurm;
  const std::vector<std::string> words = {
      "scale", "06_ddp",  "--slurm",    "--gpus-per-node", "4",    "--ranks-per-node",
      "4",     "--ranks", "4,8",        "--lines",         "real", "--repeat",
      "1",     "--set",   "data.root=x"};
  slurm.script("sbatch",
               "cp \"$3\" \"$(dirname \"$0\")/seen-$$\"; echo 'sbatch: error: no such nodes' >&2; exit 1");
  const ProcessResult refused = slurm.run(words);
  INFO(refused.out << refused.err);
  CHECK(refused.code == 1);
  CHECK_THAT(refused.err, says("real ranks=4 failed") && says("real ranks=8 failed") &&
                              says("Slurm refuses the job: sbatch: error: no such nodes"));
  int seen = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(slurm.bin())) {
    if (entry.path().filename().string().rfind("seen-", 0) != 0) continue;
    ++seen;
    const std::string text = read_text_file(entry.path(), 100'000);
    CHECK_THAT(text, says("--preset short ") && says("\nrestarts=0\n"));
  }
  CHECK(seen == 2);
  slurm.script("sbatch", "echo 4711");
  slurm.script("squeue", "echo 'FAILED|NonZeroExitCode|n1|2026-11-22T10:00:00|x'");
  slurm.script("scontrol", "echo 'JobId=4711 ExitCode=138:0'");
  CHECK_THAT(slurm.run(words).err, says("was not done within its --time of 00:30:00"));
}
