// Lesson 13 on groups of ranks that share states, with states in host memory and by Muon, and its
// checkpoints.
#include <cmath>

#include "fields/safetensors.h"
#include "lessons/compared_runs.h"
#include "record/memory_timeline.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/tolerance_values.h"

namespace isobar::test_zero_groups {

namespace fs = std::filesystem;

namespace {

constexpr const char* kLesson = "13_zero";

using Sets = std::vector<std::string>;

ProcessResult run_zero(int ranks, const fs::path& run, const Sets& sets) {
  return run_ranks(ranks, run, with({"data.limit_valid=8", "comm.bucket_mb=0.3", "train.steps=4"}, sets), {},
                   kLesson);
}

std::string weights_of(const fs::path& run) { return read_text_file(run / "weights.safetensors", 1 << 24); }

Json last_step(const fs::path& run) { return of_kind(stream_of(run, 0), "step").back(); }

/// Bytes of all weights, in float32.
double weight_bytes(const fs::path& run) {
  double out = 0;
  for (const TensorInFile& tensor : open_safetensors(run / "weights.safetensors").tensors)
    out += static_cast<double>(tensor.bytes);
  return out;
}

std::vector<std::string> files_of(const fs::path& folder) {
  std::vector<std::string> out;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    out.push_back(entry.path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

TEST_CASE("groups of two train as one of four, and their traffic is counted inside and between them") {
  const TempFolder folder;
  REQUIRE(run_zero(4, folder / "all", {"mesh.zero=0"}).code == 0);
  const double bytes = weight_bytes(folder / "all");
  for (const std::string zero : {"0", "1", "3"}) {
    const fs::path run = folder / zero;
    const ProcessResult result = run_zero(4, run,
                                          {"mesh.shard=2", "mesh.zero=" + zero, "comm.link.gbit_per_s=2",
                                           "comm.node_link.gbit_per_s=10", "train.checkpoint_every=4"});
    INFO(result.out << result.err);
    REQUIRE(result.code == 0);
    CHECK(apart(joint_losses(run), joint_losses(folder / "all")) <= kLoss);
    const Json step = last_step(run);
    const double inside = step["node_wire_bytes"].as_number(), all = step["wire_bytes"].as_number();
    const double wanted = (zero == "3" ? 3 : 2) * bytes / 2;
    CHECK(std::fabs(inside - wanted) <= 0.05 * wanted);
    CHECK(std::fabs(all - inside - bytes / 2) <= 0.05 * bytes / 2);
    const ProcessResult shown = run_launcher(kLesson, {"show", run.string()});
    INFO(shown.out << shown.err);
    CHECK_THAT(shown.out, says("inside a node") && says("between nodes"));
  }
  // The first group writes for both.
  const std::vector<std::string> files = files_of(folder / "3/checkpoints/step-000004");
  CHECK(std::count_if(files.begin(), files.end(),
                      [](const auto& one) { return one.starts_with("states-"); }) == 2);
  CHECK(std::count(files.begin(), files.end(), "states-0002-of-0002.safetensors") == 1);
}

TEST_CASE("shares that a mesh of two models wrote open on another mesh, and a missing one is named") {
  const TempFolder folder;
  const fs::path whole = folder / "whole";
  REQUIRE(
      run_zero(4, whole, {"mesh.tp=2", "mesh.zero=2", "train.steps=6", "train.checkpoint_every=3"}).code ==
      0);
  const std::map<int, double> uninterrupted = joint_losses(whole);
  for (const auto& [ranks, sets] : {std::pair{4, Sets{}},
                                    {2, Sets{"mesh.tp=1", "mesh.zero=3"}},
                                    {2, Sets{"mesh.tp=2", "mesh.zero=0"}},
                                    {1, Sets{"mesh.tp=1"}}}) {
    const fs::path run = folder / (std::to_string(ranks) + std::to_string(sets.size()));
    fs::remove_all(run);
    fs::copy(whole, run, fs::copy_options::recursive);
    fs::remove_all(run / "checkpoints/step-000006");
    const ProcessResult result = resume_ranks(ranks, run, sets, kLesson);
    INFO(ranks << "\n" << result.out << result.err);
    REQUIRE(result.code == 0);
    CHECK(apart(joint_losses(run), uninterrupted) <= kLoss);
    if (ranks == 4) CHECK(weights_of(run) == weights_of(whole));
  }
  const std::string missing = "states-0003-of-0004.safetensors";
  for (const bool cut : {true, false}) {
    for (const char* const step : {"step-000003", "step-000006"}) {
      const fs::path file = whole / "checkpoints" / step / missing;
      if (cut) {
        fs::resize_file(file, fs::file_size(file) - 8);
      } else {
        fs::remove(file);
      }
    }
    const ProcessResult refused = resume_ranks(4, whole, {}, kLesson);
    INFO(refused.out << refused.err);
    CHECK(refused.code == 2);
    CHECK_THAT(refused.err, says(missing) && says(cut ? "bytes" : "missing"));
  }
}

TEST_CASE("states in host memory change no bit; Muon trains otherwise, and alike in every stage") {
  const TempFolder folder;
  REQUIRE(run_zero(2, folder / "here", {"mesh.zero=3"}).code == 0);
  for (const std::string what : {"optimizer", "weights"}) {
    const fs::path run = folder / what;
    const ProcessResult result = run_zero(2, run, {"mesh.zero=3", "mesh.offload=" + what});
    INFO(result.out << result.err);
    REQUIRE(result.code == 0);
    CHECK(weights_of(run) == weights_of(folder / "here"));
    const double own = weight_bytes(run) / 2;
    const Json step = last_step(run);
    CHECK(std::fabs(step["offload_down_bytes"].as_number() - own) <= 0.05 * own);
    const double up = what == "weights" ? 2 * own : own;  // for two gathers, or behind the update
    CHECK(std::fabs(step["offload_up_bytes"].as_number() - up) <= 0.05 * up);
    CHECK_THAT(read_text_file(run / "rank-0000.spans.jsonl", 1 << 24),
               says("offload down") && says("offload up"));
  }
  REQUIRE(run_zero(2, folder / "muon-0", {"optim.name=muon", "mesh.zero=0"}).code == 0);
  REQUIRE(run_zero(2, folder / "muon-2", {"optim.name=muon", "mesh.zero=2"}).code == 0);
  CHECK(apart(joint_losses(folder / "muon-2"), joint_losses(folder / "muon-0")) <= kLoss);
  CHECK(apart(joint_losses(folder / "muon-0"), joint_losses(folder / "here")) > 10 * kLoss);
}

TEST_CASE("states in host memory are part of what a process on a CPU will take, and of no tensor of a step") {
  const TempFolder folder;
  const fs::path run = folder / "run";
  const ProcessResult result =
      run_zero(2, run, {"mesh.zero=1", "mesh.offload=optimizer", "model.embed=384", "train.steps=2"});
  INFO(result.out << result.err);
  REQUIRE(result.code == 0);
  const Json summary = summary_of(run);
  const double predicted = summary["predicted_bytes"].as_number(), peak = summary["peak_bytes"].as_number();
  const double host = 2 * weight_bytes(run);  // 16 bytes of a value, of which each rank owns half
  WARN(1e-6 * predicted << " MB predicted, " << 1e-6 * peak << " MB measured, " << 1e-6 * host
                        << " of them states in host memory");
  CHECK(host > 0.15 * peak);
  CHECK(std::fabs(predicted - peak) <= 0.1 * peak);
  const MemoryTimeline step = read_memory(run, 0);
  CHECK(static_cast<double>(step.peak_bytes() + step.program_bytes) <= 1.02 * (peak - host));
}

TEST_CASE("groups, host memory and Muon that fit nothing are refused") {
  const TempFolder folder;
  const std::vector<std::pair<Sets, std::string>> bad = {
      {{"mesh.shard=3"}, "cannot form groups of 3"},
      {{"mesh.offload=optimizer", "mesh.zero=0"}, "mesh.zero = 0 shares none"},
      {{"mesh.offload=weights", "mesh.zero=2"}, "each rank needs all weights"},
      {{"mesh.offload=optimizer", "fusion.adam=false"}, "updated by our own kernel"},
      {{"mesh.offload=optimizer", "optim.name=muon"}, "Muon multiplies matrices on the device"},
      {{"optim.name=muon", "mesh.tp=2"}, "Muon needs whole matrices"},
      {{"mesh.offload=optimizer", "mesh.zero=1", "model.embed=49152"}, "of host memory, and"},
      {{"comm.node_link.gbit_per_s=10"}, "comm.link is none"}};
  for (const auto& [sets, why] : bad) {
    const ProcessResult result = run_zero(2, folder / "bad", sets);
    INFO(result.out << result.err);
    CHECK(result.code == 2);
    std::string flat = result.err;
    std::replace(flat.begin(), flat.end(), '\n', ' ');
    CHECK_THAT(flat, says(why));
    fs::remove_all(folder / "bad");
  }
}

}  // namespace isobar::test_zero_groups
