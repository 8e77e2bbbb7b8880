// Lesson 13 as a learner runs it: replicas that share their states out train as those that do not.
#include <signal.h>

#include <optional>
#include <tuple>

#include "lessons/compared_runs.h"
#include "lessons/refused.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/pairs.h"
#include "support/tolerance_values.h"

namespace isobar::test_zero {

namespace fs = std::filesystem;

namespace {

constexpr const char* kLesson = "13_zero";

using Sets = std::vector<std::string>;

const Sets kFew = {"train.steps=6", "data.limit_valid=8", "comm.bucket_mb=0.3"};

/// By day some of what differs little is left out.
bool has_all() { return all_or_one({"", ""}, 0).size() > 1; }

std::string stage(std::int64_t zero) { return "mesh.zero=" + std::to_string(zero); }

ProcessResult run_stage(int ranks, const fs::path& run, std::int64_t zero, const Sets& more = {}) {
  return run_ranks(ranks, run, with(with(kFew, {stage(zero)}), more), {}, kLesson);
}

std::string weights_of(const fs::path& run) { return read_text_file(run / "weights.safetensors", 1 << 24); }

/// Units of S (n - 1) / n that steps send, S the bytes of all weights.
void check_units(const fs::path& run, int ranks, double units) {
  constexpr double kBytes = 4.0 * 690'720;  // the small model's weights
  const double planned = units * kBytes * (ranks - 1) / ranks;
  for (const Json& step : of_kind(stream_of(run, ranks - 1), "step")) {
    CHECK(step["wire_bytes"].as_number() > 0.99 * planned);
    CHECK(step["wire_bytes"].as_number() < 1.05 * planned);
  }
}

}  // namespace

TEST_CASE("every stage trains as lesson 06 does, leaves its file, and sends its units") {
  const TempFolder folder;
  for (const int ranks : {2, 4}) {
    const fs::path plain = folder / ("06-" + std::to_string(ranks));
    REQUIRE(run_ranks(ranks, plain, kFew).code == 0);
    for (const std::int64_t zero : {0, 1, 2, 3}) {
      if (zero != 3 && (ranks == 4 || zero != 1) && !has_all()) continue;
      INFO(ranks << " ranks, stage " << zero);
      const fs::path run = folder / (std::to_string(ranks) + "-" + std::to_string(zero));
      const ProcessResult result = run_stage(ranks, run, zero);
      INFO(result.out << result.err);
      REQUIRE(result.code == 0);
      CHECK(apart(joint_losses(run), joint_losses(plain)) <= kLoss);
      CHECK(difference_of_files(run / "weights.safetensors", plain / "weights.safetensors") < 1e-5);
      if (ranks == 2) CHECK(weights_of(run) == weights_of(plain));  // a sum of two has one order
      check_units(run, ranks, zero < 3 ? 2 : 3);
      CHECK(std::fabs(of_kind(stream_of(run, 0), "eval").back()["loss"].as_number() -
                      of_kind(stream_of(plain, 0), "eval").back()["loss"].as_number()) <= kLoss);
    }
  }
}

TEST_CASE("a run goes on to the bit in its stage, and in any other and on other ranks with the same losses") {
  const TempFolder folder;
  const Sets eight = {"train.steps=8", "train.checkpoint_every=4"};
  for (const std::int64_t from : {1, 3}) {
    const fs::path whole = folder / ("from-" + std::to_string(from));
    REQUIRE(run_stage(2, whole, from, eight).code == 0);
    const std::map<int, double> uninterrupted = joint_losses(whole);
    for (const auto& [ranks, to] : {std::tuple{2, 1}, {2, 3}, {4, 2}, {1, 0}}) {
      if ((ranks == 2 || from == 3) && to != 4 - from && !has_all()) continue;
      INFO("from stage " << from << " to stage " << to << " on " << ranks);
      const fs::path run = folder / (std::to_string(from) + "-" + std::to_string(ranks) + std::to_string(to));
      fs::copy(whole, run, fs::copy_options::recursive);
      fs::remove_all(run / "checkpoints/step-000008");
      const ProcessResult result = resume_ranks(ranks, run, {stage(to)}, kLesson);
      INFO(result.out << result.err);
      REQUIRE(result.code == 0);
      CHECK(apart(joint_losses(run), uninterrupted) <= kLoss);
      if (ranks == 2) CHECK(weights_of(run) == weights_of(whole));
    }
  }
}

TEST_CASE("pieces of models that ranks split are shared out, and go on from a checkpoint of another stage") {
  const TempFolder folder;
  const Sets split = {"mesh.tp=2", "train.steps=4", "train.checkpoint_every=2"};
  const fs::path plain = folder / "plain", run = folder / "run";
  REQUIRE(run_stage(4, plain, 0, split).code == 0);
  REQUIRE(run_stage(4, run, 3, split).code == 0);
  CHECK(weights_of(run) == weights_of(plain));
  fs::remove_all(run / "checkpoints/step-000004");
  const ProcessResult result = resume_ranks(4, run, {stage(2)}, kLesson);
  INFO(result.out << result.err);
  REQUIRE(result.code == 0);
  CHECK(weights_of(run) == weights_of(plain));
}

TEST_CASE("other stages begin with weights from a file, and a gradient that is no number ends all ranks") {
  const TempFolder folder;
  const std::string file = "train.init=" + (folder / "first").string();
  REQUIRE(run_stage(2, folder / "one", 0, {"train.save_init=" + (folder / "first").string(), "train.seed=5"})
              .code == 0);
  for (const std::int64_t zero : {2, 3}) {
    if (zero == 2 && !has_all()) continue;
    const fs::path run = folder / std::to_string(zero);
    REQUIRE(run_stage(2, run, zero, {file, "train.save_init=" + (folder / "again").string()}).code == 0);
    CHECK(weights_of(run) == weights_of(folder / "one"));
    CHECK(read_text_file(folder / "again", 1 << 24) == read_text_file(folder / "first", 1 << 24));
    const ProcessResult broken =
        run_stage(2, folder / "broken", zero, {"run.fault=nan_gradient", "run.fault_step=2"});
    CHECK(broken.code == 1);
    CHECK_THAT(broken.out + broken.err, says("a gradient is not a finite number"));
    fs::remove_all(folder / "broken");
  }
}

TEST_CASE("masters of a run that begins with weights from a file are those of the file, to the bit") {
  const TempFolder folder;
  const std::string first = (folder / "first").string();
  const Sets rounded = {"mesh.gather_dtype=16", "amp.mode=bf16"};
  REQUIRE(
      run_stage(2, folder / "drawn", 2, with(rounded, {"train.seed=5", "train.save_init=" + first})).code ==
      0);
  REQUIRE(run_stage(2, folder / "read", 2, with(rounded, {"train.init=" + first})).code == 0);
  CHECK(weights_of(folder / "read") == weights_of(folder / "drawn"));
  // None is left out because a rank holds a stretch of each tensor alone.
  const ProcessResult deeper = run_stage(2, folder / "shallow", 2, {"train.init=" + first, "model.depth=3"});
  CHECK(deeper.code == 2);
  CHECK_THAT(deeper.err, says("the file has a tensor that the model lacks"));
}

TEST_CASE("a stop that reaches one rank in the middle of validation stops all that gather weights for it") {
  const TempFolder folder;
  const fs::path run = folder / "run";
  const auto validates = [&] {
    const std::optional<RankStatus> status = read_rank_status(run, 1);
    if (!status || status->process != RankProcess::runs || status->stage != "validating") return false;
    return kill(static_cast<pid_t>(status->pid), SIGTERM) == 0;
  };
  const ProcessResult result = run_ranks(2, run,
                                         with(kFew, {stage(3), "data.limit_valid=32", "train.global_batch=2",
                                                     "data.throttle_mb_per_s=1", "comm.timeout_s=20"}),
                                         {.signal = 0, .interrupt_when = validates}, kLesson);
  INFO(result.out << result.err);
  CHECK(result.code == 75);
  CHECK(of_kind(stream_of(run, 0), "eval").empty());
  CHECK(no_process_left(run));
}

TEST_CASE("the mistakes of lesson 13 are reported, and change what is trained") {
  const TempFolder folder;
  const Sets clipped = {"optim.clip_norm=0.01"};
  REQUIRE(run_stage(2, folder / "right", 1, clipped).code == 0);
  for (const std::string& fault :
       {std::string("stale_gather"), std::string("no_pad"), std::string("clip_local_norm")}) {
    for (const std::int64_t zero : {1, 3}) {
      if (zero == (fault == "no_pad" ? 1 : 3) && !has_all()) continue;
      INFO(fault << ", stage " << zero);
      const fs::path run = folder / (fault + std::to_string(zero));
      const ProcessResult result = run_stage(2, run, zero, with(clipped, {"run.fault=" + fault}));
      INFO(result.out << result.err);
      REQUIRE(result.code == 0);
      CHECK_THAT(result.out, says(fault));
      CHECK(weights_of(run) != weights_of(folder / "right"));
      if (fault == "stale_gather" && zero == 1) CHECK_THAT(result.out, says("away from those of rank 0"));
    }
  }
}

TEST_CASE("shares that fit no mesh are refused before anything starts") {
  const auto refused = [](const Sets& sets) { return refusal(kLesson, sets); };
  CHECK_THAT(refused({"run.ranks=4", "mesh.shard=3"}), says("groups of 3"));
  CHECK_THAT(refused({"mesh.zero=4"}), says("mesh.zero"));
  CHECK_THAT(refused({"mesh.zero=0", "mesh.offload=optimizer"}), says("mesh.zero = 0 shares none"));
  CHECK_THAT(refused({"mesh.zero=2", "mesh.offload=weights"}), says("none can lie in host memory"));
  CHECK_THAT(refused({"mesh.zero=2", "mesh.gather_dtype=16", "amp.mode=none"}), says("mesh.gather_dtype"));
  CHECK_THAT(refused({"mesh.zero=1", "comm.sync=reducer"}), says("comm.sync = reducer"));
  CHECK_THAT(refused({"mesh.zero=1", "run.fault=nan_in_padding"}), says("nan_in_padding"));
  CHECK_THAT(refused({"optim.clip_norm=-1"}), says("optim.clip_norm"));
  CHECK_THAT(refused({"mesh.offload=optimizer", "amp.mode=bf16", "run.fault=all_half"}),
             says("all_half changes weights on the device"));
}

}  // namespace isobar::test_zero
