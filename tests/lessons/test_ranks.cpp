// Lesson 06 as several processes: how they start, stop, go on and fail together.
#include <fmt/format.h>
#include <signal.h>

#include "analyse/ranks.h"
#include "core/text.h"
#include "launch/rank_launcher.h"
#include "lessons/rank_run.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/pairs.h"

using namespace isobar;

namespace fs = std::filesystem;

namespace {

/// What stands last on standard error.
std::string last_error(const ProcessResult& result) {
  const std::size_t at = result.err.rfind("error: rank");
  return at == std::string::npos ? "(no error)" : result.err.substr(at);
}

/// Runs a script on two ranks, in which the words can depend on $RANK.
RanksEnded run_script(const TempFolder& folder, const std::string& words) {
  write_file_whole(folder / "script",
                   "exec " + bin_folder(ISOBAR_BIN) +
                       "/06_ddp --preset cpu_micro --set amp.mode=none --set " +
                       "comm.timeout_s=300 --set train.steps=2 --set run.threads=1 --run-dir " +
                       (folder / "run").string() + " " + words + "\n");
  return launch_ranks({"/bin/bash", (folder / "script").string()}, 2, {.quiet = true, .deadline_s = 300});
}

}  // namespace

TEST_CASE("ranks write a stream each; rank 0 alone speaks, draws and saves") {
  const TempFolder folder;
  const fs::path run = folder / "run";
  const ProcessResult result = run_ranks(2, run, {"train.steps=4", "train.checkpoint_every=2"});
  INFO(result.out << result.err);
  REQUIRE(result.code == 0);
  CHECK(count_steps(run, 0) == 4);
  CHECK(count_steps(run, 1) == 4);
  for (int rank : {0, 1}) {
    const std::vector<Json> lines = stream_of(run, rank);
    CHECK(lines.front()["rank"] == rank);
    CHECK(lines.front()["world"] == 2);
    CHECK(lines.back()["status"] == "done");
    CHECK(of_kind(lines, "eval").size() == 2);
  }
  CHECK(of_kind(stream_of(run, 0), "eval").back()["loss"] ==
        of_kind(stream_of(run, 1), "eval").back()["loss"]);
  CHECK_THAT(result.out, says("[0] done") && !says("[1]"));
  CHECK(fs::exists(run / "tb"));
  CHECK_FALSE(fs::exists(run / "tb-0001"));
  CHECK(fs::exists(run / "checkpoints/step-000004"));
  CHECK(read_rank_status(run, 1)->phase == RankPhase::done);
}

