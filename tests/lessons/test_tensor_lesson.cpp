// Lesson 07 as a learner runs it: a model that several ranks share trains as one process does.
#include <cmath>

#include "core/pattern.h"
#include "formula/tensor_parallel.h"
#include "lessons/compared_runs.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/pairs.h"
#include "support/tolerance_values.h"

namespace isobar::test_tensor_lesson {

namespace fs = std::filesystem;

namespace {

constexpr const char* kLesson = "07_tensor_parallel";

using Sets = std::vector<std::string>;

ProcessResult run_mesh(int ranks, int tp, const fs::path& run, const Sets& more) {
  return run_ranks(ranks, run, with({"mesh.tp=" + std::to_string(tp), "data.limit_valid=8"}, more), {},
                   kLesson);
}

struct Bad {
  int ranks;
  Sets sets;
  std::string says_this;
};

void check_refused(const std::vector<Bad>& all) {
  const TempFolder folder;
  for (const Bad& bad : all) {
    const fs::path run = folder / "bad";
    const ProcessResult result = run_ranks(bad.ranks, run, bad.sets, {}, kLesson);
    INFO(result.out << result.err);
    CHECK(result.code == 2);
    std::string flat;
    for (const auto& word : matches_of(result.err, "\\S+")) flat += (flat.empty() ? "" : " ") + word.front();
    CHECK_THAT(flat, says(bad.says_this));
    CHECK_FALSE(fs::exists(run));
  }
}

}  // namespace

TEST_CASE(
    "any mesh starts from the same weights, trains alike, counts what it sends, and leaves whole files") {
  const TempFolder folder;
  const Sets ten = {"train.steps=10"};
  const auto first = [&](const std::string& name) { return "train.save_init=" + (folder / name).string(); };
  REQUIRE(run_mesh(1, 1, folder / "1x1", with(ten, {first("1x1.first")})).code == 0);
  const std::map<int, double> alone = joint_losses(folder / "1x1");
  CHECK(alone.size() == 10);
  constexpr VitShape kMicro = {.height = 24, .width = 48, .embed = 96, .depth = 4, .heads = 2};
  for (const auto& [ranks, tp, tokens] :
       {std::tuple{2, 2, false}, {2, 1, false}, {4, 2, false}, {2, 2, true}}) {
    const std::string name = std::to_string(ranks) + "-" + std::to_string(tp) + (tokens ? "-tokens" : "");
    INFO(name);
    const fs::path run = folder / name;
    const ProcessResult result = run_mesh(
        ranks, tp, run,
        with(ten, {first(name + ".first"), tokens ? "mesh.sequence_parallel=true" : "run.fault=none"}));
    INFO(result.out << result.err);
    REQUIRE(result.code == 0);
    CHECK(apart(joint_losses(run), alone) <= kLoss);
    CHECK(read_text_file(folder / (name + ".first"), 1 << 24) ==
          read_text_file(folder / "1x1.first", 1 << 24));
    CHECK(difference_of_files(run / "weights.safetensors", folder / "1x1/weights.safetensors") < 1e-4);
    const Json valid = of_kind(stream_of(run, ranks - 1), "eval").back();
    CHECK(valid["samples"] == 8);
    CHECK(std::fabs(valid["loss"].as_number() -
                    of_kind(stream_of(folder / "1x1", 0), "eval").back()["loss"].as_number()) <= kLoss);
    CHECK(summary_of(run)["samples"] == 40);  // whatever the mesh: 10 steps of 4
    if (tp == 1) continue;
    const TensorParallelForm form{.tp = tp, .samples = 4 / (ranks / tp), .shares_tokens = tokens};
    const double planned = tensor_parallel_wire_bytes(kMicro, form);
    for (const Json& step : of_kind(stream_of(run, 1), "step")) {
      if (step["step"] == 0) {  // what follows the averaging is counted with the next step
        CHECK(step["tp_wire_bytes"].as_number() <= planned);  // of the scores before it nothing is
        CHECK(step["tp_calls"].as_integer() <= tensor_parallel_calls(kMicro, form));
        continue;
      }
      CHECK(std::fabs(step["tp_wire_bytes"].as_number() - planned) <= 0.05 * planned);
      CHECK(step["tp_calls"].as_integer() == tensor_parallel_calls(kMicro, form));
    }
    CHECK_THAT(result.out, says("mesh") && says("of 2 ranks each"));
  }
}

TEST_CASE("four ranks share a model of four heads") {
  const TempFolder folder;
  const Sets four = {"train.steps=4", "model.heads=4"};
  REQUIRE(run_mesh(1, 1, folder / "one", four).code == 0);
  REQUIRE(run_mesh(4, 4, folder / "four", four).code == 0);
  CHECK(apart(joint_losses(folder / "four"), joint_losses(folder / "one")) <= kLoss);
  CHECK(summary_of(folder / "four")["replicas"] == 1);
}

TEST_CASE("a run goes on to the bit on its mesh, and on any other with the same losses") {
  const TempFolder folder;
  const Sets eight = {"train.steps=8", "train.checkpoint_every=4"};
  const fs::path whole = folder / "whole";
  REQUIRE(run_mesh(2, 2, whole, eight).code == 0);
  const std::map<int, double> uninterrupted = joint_losses(whole);
  for (const auto& [ranks, tp] : {std::pair{2, 2}, {1, 1}, {2, 1}, {4, 2}}) {
    INFO(ranks << " ranks, tp " << tp);
    const fs::path run = folder / (std::to_string(ranks) + "-" + std::to_string(tp));
    fs::copy(whole, run, fs::copy_options::recursive);
    fs::remove_all(run / "checkpoints/step-000008");
    const ProcessResult result = resume_ranks(ranks, run, {"mesh.tp=" + std::to_string(tp)}, kLesson);
    INFO(result.out << result.err);
    REQUIRE(result.code == 0);
    const std::map<int, double> again = joint_losses(run);
    REQUIRE(again.size() == 8);
    for (const auto& [step, loss] : again) CHECK(std::fabs(loss - uninterrupted.at(step)) <= kLoss);
    if (tp == 2 && ranks == 2) CHECK(again == uninterrupted);
    if (tp == 2 && ranks == 2)
      CHECK(read_text_file(run / "weights.safetensors", 1 << 24) ==
            read_text_file(whole / "weights.safetensors", 1 << 24));
  }
}

TEST_CASE(
    "the memory of a rank is worked out within 10 %, and a cap below it refuses before anything starts") {
  const TempFolder folder;
  const Sets large = {"train.steps=2",      "model.patch=2",      "train.global_batch=4",
                      "data.limit_valid=4", "data.grid=[48, 96]", "data.root=" + data().string()};
  /// What rank 0 is to take.
  const auto check_memory = [&](int ranks, int tp, const std::string& more) {
    const std::string name = std::to_string(ranks) + "-" + std::to_string(tp) + more;
    const fs::path run = folder / name;
    const ProcessResult result = run_mesh(ranks, tp, run, with(large, {more}));
    INFO(name << result.err);
    REQUIRE(result.code == 0);
    for (int rank = 0; rank < ranks; ++rank) {
      const double predicted = summary_of(run, rank)["predicted_bytes"].as_number();
      const double measured = summary_of(run, rank)["peak_bytes"].as_number();
      WARN(name << ", rank " << rank << ": " << predicted * 1e-6 << " MB predicted, " << measured * 1e-6
                << " MB measured");
      CHECK(std::fabs(predicted - measured) <= 0.1 * measured);
    }
    return summary_of(run)["predicted_bytes"].as_number();
  };
  const double wanted = check_memory(1, 1, "run.fault=none");
  const std::string cap =
      "run.memory_cap=" + std::to_string(static_cast<std::int64_t>(0.8 * wanted / 1e6)) + "MB";
  const fs::path refused = folder / "refused";
  const ProcessResult result = run_mesh(1, 1, refused, with(large, {cap}));
  CHECK(result.code == 2);
  CHECK_FALSE(fs::exists(refused));
  CHECK_THAT(result.err,
             says("run.memory_cap") && says("activations") && says("these fit") && says("--ranks"));
  const auto meshes = matches_of(result.err, "--ranks ([0-9]+) --set\\s+mesh\\.tp=([0-9]+)");
  REQUIRE_FALSE(meshes.empty());
  const int ranks = std::stoi(meshes[0][1]), tp = std::stoi(meshes[0][2]);
  REQUIRE(ranks <= 4);
  check_memory(ranks, tp, cap);
  check_memory(2, 2, "mesh.sequence_parallel=true");
  if (std::getenv("ISOBAR_PRODUCTS") == nullptr) return;
  for (const int all : {2, 4}) check_memory(all, 2, "run.fault=none");
}

TEST_CASE("40 GiB hold the preset mp with 16 samples a model on four ranks, and not on one") {
  const auto asked = [&](int ranks, int tp) {
    return run_process({bin_folder(ISOBAR_BIN) + "/isobar-cli", "run", kLesson, "--preset", "mp", "--ranks",
                        std::to_string(ranks), "--set", "mesh.tp=" + std::to_string(tp), "--set",
                        "run.memory_cap=40GiB", "--set", "run.device=cpu", "--set", "amp.mode=none"});
  };
  const ProcessResult refused = asked(4, 1);
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err,
             says("run.memory_cap = 40GiB") && says("16 samples at a time") && says("mesh.tp=2"));
  const ProcessResult alone = asked(1, 1);
  CHECK_THAT(alone.err, says("64 samples at a time") && says("--ranks") && says("mesh.tp="));
  const ProcessResult fits = asked(16, 4);  // the data of that grid is what lacks then
  CHECK_THAT(fits.err, says("there is no data for the grid 360x720") && !says("memory_cap"));
}

