// `submit` as a process, with stand-ins for Slurm's programs: what is handed to them, what is refused, and
// that nothing hostile is ever run. With a real Slurm: tests/slurm.
#include <signal.h>

#include <algorithm>
#include <sstream>

#include "cli/slurm_stubs.h"
#include "jobs/job_settings.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/hostile_text.h"
#include "support/pairs.h"

using namespace isobar;

namespace fs = std::filesystem;

namespace {

std::size_t options_of(const std::string& script) {
  std::size_t count = 0;
  std::istringstream lines(script);
  for (std::string line; std::getline(lines, line);)
    if (line.rfind("#SBATCH", 0) == 0) ++count;
  return count;
}

fs::path only_run(const SlurmStubs& slurm) {
  const fs::directory_iterator runs(slurm.work() / "runs");
  return runs->path();
}

}  // namespace

TEST_CASE("a job is submitted from its run folder, and the script is there to be read") {
  SlurmStubs slurm;
  const ProcessResult result = slurm.submit(with(kTwo, {"--ranks-per-node", "2", "--account", "m1"}));
  INFO(result.err);
  REQUIRE(result.code == 0);
  CHECK_THAT(result.out, says("job 4711  06_ddp on 2 nodes with 2 ranks each") &&
                             says("watch    ./isobar submit --follow 4711") &&
                             says("cancel   ./isobar submit --cancel 4711"));
  const fs::path run = only_run(slurm);
  const std::vector<std::string> words = slurm.arguments("sbatch");
  CHECK(words ==
        std::vector<std::string>{"--parsable", "--chdir=" + run.string(), (run / "job.sbatch").string()});
  const std::string script = read_text_file(run / "job.sbatch", 100'000);
  CHECK_THAT(script, says("#SBATCH --account=m1\n") && says("#   ./isobar submit 06_ddp --nodes 2"));
  CHECK_THAT(read_text_file(run / "job.toml", 10'000), says("job = 4711\n"));
}

TEST_CASE("--watch says the one line that shows the run from elsewhere") {
  SlurmStubs slurm;
  const ProcessOptions far = {
      .environment = {"SSH_CONNECTION=192.0.2.1 5000 192.0.2.2 22", "JUPYTERHUB_SERVICE_PREFIX="}};
  const ProcessResult result = slurm.submit(with(kTwo, {"--watch", "--login", "login.example.org"}), far);
  INFO(result.err);
  REQUIRE(result.code == 0);
  CHECK_THAT(result.out, says("at home  ssh -t -o ExitOnForwardFailure=yes -L 127.0.0.1:24711:") &&
                             says("login.example.org '") && says(only_run(slurm).string()));
  CHECK_THAT(slurm.submit(with(kTwo, {"--watch", "--login", "-oProxyCommand=x"}), far).err,
             says("that is no name of a machine"));
  CHECK_THAT(slurm.submit(with(kTwo, {"--login", "login.example.org"}), far).err,
             says("--login names the host"));
}

TEST_CASE("a dry run writes and submits nothing, and needs no Slurm") {
  const SlurmStubs slurm;
  const ProcessResult result = slurm.submit(with(kTwo, {"--dry-run"}));
  CHECK(result.code == 0);
  CHECK_THAT(result.out, says("#!/bin/bash\n") && says("#SBATCH --nodes=2\n"));
  CHECK(result.err.empty());
  CHECK(fs::is_empty(slurm.work()));
  CHECK(slurm.arguments("sbatch").empty());
  ProcessOptions nowhere;
  const Programs programs;
  nowhere.environment = {"PATH=/nonexistent"};
  nowhere.folder = slurm.work().string();
  CHECK(programs.run(with({"submit"}, with(kTwo, {"--dry-run"})), nowhere).code == 0);
}

TEST_CASE("without Slurm a job is refused in words, and nothing is left behind") {
  const SlurmStubs slurm;
  const Programs programs;
  programs.run({"--help"});
  ProcessOptions nowhere;
  nowhere.environment = {"PATH=/nonexistent"};
  nowhere.folder = slurm.work().string();
  const ProcessResult result = programs.run(with({"submit"}, kTwo), nowhere);
  CHECK(result.code == 1);
  CHECK_THAT(result.err,
             says("Slurm is not here: there is no sbatch") && says("--dry-run only shows the script"));
  CHECK(fs::is_empty(slurm.work()));
}

TEST_CASE("what Slurm refuses is told in its words, and the folder is gone") {
  SlurmStubs slurm;
  slurm.script("sbatch", "echo 'sbatch: error: invalid account' >&2; exit 1");
  const ProcessResult result = slurm.submit(kTwo);
  CHECK(result.code == 1);
  CHECK_THAT(result.err,
             says("Slurm refuses the job: sbatch: error: invalid account") && says("exit code 1"));
  CHECK(fs::is_empty(slurm.work() / "runs"));
  const fs::path old = slurm.work() / "runs/old";  // a run that goes on keeps the script that it has
  fs::create_directories(old / "checkpoints/step-000010");
  for (const char* const name : {"run.toml", "job.sbatch"})
    write_file_whole(old / name, std::string_view(""));
  write_file_whole(old / "job.sbatch", std::string_view("# the first\n"));
  CHECK(slurm.submit(with(kTwo, {"--resume", "runs/old"})).code == 1);
  CHECK(read_text_file(old / "job.sbatch", 100) == "# the first\n");
  fs::remove_all(old);
  slurm.script("sbatch", "printf '\\033[2Jhello\\n'");
  const ProcessResult odd = slurm.submit(kTwo);
  CHECK(odd.code == 1);
  CHECK_THAT(odd.err, says("did not print the number of the job: ?[2Jhello") && says("squeue --me") &&
                          says("stays at"));
  const fs::path kept = *fs::directory_iterator(slurm.work() / "runs");  // a job may come back to it
  CHECK(fs::exists(kept / "job.sbatch"));
  CHECK_THAT(slurm.run({"runs", "delete", kept.filename().string()}).err,
             says("the job of this folder is not known"));
}

TEST_CASE("more than a GPU-hour a start is asked about before it goes into a queue that resubmits") {
  SlurmStubs slurm;
  const auto with_gpus = [&](const std::vector<std::string>& more) {
    slurm.forget("sbatch");
    return slurm.submit(with({"01_baseline", "--gpus-per-node", "2", "--set", "data.root=x"}, more));
  };
  const ProcessResult refused = with_gpus({"--time", "1:00:00"});
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err,
             says("at most 2 GPU-hours a start (1 node of 2 GPUs for 01:00:00), and up to 21 starts") &&
                 says("--yes"));
  CHECK(slurm.arguments("sbatch").empty());
  CHECK_FALSE(fs::exists(slurm.work() / "runs"));
  CHECK(with_gpus({"--time", "1:00:00", "--dry-run"}).code == 0);
  for (const std::vector<std::string>& taken : std::vector<std::vector<std::string>>{
           {"--time", "1:00:00", "--yes"}, {"--time", "1:00:00", "--restarts", "0"}, {"--time", "30:00"}}) {
    INFO(taken.back());
    const ProcessResult result = with_gpus(taken);
    INFO(result.err);
    CHECK(result.code == 0);
    CHECK_THAT(result.out, says("  cost     at most "));
    CHECK_FALSE(slurm.arguments("sbatch").empty());
  }
  CHECK(slurm.submit(with(kTwo, {"--time", "9:00:00"})).code == 0);  // processors only
  const std::vector<std::string> words = {"submit", "01_baseline", "--gpus-per-node", "2",
                                          "--set",  "data.root=x", "--time",          "1:00:00"};
  slurm.forget("sbatch");
  const ProcessResult no = slurm.asked(words, "n");
  CHECK(no.code == 0);
  CHECK_THAT(no.out, says("this job takes at most 2 GPU-hours a start") && says("nothing was submitted"));
  CHECK(slurm.arguments("sbatch").empty());
  CHECK_THAT(slurm.asked(words, "y").out, says("job 4711"));
  CHECK_FALSE(slurm.arguments("sbatch").empty());
}

TEST_CASE(
    "the first command for a GPU makes data that fit; a preset that was asked for is not trained on few") {
  SlurmStubs slurm;
  const std::vector<std::string> words = {"01_baseline", "--gpus-per-node", "1"};
  const ProcessResult first = slurm.submit(words);
  INFO(first.err);
  CHECK(first.code == 0);
  CHECK_THAT(first.out,
             says("make_fields <--grid> <360x720> <--samples> <48>") && says("--set data.root=FOLDER"));
  const ProcessResult asked = slurm.submit(with(words, {"--preset", "short"}));
  CHECK(asked.code == 2);
  CHECK_THAT(asked.err, says("14.6 GB") && says("run.measure=synthetic"));
  // The few that were made for the first command are there then, and said to be few.
  slurm.data_set("fields-360x720-v1",
                 "[records]\n\"train/2001.h5\" = 24\n\"train/2002.h5\" = 24\n\"valid/2003.h5\" = 9\n");
  CHECK_THAT(slurm.submit(with(words, {"--preset", "short"})).out,
             says("only 48 of 512 training samples are there") && says("--samples 512 --force"));
  CHECK_THAT(slurm.submit(words).out, !says("training samples are there"));
}

TEST_CASE("an answer that is not the state of a job is an error, not the end of one") {
  SlurmStubs slurm;
  REQUIRE(slurm.submit(with(kTwo, {"--run-dir", "runs/mine"})).code == 0);
  for (const char* const answer : {"garbage", "slurm: plugin loaded", "DONE|None|n1|x|y", "RUNNING|None|n1|x",
                                   "COMPLETED\\033[2J|None|n1|x|y", "||||"}) {
    INFO(answer);
    slurm.script("squeue", "printf '" + std::string(answer) + "\\n'");
    const ProcessResult asked = slurm.submit({"mine", "--status"});
    CHECK(asked.code == 1);
    CHECK_THAT(asked.err, says("the answer about job 4711 is not the state of a job"));
    CHECK(slurm.run({"runs", "delete", "mine"}).code == 1);
  }
}

TEST_CASE("a job is found by its number or its run, told of, and cancelled") {
  SlurmStubs slurm;
  REQUIRE(slurm.submit(with(kTwo, {"--run-dir", "runs/mine"})).code == 0);
  slurm.script("squeue",
               "echo 'PENDING|Resources||2026-11-22T10:00:00|" + (slurm.work() / "runs/mine").string() + "'");
  const ProcessResult by_name = slurm.submit({"mine", "--status"});
  INFO(by_name.err);
  CHECK(by_name.code == 0);
  CHECK_THAT(by_name.out,
             says("job 4711 waits: for free nodes (Resources); expected to start at 2026-11-22T10:00:00"));
  CHECK(slurm.submit({"4711", "--status"}).out == by_name.out);
  CHECK(slurm.submit({"last", "--status"}).out == by_name.out);
  CHECK_THAT(slurm.submit({"theirs", "--status"}).err, says("there is no run \"theirs\""));
  const ProcessResult listed = slurm.run({"runs"});
  CHECK_THAT(listed.out, says("submitted") && says("job 4711: ./isobar submit mine --status") &&
                             says("0 runs, 1 submitted"));
  const ProcessResult shown = slurm.run({"show", "mine"});
  CHECK(shown.code == 2);
  CHECK_THAT(shown.err,
             says("the run of job 4711 has not begun") && says("./isobar submit mine --status prints"));
  const ProcessResult kept = slurm.run({"runs", "delete", "mine"});
  CHECK(kept.code == 2);
  CHECK_THAT(kept.err,
             says("job 4711 is not over: Slurm calls it PENDING") && says("./isobar submit --cancel 4711"));
  // Between two starts a run looks as if it were over.
  write_file_whole(slurm.work() / "runs/mine/run.toml", std::string_view("[run]\n"));
  CHECK_THAT(slurm.run({"runs", "delete", "mine"}).err, says("job 4711 is not over"));
  CHECK_THAT(slurm.run({"runs", "name", "mine", "yours"}).err, says("job 4711 is not over"));
  fs::remove(slurm.work() / "runs/mine/run.toml");
  const ProcessResult cancelled = slurm.submit({"--cancel", "mine"});
  CHECK(cancelled.code == 0);
  CHECK(slurm.arguments("scancel") == std::vector<std::string>{"4711"});
  slurm.script("squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1");
  const ProcessResult unknown = slurm.submit({"--status", "4712"});
  CHECK(unknown.code == 2);
  CHECK_THAT(unknown.err, says("Slurm has no job 4712"));
  CHECK_THAT(slurm.submit({"mine", "--status"}).out, says("is over, and Slurm has forgotten it"));
  CHECK(slurm.run({"runs", "delete", "mine"}).code == 0);
  CHECK(fs::is_empty(slurm.work() / "runs"));
  REQUIRE(slurm.submit(with(kTwo, {"--run-dir", "runs/mine"})).code == 0);
  slurm.script("squeue", "echo 'Unable to contact slurm controller' >&2; exit 1");
  CHECK(slurm.submit({"mine", "--status"}).code == 1);
  CHECK(slurm.run({"runs", "delete", "mine"}).code == 1);  // who does not know deletes nothing
  CHECK(fs::exists(slurm.work() / "runs/mine/job.toml"));
  write_file_whole(slurm.work() / "runs/mine/job.toml", std::string_view("job = 0\n"));
  CHECK_THAT(slurm.run({"runs", "delete", "mine"}).err, says("the job of this folder is not known"));
  for (const char* const other : {".", "runs"}) {  // folders, and neither run nor job
    CHECK(slurm.run({"runs", "delete", other}).code == 2);
    CHECK(slurm.run({"runs", "name", other, "mine2"}).code == 2);
  }
  CHECK(fs::exists(slurm.work() / "runs/mine/job.toml"));
}

TEST_CASE("following tells each state once and ends with the job; Ctrl-C leaves the job alone") {
  SlurmStubs slurm;
  REQUIRE(slurm.submit(with(kTwo, {"--run-dir", "runs/mine"})).code == 0);
  const std::string folder = (slurm.work() / "runs/mine").string();
  const std::string count = (slurm.work() / "asked").string();
  slurm.script("squeue", "echo x >>" + count + "; if [ $(wc -l <" + count +
                             ") -lt 2 ]; then echo 'PENDING|Priority|||" + folder +
                             "'; else echo 'FAILED|NonZeroExitCode|n1|2026-11-22T10:00:00|" + folder +
                             "'; fi");
  slurm.script("scontrol", "echo 'JobId=4711 JobState=FAILED ExitCode=3:0 Restarts=0'");
  write_file_whole(fs::path(folder) / "job-4711.log", "one\n\x1b[2Jtwo\n");
  const ProcessResult ended = slurm.submit({"--follow", "mine"});
  INFO(ended.err);
  CHECK(ended.code == 1);
  CHECK_THAT(ended.out, says("job 4711 waits: others come first (Priority)\n") &&
                            says("job 4711 failed with exit code 3\n") && says("    ?[2Jtwo\n"));
  const std::string asked = folder + "/asked";
  slurm.script("squeue", "[ ! -e " + asked + "1 ] || touch " + asked + "2; touch " + asked +
                             "1; echo 'RUNNING|None|n[1-2]|2026-11-22T10:00:00|" + folder + "'");
  const ProcessResult left =
      slurm.submit({"--follow", "mine"}, {.interrupt_when = when_there(asked + "2")});  // it was told by then
  CHECK(left.code == 130);
  CHECK_THAT(left.out, says("job 4711 runs on n[1-2]\n") && says("continues unwatched"));
  CHECK(slurm.arguments("scancel").empty());
}

TEST_CASE("an interactive job waits on this terminal and runs the same script") {
  const SlurmStubs slurm;
  const ProcessResult result =
      slurm.submit(with(kTwo, {"--interactive", "--account", "m1", "--run-dir", "runs/mine"}));
  INFO(result.err);
  CHECK(result.code == 0);
  const std::vector<std::string> words = slurm.arguments("salloc");
  REQUIRE(words.size() >= 4);
  CHECK(has(words, "--account=m1"));
  CHECK_FALSE(has(words, "--requeue"));
  CHECK(words[words.size() - 2].find("/bash") != std::string::npos);
  CHECK(words.back() == (slurm.work() / "runs/mine/job.sbatch").string());
  CHECK(slurm.arguments("sbatch").empty());
}

TEST_CASE("bad input is refused before anything is made") {
  const SlurmStubs slurm;
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{}, "which lesson?"},
      {{"06_ddp", "05_fusion"}, "one lesson at a time"},
      {{"06_dpd"}, "did you mean 06_ddp?"},
      {{"06_ddp", "--node", "2"}, "did you mean --nodes?"},
      {{"06_ddp", "--nodes"}, "--nodes"},
      {{"06_ddp", "--nodes", "0"}, "--nodes cannot be \"0\""},
      {{"06_ddp", "--nodes", "two"}, "--nodes cannot be \"two\""},
      {{"06_ddp", "--nodes", "-1"}, "--nodes"},
      {{"06_ddp", "--nodes", "3"}, "cannot be divided over 3 ranks"},
      {{"06_ddp", "--time", "1h"}, "--time cannot be \"1h\""},
      {{"06_ddp", "--time", "2"}, "leaves nothing to train in"},
      {{"06_ddp", "--cluster", "perlmuter"}, "did you mean perlmutter?"},
      {{"06_ddp", "--cluster", "/no/such.toml"}, "/no/such.toml"},
      {{"06_ddp", "--job-name", "a-hetjob-b"}, "without \"hetjob\""},
      {{"06_ddp", "--env", "x"}, "NAME=VALUE"},
      {{"06_ddp", "--env", "RANK=0"}, "another variable"},
      {{"06_ddp", "--volume", "/a:/b"}, "belongs to a container"},
      {{"06_ddp", "--container", "docker", "--image", "x"}, "shifter, apptainer, podman"},
      {{"06_ddp", "--container", "podman"}, "without an image"},
      {{"06_ddp", "--set", "optim.lrr=1"}, "optim.lr"},
      {{"06_ddp", "--preset", "nope"}, "nope"},
      {{"06_ddp", "--run-dir", ""}, "--run-dir is empty"},
      {{"06_ddp", "--dry-run", "--cancel"}, "different things to do"},
      {{"08_cuda_graphs"}, "needs a GPU, and this job asks for none"},
      {{"01_baseline", "--nodes", "2"}, "01_baseline"},
  };
  for (const auto& [words, said] : cases) {
    const ProcessResult result = slurm.submit(words);
    INFO(said << "\n" << result.err);
    CHECK(result.code == 2);
    CHECK_THAT(result.err, says(said));
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') <= 3);
  }
  CHECK(fs::is_empty(slurm.work()));
  CHECK(slurm.arguments("sbatch").empty());
}

