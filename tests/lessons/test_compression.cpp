// Lesson 11 as a learner runs it: what compression keeps of a training, what it sends, and what it refuses.
#include <cmath>
#include <filesystem>

#include "core/files.h"
#include "lessons/rank_run.h"
#include "support/catch.h"
#include "support/says.h"
#include "support/temp_folder.h"

namespace isobar::test_compression {

namespace fs = std::filesystem;

namespace {

/// Losses after 150 steps at rank 4 lie so near those of plain gradients with error feedback, and further
/// without.
constexpr double kBand = 0.25;
constexpr double kAlternateBand = 0.35;  // one factor a step

const std::vector<std::string> kFast = {"optim.lr=2e-3", "comm.compress_rank=4"};

ProcessResult train_compressed(const fs::path& run, const std::vector<std::string>& sets, int steps = 12,
                               int ranks = 2) {
  const std::vector<std::string> all = {"train.steps=" + std::to_string(steps), "data.limit_valid=8",
                                        "comm.bucket_mb=0.1", "comm.compress_start=2", "amp.mode=none"};
  return run_ranks(ranks, run, with(all, sets), {}, "11_compression");
}

double loss_of(const fs::path& run) { return of_kind(stream_of(run, 0), "eval").back()["loss"].as_number(); }

std::vector<double> column(const fs::path& run, const char* key, int rank = 0) {
  std::vector<double> out;
  for (const Json& step : of_kind(stream_of(run, rank), "step"))
    if (step.contains(key)) out.push_back(step[key].as_number());
  return out;
}

}  // namespace

TEST_CASE("a page that sends gradients as they are trains as lesson 10 does") {
  const TempFolder folder;
  REQUIRE(train_compressed(folder / "eleven", {}).code == 0);
  REQUIRE(run_ranks(2, folder / "ten",
                    {"train.steps=12", "data.limit_valid=8", "comm.bucket_mb=0.1", "amp.mode=none"}, {},
                    "10_buckets")
              .code == 0);
  CHECK(read_text_file(folder / "eleven/weights.safetensors", 1 << 24) ==
        read_text_file(folder / "ten/weights.safetensors", 1 << 24));
  CHECK(column(folder / "eleven", "comm_calls") == column(folder / "ten", "comm_calls"));
  CHECK(column(folder / "eleven", "wire_bytes") == column(folder / "ten", "wire_bytes"));
}

TEST_CASE("losses stay within a band with error feedback, and leave it without") {
  const TempFolder folder;
  const auto loss_with = [&](const std::string& name, const std::vector<std::string>& sets) {
    REQUIRE(train_compressed(folder / name, with(kFast, sets), 150).code == 0);
    return loss_of(folder / name);
  };
  const double plain = loss_with("plain", {});
  for (const std::string scheme : {"bf16", "fp16"})
    CHECK(loss_with(scheme, {"comm.compress=" + scheme}) / plain - 1 < 0.01);
  for (const std::string scheme : {"powersgd", "acpsgd"}) {
    const double kept = loss_with(scheme, {"comm.compress=" + scheme});
    const double lost =
        loss_with(scheme + "-lost", {"comm.compress=" + scheme, "run.fault=no_error_feedback"});
    INFO(scheme << " " << kept << " " << lost << " " << plain);
    const double band = scheme == "powersgd" ? kBand : kAlternateBand;
    CHECK(kept / plain - 1 < band);
    CHECK(lost / plain - 1 > band);
  }
}

TEST_CASE("errors are recorded when they are due, and grow on the ranks and not in the mean") {
  const TempFolder folder;
  const fs::path run = folder / "run";
  REQUIRE(train_compressed(run, {"comm.compress=powersgd", "comm.error_every=5"}, 60).code == 0);
  const std::vector<double> own = column(run, "error_norm"), mean = column(run, "mean_error_norm");
  REQUIRE(own.size() == 12);
  CHECK(own.back() > 2 * own.front());
  CHECK(mean.back() < 2 * mean.front());
  CHECK(mean == column(run, "mean_error_norm", 1));
}

TEST_CASE("local steps send once in H, and at the end") {
  const TempFolder folder;
  for (const std::vector<std::string>& outer :
       {std::vector<std::string>{}, {"comm.outer_lr=0.7", "comm.outer_momentum=0.9"}}) {
    const fs::path run = folder / (outer.empty() ? "mean" : "outer");
    REQUIRE(train_compressed(run, with({"comm.average=weights", "comm.local_steps=5"}, outer)).code == 0);
    CHECK(column(run, "comm_calls") == std::vector<double>{0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1});
    CHECK(column(run, "wire_bytes")[3] == 0);
    CHECK(std::isfinite(loss_of(run)));
  }
}

TEST_CASE("mistakes are found and named") {
  const TempFolder folder;
  const ProcessResult seeds = train_compressed(
      folder / "seeds", {"comm.compress=acpsgd", "run.fault=different_seeds", "comm.hash_every=4"});
  CHECK(seeds.code == 1);
  CHECK_THAT(seeds.err, says("step 4") && says("another seed on a rank"));
  // The loss scale settles where the sum of two ranks is in range: at half of where their mean is.
  const auto scale = [&](const std::string& fault) {
    const std::vector<std::string> sets = {"comm.compress=fp16", "amp.mode=fp16", "amp.init_scale=1073741824",
                                           "run.fault=" + fault};
    REQUIRE(train_compressed(folder / fault, sets, 30).code == 0);
    return column(folder / fault, "scale").back();
  };
  CHECK(scale("fp16_overflow") == scale("none") / 2);
}

TEST_CASE("a rank that is lost while factors are under way ends the others, by name") {
  const TempFolder folder;
  const ProcessResult lost =
      train_compressed(folder / "lost", {"comm.compress=powersgd", "comm.timeout_s=20", "run.fault=kill_rank",
                                         "run.fault_stage=backward", "run.fault_step=5"});
  CHECK(lost.code != 0);
  CHECK_THAT(lost.err, says("rank 1"));
  CHECK_THAT(lost.err, says("in step 6, stage backward"));
}

TEST_CASE("a run that is stopped goes on, with errors from zero") {
  const TempFolder folder;
  const fs::path run = folder / "run";
  REQUIRE(train_compressed(run, {"comm.compress=powersgd", "train.checkpoint_every=6"}).code == 0);
  fs::remove_all(run / "checkpoints/step-000012");
  const ProcessResult resumed = resume_ranks(2, run, {}, "11_compression");
  INFO(resumed.out << resumed.err);
  CHECK(resumed.code == 0);
  CHECK_THAT(resumed.out, says("after step 6"));
  // Two steps that are whole, in the first run and behind the checkpoint.
  const std::vector<double> bytes = column(run, "wire_bytes");
  REQUIRE(bytes.size() == 18);
  for (std::size_t step = 0; step < bytes.size(); ++step) {
    const bool is_whole = step < 2 || step == 12 || step == 13;
    CHECK((bytes[step] > 4 * bytes[11]) == is_whole);
  }
}

TEST_CASE("local steps continue from an average: the outer step begins at the weights of the checkpoint") {
  const TempFolder folder;
  const fs::path run = folder / "run";
  const std::vector<std::string> local = {"comm.average=weights", "comm.local_steps=20", "comm.outer_lr=0.5",
                                          "train.checkpoint_every=40", "optim.lr=2e-3"};
  REQUIRE(train_compressed(run, local, 60).code == 0);
  fs::remove_all(run / "checkpoints/step-000060");
  const double whole = loss_of(run);
  REQUIRE(resume_ranks(2, run, {}, "11_compression").code == 0);
  // Moments of rank 1 are new. Half of the way back to the first weights would cost a third of the loss.
  INFO(loss_of(run) << " " << whole);
  CHECK(std::fabs(loss_of(run) / whole - 1) < 0.05);
}

TEST_CASE("what cannot be compressed is refused") {
  const TempFolder folder;
  const auto refused = [&](const std::vector<std::string>& sets, const char* word) {
    const ProcessResult result = train_compressed(folder / "run", sets);
    INFO(sets.front() << result.err);
    CHECK(result.code == 2);
    CHECK_THAT(result.err, says(word));
    CHECK_FALSE(fs::exists(folder / "run/weights.safetensors"));
    fs::remove_all(folder / "run");
  };
  refused({"comm.compress_rank=0"}, "at least 1");
  refused({"comm.compress=powersgd", "comm.compress_rank=5000"}, "a comm.compress_rank up to");
  refused({"comm.compress=powersgd", "comm.sync=at_end"}, "comm.sync=buckets");
  refused({"comm.compress=bf16", "comm.average=weights"}, "comm.average=gradients");
  refused({"comm.compress=powersgd", "amp.mode=fp16"}, "amp.mode=bf16");
  refused({"comm.local_steps=0"}, "at least 1");
  refused({"comm.local_steps=4"}, "comm.average=weights");
  refused({"comm.average=weights", "comm.local_steps=4", "train.checkpoint_every=6"},
          "comm.local_steps divides");
  refused({"comm.compress=bf16", "comm.bucket_view=false"}, "comm.bucket_view=true");
  refused({"comm.compress=bf16", "run.fault=sum_gradients"}, "comm.compress=none");
  refused({"run.fault=no_orth"}, "comm.compress=powersgd");
}

}  // namespace isobar::test_compression