TEST_CASE("meshes that do not fit are refused in words") {
  check_refused(
      {{3, {"mesh.tp=2"}, "3 ranks cannot form models of 2 ranks each"},
       {3, {"mesh.tp=3", "train.global_batch=3"}, "2 heads cannot be shared out over mesh.tp = 3"},
       {4, {"mesh.tp=2", "train.global_batch=5"}, "5 samples cannot be divided over 2 models of 2 ranks"},
       {2, {"mesh.tp=2", "mesh.order=tp-xp"}, "\"xp\" is no axis of the mesh"},
       {2, {"mesh.tp=2", "mesh.order=dp"}, "the axis tp has size 2 and is left out"},
       {2, {"mesh.tp=0"}, "mesh.tp"},
       {2, {"mesh.grad_dtype=8"}, "mesh.grad_dtype"},
       {1, {"mesh.sequence_parallel=true"}, "mesh.tp is 1"},
       {1, {"run.memory_cap=lots"}, "\"lots\" is no amount of memory"},
       {1, {"run.memory_cap=-1GiB"}, "is no amount of memory"}});
}

TEST_CASE("mistakes that a mesh has no place for are refused in words, and the others are made") {
  std::vector<Bad> all = {
      {2, {"run.fault=no_copy_f"}, "no_copy_f is one of layers that are split"},
      {1, {"run.fault=sum_gradients"}, "this process trains alone"},
      {4, {"mesh.tp=2", "run.fault=unequal_batch"}, "with mesh.tp = 2 the other ranks of its model"},
      {2, {"mesh.tp=2", "run.fault=same_seed_shards", "train.init=weights"}, "train.init brings them"},
      {2, {"run.fault=inject_inf", "run.fault_rank=2"}, "there is no rank 2"},
      {1, {"run.fault=no_shuffle", "data.shuffle=false"}, "data.shuffle is false"},
      {1, {"run.fault=no_set_epoch", "data.shuffle=false"}, "data.shuffle is false"},
      {2, {"mesh.tp=2", "run.fault=different_data_in_group", "data.shuffle=false"}, "data.shuffle is false"},
      {1,
       {"run.fault=lr_unscaled", "schedule.lr_rule=linear", "schedule.base_batch=4"},
       "a factor that is 1"}};
  for (const char* const fault : {"no_broadcast", "same_shard", "sum_gradients", "other_order"}) {
    all.push_back({2, {"mesh.tp=2", std::string("run.fault=") + fault}, "all 2 ranks share one model"});
  }
  check_refused(all);
  const TempFolder folder;
  for (const char* const fault : {"slow_rank", "rank0_log_only", "different_data_in_group"}) {
    const ProcessResult made = run_mesh(
        2, 2, folder / fault, {"train.steps=2", "run.fault_ms=1", std::string("run.fault=") + fault});
    INFO(made.out << made.err);
    CHECK(made.code == 0);
  }
}

