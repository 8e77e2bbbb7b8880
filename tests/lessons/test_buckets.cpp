// Lesson 10 as a learner runs it: what buckets and buffers change, and what they must not.
#include <algorithm>
#include <filesystem>

#include "core/files.h"
#include "lessons/rank_run.h"
#include "support/catch.h"
#include "support/says.h"
#include "support/temp_folder.h"

namespace isobar::test_buckets {

namespace fs = std::filesystem;

namespace {

ProcessResult train_buckets(const fs::path& run, const std::vector<std::string>& sets, int ranks = 2) {
  return run_ranks(ranks, run, with({"train.steps=10", "data.limit_valid=8", "comm.bucket_mb=0.1"}, sets), {},
                   "10_buckets");
}

/// Of the notes "buffers" of a rank: steps, and how far its buffers were from those of rank 0.
std::vector<std::pair<std::int64_t, double>> apart(const fs::path& run, int rank) {
  std::vector<std::pair<std::int64_t, double>> out;
  for (const Json& note : of_kind(stream_of(run, rank), "note")) {
    if (note["text"] == "buffers") out.emplace_back(note["step"].as_integer(), note["apart"].as_number());
  }
  return out;
}

std::string weights_of(const fs::path& run) { return read_text_file(run / "weights.safetensors", 1 << 24); }

std::vector<double> calls_of(const fs::path& run) {
  std::vector<double> out;
  for (const Json& step : of_kind(stream_of(run, 0), "step")) out.push_back(step["comm_calls"].as_number());
  return out;
}

}  // namespace

TEST_CASE("size, order and copies of buckets change no weight") {
  const TempFolder folder;
  REQUIRE(train_buckets(folder / "at_end", {"comm.sync=at_end"}).code == 0);
  const std::string expected = weights_of(folder / "at_end");
  for (const std::vector<std::string>& sets : {std::vector<std::string>{"comm.bucket_order=ready"},
                                               {"comm.bucket_order=reverse", "comm.bucket_view=false"},
                                               {"run.fault=forward_order"},
                                               {"run.fault=one_bucket"},
                                               {"run.fault=tiny_buckets", "comm.bucket_order=reverse"}}) {
    const fs::path run = folder / "run";
    INFO(sets.front());
    REQUIRE(train_buckets(run, sets).code == 0);
    CHECK(weights_of(run) == expected);
    const std::vector<double> calls = calls_of(run);
    REQUIRE(calls.size() == 10);
    const bool waits = sets.front() == "comm.bucket_order=ready",
               one = sets.front() == "run.fault=one_bucket";
    CHECK((calls[0] == 1) == (waits || one));
    CHECK((calls[1] == 1) == one);
    CHECK(std::all_of(calls.begin() + 1, calls.end(), [&](double other) { return other == calls[1]; }));
    fs::remove_all(run);
  }
}

TEST_CASE("a model without buffers says nothing of them, and sending them costs no message") {
  const TempFolder folder;
  REQUIRE(train_buckets(folder / "with", {"comm.broadcast_buffers=true"}).code == 0);
  REQUIRE(train_buckets(folder / "without", {}).code == 0);
  CHECK(calls_of(folder / "with") == calls_of(folder / "without"));
  CHECK(weights_of(folder / "with") == weights_of(folder / "without"));
  CHECK(apart(folder / "with", 1).empty());
}

TEST_CASE("constant buffers cost a message a step, and are in no file") {
  const TempFolder folder;
  REQUIRE(train_buckets(folder / "without", {}).code == 0);
  REQUIRE(train_buckets(folder / "with", {"model.buffers_mb=0.5", "comm.broadcast_buffers=true"}).code == 0);
  const std::vector<double> with = calls_of(folder / "with"), without = calls_of(folder / "without");
  for (std::size_t i = 0; i < with.size(); ++i) CHECK(with[i] == without.at(i) + 1);
  CHECK(weights_of(folder / "with") == weights_of(folder / "without"));
  CHECK(apart(folder / "with", 1).empty());  // what is constant cannot drift
}

TEST_CASE("running means drift apart from rank to rank unless they are broadcast") {
  const TempFolder folder;
  const ProcessResult own = train_buckets(folder / "own", {"run.fault=batchnorm_no_broadcast"});
  REQUIRE(own.code == 0);
  CHECK_THAT(own.out, says("buffers   step 10: running means and variances are up to"));
  const auto drift = apart(folder / "own", 1);
  REQUIRE(drift.size() == 11);
  CHECK(drift.front() == std::pair<std::int64_t, double>{0, 0});
  for (auto step = drift.begin() + 1; step != drift.end(); ++step) CHECK(step->second > 0);
  for (const auto& [step, none] : apart(folder / "own", 0)) CHECK(none == 0);
  REQUIRE(train_buckets(folder / "sent", {"model.norm=batch", "comm.broadcast_buffers=true"}).code == 0);
  const auto sent = apart(folder / "sent", 1);
  REQUIRE_FALSE(sent.empty());  // behind each validation
  CHECK(sent.back() == std::pair<std::int64_t, double>{10, 0});
  for (const auto& [step, distance] : sent) CHECK(distance == 0);
  // Ranks take their own batch's moments in training, whatever the running ones are.
  CHECK(joint_losses(folder / "own") == joint_losses(folder / "sent"));
}

TEST_CASE("running means are in checkpoints: a run goes on with them to the bit") {
  const TempFolder folder;
  const fs::path run = folder / "run";
  REQUIRE(train_buckets(run, {"model.norm=batch", "comm.broadcast_buffers=true", "train.checkpoint_every=5"})
              .code == 0);
  const std::string whole = weights_of(run);
  CHECK_THAT(whole, says("norm.running_mean"));
  const Json before = of_kind(stream_of(run, 0), "eval").back();
  fs::remove_all(run / "checkpoints/step-000010");
  fs::remove(run / "weights.safetensors");
  const ProcessResult resumed = resume_ranks(2, run, {}, "10_buckets");
  INFO(resumed.out << resumed.err);
  REQUIRE(resumed.code == 0);
  CHECK_THAT(resumed.out, says("after step 5"));
  CHECK(weights_of(run) == whole);
  CHECK(of_kind(stream_of(run, 0), "eval").back()["loss"] == before["loss"]);
}

TEST_CASE("what means nothing here is refused") {
  const TempFolder folder;
  CHECK(train_buckets(folder / "run", {"mesh.tp=2"}).code == 2);
  CHECK(train_buckets(folder / "run", {"comm.bucket_order=backward"}).code == 2);
  const ProcessResult late = train_buckets(folder / "run", {"run.fault=forward_order", "comm.sync=at_end"});
  CHECK(late.code == 2);
  CHECK_THAT(late.err, says("comm.sync=buckets"));
  CHECK_FALSE(fs::exists(folder / "run"));
}

}  // namespace isobar::test_buckets