TEST_CASE("sixty hostile texts in all options: nothing is run, and no line of options is added") {
  const SlurmStubs slurm;
  const std::string canary = (slurm.work() / "canary").string();
  const std::size_t plain = options_of(slurm.submit(with(kTwo, {"--dry-run"})).out);
  REQUIRE(plain == 8);
  std::vector<std::string> options = {"--cluster", "--module", "--volume",
                                      "--preset",  "--config", "--run-dir"};
  for (const JobField& field : job_fields()) options.push_back(field.option());
  int tried = 0;
  int taken = 0;
  const auto check = [&](const std::vector<std::string>& words, const std::string& carried) {
    ++tried;
    const ProcessResult result = slurm.submit(with(kTwo, with(words, {"--dry-run"})));
    INFO(words.front() << " " << words.back() << "\n" << result.err);
    const bool good_code = result.code == 0 || result.code == 2;
    CHECK(good_code);
    if (result.code != 0 || result.out.rfind("Train a lesson", 0) == 0) return;  // refused, or the help page
    ++taken;
    CHECK(options_of(result.out) <= plain + 1);
    const fs::path script = slurm.work() / "script";
    write_file_whole(script, result.out);
    CHECK(run_process({"/bin/bash", "-n", script.string()}).code == 0);
    slurm.forget("srun");
    CHECK(run_script(slurm, script).code == 0);
    const std::vector<std::string> called = slurm.arguments("srun");
    CHECK(has(called, "--kill-on-bad-exit=1"));
    if (!carried.empty()) CHECK(has(called, carried));
  };
  std::size_t turn = 0;
  for (const std::string& text : hostile_texts(canary)) {
    for (const std::string& option : all_or_one(options, turn)) check({option, text}, "");
    for (const std::string& option : all_or_one(options, turn++ + 1)) check({option + "=" + text}, "");
    check({"--set", "run.point=\"" + text + "\""}, "run.point=\"" + text + "\"");
    check({"--set", text}, text);
    check({"--env", "SOME_NAME=" + text}, "");
    check({"--env", text + "=x"}, "");
    check({text}, "");
  }
  CHECK_FALSE(fs::exists(canary));
  CHECK(slurm.arguments("ssh").empty());
  CHECK(tried >= 60 * 7);
  CHECK(taken > 60);  // what is a plain value somewhere is carried, not refused
  WARN(tried << " tries, " << taken << " taken, 0 run");
}

TEST_CASE("a hostile environment of a job runs nothing") {
  const SlurmStubs slurm;
  const std::string canary = (slurm.work() / "canary").string();
  const fs::path script = slurm.work() / "script";
  write_file_whole(script, slurm.submit(with(kTwo, {"--dry-run"})).out);
  const std::vector<std::string> names = {"SLURM_JOB_NODELIST", "SLURM_JOB_ID", "SLURM_RESTART_COUNT",
                                          "SLURM_NTASKS",       "MASTER_ADDR",  "RANK"};
  std::size_t turn = 0;
  for (const std::string& text : hostile_texts(canary)) {
    for (const std::string& name : all_or_one(names, turn++)) {
      INFO(name << "=" << text);
      slurm.forget("srun");
      run_script(slurm, script, {name + "=" + text});
      CHECK(slurm.arguments("srun").size() >= 3);
    }
  }
  CHECK_FALSE(fs::exists(canary));
}