TEST_CASE("of ranks that have a model each and drift apart, rank 0 leaves its weights") {
  const TempFolder folder;
  const fs::path run = folder / "run";
  // The other one comes to its end later.
  REQUIRE(run_mesh(2, 1, run,
                   {"train.steps=4", "train.checkpoint_every=4", "comm.sync=none", "run.fault=slow_rank",
                    "run.fault_ms=100"})
              .code == 0);
  CHECK(difference_of_files(run / "weights.safetensors", run / "checkpoints/step-000004/model.safetensors") ==
        0);
}

TEST_CASE("a mistake in split layers shows as weights of one model that drift apart") {
  const TempFolder folder;
  const fs::path run = folder / "run";
  REQUIRE(run_mesh(2, 2, run, {"train.steps=3", "run.fault=no_copy_f"}).code == 0);
  std::vector<double> distances;
  for (const Json& note : of_kind(stream_of(run, 1), "note"))
    if (note["text"] == "replicas") distances.push_back(note["apart"].as_number());
  REQUIRE(distances.size() >= 2);
  CHECK(distances.front() == 0);
  CHECK(distances.back() > 1e-6);
}

TEST_CASE("a rank of a model that is killed, or stops, ends all of them with its name") {
  const TempFolder folder;
  for (const Picks& c :
       cases_of({"kill_rank backward", "kill_rank checkpoint", "stop_rank forward"},
                products({{"kill_rank", "stop_rank"}, {"forward", "backward", "checkpoint"}}))) {
    INFO(c[0] << " in " << c[1]);
    const fs::path run = folder / (c[0] + c[1]);
    const ProcessResult result =
        run_mesh(4, 2, run,
                 {"train.steps=6", "train.checkpoint_every=3", "comm.timeout_s=20", "run.fault=" + c[0],
                  "run.fault_stage=" + c[1], "run.fault_step=3", "run.fault_rank=3"});
    INFO(result.out << result.err);
    CHECK(result.code != 0);
    CHECK_THAT(result.err.substr(std::min(result.err.size(), result.err.rfind("error: rank"))),
               says("rank 3"));
    CHECK(no_process_left(run));
  }
}

}  // namespace isobar::test_tensor_lesson