TEST_CASE("a rank whose backward takes 200 ms more is found, however gradients are averaged") {
  const Picks ways = words_of(
      GENERATE(from_range(all_or_one({"comm.sync=buckets comm.bucket_mb=0.02 comm.first_bucket_mb=0.01",
                                      "comm.sync=buckets", "comm.sync=per_parameter", "comm.sync=at_end"},
                                     0))));
  const TempFolder folder;
  const fs::path run = folder / "run";
  std::vector<std::string> sets = {"train.steps=10", "data.limit_valid=8", "run.fault=slow_rank",
                                   "run.fault_ms=200"};
  sets.insert(sets.end(), ways.begin(), ways.end());
  const ProcessResult result = run_ranks(2, run, sets);
  INFO(result.out << result.err);
  REQUIRE(result.code == 0);
  const RanksView view = read_ranks(run);
  INFO(straggler_sentence(view) << joined(rank_lines(view), "\n"));
  REQUIRE(view.straggler);
  CHECK(view.straggler->rank == 1);
  CHECK(view.straggler->kept_us > 100'000);
  CHECK(view.straggler->stage == "backward");
}

TEST_CASE("a rank that is killed is named with its step and place; the others follow, and end") {
  const Picks c = GENERATE(
      from_range(cases_of({"2 start", "2 load", "4 forward", "4 comm", "2 checkpoint"},
                          products({{"2", "4"}, {"start", "load", "forward", "comm", "checkpoint"}}))));
  const int ranks = std::stoi(c[0]);
  const std::string& stage = c[1];
  const TempFolder folder;
  const fs::path run = folder / "run";
  std::vector<std::string> sets = {"train.steps=6",       "train.checkpoint_every=2",
                                   "run.fault=kill_rank", "run.fault_stage=" + stage,
                                   "run.fault_step=3",    "run.fault_rank=1"};
  // One message, struck after it has begun.
  if (stage == "comm") sets.insert(sets.end(), {"comm.sync=at_end", "comm.link.gbit_per_s=0.1"});
  const ProcessResult result = run_ranks(ranks, run, sets);
  INFO(ranks << " ranks, killed in " << stage << "\n" << result.out << result.err);
  CHECK(result.code == 137);
  const std::string where = stage == "start"        ? "before the ranks had met"
                            : stage == "comm"       ? "in step 4, collective 4: all_reduce"
                            : stage == "checkpoint" ? "in step 5, stage checkpoint"
                                                    : "in step 4, stage " + stage;
  CHECK_THAT(last_error(result), says("rank 1 failed first, " + where) && says("killed (SIGKILL)"));
  CHECK_THAT(last_error(result), says(ranks == 2 ? "rank 0 followed" : "ranks 0, 2, 3 followed"));
  CHECK(no_process_left(run));
  if (stage == "start") return;
  CHECK(resume_ranks(ranks, run, {"run.fault=none"}).code == 0);  // the last complete checkpoint is good
  CHECK(count_steps(run, 0) >= 6);
}

TEST_CASE("two messages in another order are refused in the first step that has two, and named") {
  const TempFolder folder;
  const ProcessResult result = run_ranks(
      2, folder / "run",
      {"train.steps=6", "run.fault=other_order", "comm.bucket_mb=0.25", "comm.first_bucket_mb=0.25"});
  INFO(result.out << result.err);
  CHECK(result.code == 1);
  CHECK_THAT(result.err, says("ranks do not do the same, and nothing was sent") && says("bucket 0") &&
                             says("bucket 1") && says("step 2"));
  CHECK(run_ranks(2, folder / "none", {"run.fault=other_order", "comm.sync=at_end"}).code == 2);
  CHECK(run_ranks(2, folder / "none", {"run.fault=lr_unscaled"}).code == 2);
  CHECK(run_ranks(2, folder / "none", {"run.fault=sum_gradients", "comm.sync=none"}).code == 2);
}

TEST_CASE("gradients that overflow on one rank end all, in words that blame no rank's loss") {
  const TempFolder folder;
  const ProcessResult result =
      run_ranks(2, folder / "run", {"train.steps=6", "run.fault=inject_inf", "run.fault_step=3"});
  INFO(result.out << result.err);
  CHECK(result.code == 1);
  for (const char* const rank : {"[0]", "[1]"})
    CHECK_THAT(result.err,
               says(std::string(rank) + " 06_ddp: error: gradients are not finite numbers on some rank"));
  CHECK(no_process_left(folder / "run"));
}

TEST_CASE("a checkpoint of several ranks is that of all, or there is none but the one before it") {
  const int killed = GENERATE(0, 1);
  const TempFolder folder;
  const fs::path run = folder / "run";
  const ProcessResult result = run_ranks(
      2, run,
      {"train.steps=6", "train.checkpoint_every=2", "run.fault=kill_rank", "run.fault_stage=checkpoint",
       "run.fault_step=3", "run.fault_rank=" + std::to_string(killed)});
  INFO(result.out << result.err);
  CHECK(result.code == 137);
  CHECK_THAT(last_error(result),
             says(fmt::format("rank {} failed first, in step 5, stage checkpoint", killed)) &&
                 says(fmt::format("rank {} followed", 1 - killed)));
  CHECK(fs::exists(run / "checkpoints/step-000002"));
  CHECK_FALSE(fs::exists(run / "checkpoints/step-000004"));
  const ProcessResult resumed = resume_ranks(2, run, {"run.fault=none"});
  CHECK(resumed.code == 0);
  CHECK_THAT(resumed.out, says("after step 2"));
}

TEST_CASE("a rank that stops answering is named") {
  const TempFolder folder;
  const fs::path run = folder / "run";
  const ProcessResult result = run_ranks(2, run,
                                         {"train.steps=6", "comm.timeout_s=20", "run.fault=stop_rank",
                                          "run.fault_stage=forward", "run.fault_step=2"});
  INFO(result.out << result.err);
  CHECK(result.code == 1);
  CHECK_THAT(last_error(result), says("rank 1 failed first, in step 3, stage forward: it stopped answering"));
  CHECK(no_process_left(run));
}

TEST_CASE("ranks stop after the same step, and go on as if they had not") {
  const int signal = std::stoi(GENERATE(from_range(all_or_one({"15", "10", "2"}, 0))));
  const TempFolder folder;
  const std::vector<std::string> sets = {"train.steps=16"};
  REQUIRE(run_ranks(2, folder / "whole", sets).code == 0);
  const fs::path run = folder / "run";
  const ProcessResult result =
      run_ranks(2, run, {"train.steps=16", "run.fault=slow_stage", "run.fault_ms=400"},
                {.signal = signal, .interrupt_when = when_steps(run, 3)});
  INFO(result.out << result.err);
  REQUIRE(result.code == 75);
  CHECK(count_steps(run, 0) == count_steps(run, 1));
  CHECK(count_steps(run, 0) < 16);
  const ProcessResult resumed = resume_ranks(2, run, {"run.fault=none"});
  INFO(resumed.out << resumed.err);
  REQUIRE(resumed.code == 0);
  CHECK(joint_losses(run) == joint_losses(folder / "whole"));
  CHECK(read_text_file(run / "weights.safetensors", 1 << 24) ==
        read_text_file(folder / "whole/weights.safetensors", 1 << 24));
}

TEST_CASE("a run goes on with another number of ranks: the same batches, the same loss") {
  const auto [before, after] = GENERATE(std::pair{1, 2}, std::pair{2, 1}, std::pair{2, 4});
  const TempFolder folder;
  const fs::path run = folder / "run";
  REQUIRE(
      run_ranks(before, run, {"train.steps=12", "train.checkpoint_every=6", "schedule.kind=constant"}).code ==
      0);
  const std::map<int, double> whole = joint_losses(run);
  fs::remove_all(run / "checkpoints/step-000012");
  const ProcessResult result = resume_ranks(after, run);
  INFO(before << " -> " << after << "\n" << result.out << result.err);
  REQUIRE(result.code == 0);
  const std::map<int, double> resumed = joint_losses(run);
  CHECK(resumed.size() == 12);
  CHECK(std::abs(resumed.at(6) - whole.at(6)) < 1e-6);
  CHECK(std::abs(resumed.at(11) - whole.at(11)) < 1e-4);
}

TEST_CASE("what cannot be is refused before anything starts") {
  const TempFolder folder;
  const fs::path run = folder / "run";
  const ProcessResult odd = run_ranks(3, run, {});
  CHECK(odd.code == 2);
  CHECK_THAT(odd.err, says("a batch of 4 samples cannot be divided over 3 ranks"));
  // Too few samples to score with: told once, before any rank starts.
  const ProcessResult few = run_ranks(8, folder / "few", {"train.global_batch=8", "data.limit_valid=4"});
  CHECK(few.code == 2);
  CHECK_THAT(few.err, says("8 ranks with 1 validation sample each want 8, and data.limit_valid allows 4") &&
                          says("fewer ranks"));
  CHECK(few.err.find("error") == few.err.rfind("error"));
  CHECK_FALSE(fs::exists(run));
  const std::string cli = bin_folder(ISOBAR_BIN) + "/isobar-cli";
  const ProcessResult other = run_process({cli, "run", "01_baseline", "--ranks", "2"});
  CHECK(other.code == 2);
  CHECK_THAT(other.err, says("run.ranks") && says("06_ddp"));
  for (const std::string bad : {"0", "-1", "two", "2.5", "257", ""}) {
    const ProcessResult result = run_process({cli, "run", "06_ddp", "--ranks", bad});
    INFO(bad << result.err);
    CHECK(result.code == 2);
    CHECK_THAT(result.err, says("--ranks"));
  }
  const ProcessResult alone =
      run_lesson({bin_folder(ISOBAR_BIN) + "/06_ddp", "--ranks", "2", "--preset", "cpu_micro"});
  CHECK(alone.code == 2);
  CHECK_THAT(alone.err, says("2 ranks are wanted, and this process is alone"));
  const ProcessResult half = run_process({cli, "run", "06_ddp"}, {.environment = {"RANK=0"}});
  CHECK(half.code == 2);
  CHECK_THAT(half.err, says("WORLD_SIZE"));
}

TEST_CASE("two processes of an mpirun are two ranks, and a lesson without ranks refuses them") {
  const TempFolder folder;
  const std::string started =
      "for rank in 0 1; do OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_SIZE=2 OMPI_COMM_WORLD_RANK=$rank "
      "OMPI_COMM_WORLD_LOCAL_RANK=$rank PMIX_NAMESPACE=$$ \"$@\" & processes=\"$processes $!\"; done; "
      "code=0; "
      "for process in $processes; do wait $process || code=$?; done; exit $code";
  const auto words = [&](const std::string& lesson) {
    return std::vector<std::string>{"/bin/bash",
                                    "-c",
                                    started,
                                    "mpirun",
                                    bin_folder(ISOBAR_BIN) + "/" + lesson,
                                    "--preset",
                                    "cpu_micro",
                                    "--run-dir",
                                    (folder / lesson).string(),
                                    "--set",
                                    "data.root=" + data().string(),
                                    "--set",
                                    "train.steps=2",
                                    "--set",
                                    "run.threads=1",
                                    "--set",
                                    "comm.timeout_s=300"};
  };
  const ProcessResult both = run_process(words("06_ddp"));
  INFO(both.out << both.err);
  CHECK(both.code == 0);
  for (int rank : {0, 1}) CHECK(stream_of(folder / "06_ddp", rank).front()["world"] == 2);
  const ProcessResult single = run_process(words("01_baseline"));
  CHECK(single.code == 2);
  CHECK_THAT(single.err, says("01_baseline trains in one process, and mpirun started 2"));
  CHECK_FALSE(fs::exists(folder / "01_baseline"));
}

TEST_CASE("a process of a world of one starts ranks of its own") {
  const TempFolder folder;
  const ProcessResult result =
      run_ranks(2, folder / "run", {"train.steps=2"},
                {.environment = {"WORLD_SIZE=1", "RANK=0", "MASTER_ADDR=localhost", "MASTER_PORT=23456"}});
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(stream_of(folder / "run", 1).front()["world"] == 2);
}

TEST_CASE("ranks that were started differently are refused, the difference named") {
  const TempFolder folder;
  const std::string root = "--set data.root=" + data().string() + " ";
  const RanksEnded lr = run_script(folder, root + "--set optim.lr=0.00$((RANK + 1))");
  CHECK(lr.code == 2);
  CHECK_THAT(lr.ranks[0].errors, says("optim.lr is 0.001 on rank 0 and 0.002 on rank 1"));
  CHECK_THAT(lr.ranks[1].errors, says("optim.lr is 0.001 on rank 0 and 0.002 on rank 1"));
  CHECK_FALSE(fs::exists(folder / "run"));
  const RanksEnded threads =
      run_script(folder, root + "--set run.flush_ms=100 --set run.threads=$((RANK + 1))");
  CHECK(threads.code == 0);
}

TEST_CASE("ranks with different data sets are refused") {
  const TempFolder folder;
  fs::copy(data(), folder / "data0", fs::copy_options::recursive);
  fs::copy(data(), folder / "data1", fs::copy_options::recursive);
  std::string means = read_text_file(folder / "data1/stats/global_means.npy", 10'000);
  means.back() = static_cast<char>(means.back() ^ 1);
  write_file_whole(folder / "data1/stats/global_means.npy", std::string_view(means));
  const RanksEnded ended = run_script(folder, "--set data.root=" + (folder / "data$RANK").string());
  CHECK(ended.code == 2);
  CHECK_THAT(ended.ranks[0].errors, says("the ranks have different data sets: training data is"));
}

TEST_CASE("the fault rank0_log_only leaves one stream") {
  const TempFolder folder;
  const fs::path run = folder / "run";
  REQUIRE(run_ranks(2, run, {"train.steps=3", "run.fault=rank0_log_only"}).code == 0);
  CHECK(fs::exists(run / "rank-0000.jsonl"));
  CHECK_FALSE(fs::exists(run / "rank-0001.jsonl"));
  CHECK_FALSE(fs::exists(run / "rank-0001.spans.jsonl"));
}
