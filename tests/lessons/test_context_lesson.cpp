// Lesson 16 as a learner runs it: ranks that share tokens train as one process does, by every way of passing
// what attention needs and on any mesh, and end together.
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "formula/context_parallel.h"
#include "formula/model_shape.h"
#include "lessons/compared_runs.h"
#include "lessons/refused.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/pairs.h"

namespace isobar::test_context_lesson {

namespace fs = std::filesystem;

namespace {

constexpr const char* kLesson = "16_context_parallel";

using Sets = std::vector<std::string>;

/// 12 heads; 8 samples a step.
const Sets kTiny = {"train.steps=10", "train.global_batch=8", "data.limit_valid=8",
                    "model.embed=48", "model.heads=12",       "model.depth=2"};

/// Grids whose tokens are even shares, or not: 18 = 6 + 6 + 6, 15 = 8 + 7, 8 = 3 + 3 + 2, 18 = 5 + 5 + 5 + 3.
const std::map<std::string, std::string> kGrids = {{"2 even", "[24, 48]"}, {"2 uneven", "[24, 40]"},
                                                   {"3 even", "[24, 48]"}, {"3 uneven", "[16, 32]"},
                                                   {"4 even", "[16, 32]"}, {"4 uneven", "[24, 48]"}};

bool has_every_product() { return std::getenv("ISOBAR_PRODUCTS") != nullptr; }

ProcessResult run_mesh(int ranks, const fs::path& run, const Sets& sets) {
  return run_ranks(ranks, run, with(kTiny, sets), {}, kLesson);
}

void train_mesh(int ranks, const fs::path& run, const Sets& sets) {
  const ProcessResult result = run_mesh(ranks, run, sets);
  INFO(result.out << result.err);
  REQUIRE(result.code == 0);
}

std::string weights_of(const fs::path& run) { return read_text_file(run / "weights.safetensors", 1 << 24); }

std::vector<Json> steps_of(const fs::path& run, int rank) { return of_kind(stream_of(run, rank), "step"); }

std::vector<Json> apart_of(const fs::path& run, int rank) {
  std::vector<Json> out;
  for (const Json& note : of_kind(stream_of(run, rank), "note"))
    if (note["text"] == "replicas") out.push_back(note);
  return out;
}

/// Ten steps of `run`, beside those of one process.
void check_equal(const fs::path& run, const fs::path& alone, int ranks) {
  INFO(run.filename().string());
  CHECK(joint_losses(run).size() == 10);
  CHECK(apart(joint_losses(run), joint_losses(alone)) <= 1e-5);
  CHECK(difference_of_files(run / "weights.safetensors", alone / "weights.safetensors") < 1e-5);
  CHECK(summary_of(run)["samples"] == 80);  // whatever the mesh
  const double loss = of_kind(stream_of(alone, 0), "eval").back()["loss"].as_number();
  for (int rank = 0; rank < ranks; ++rank)
    CHECK(std::fabs(of_kind(stream_of(run, rank), "eval").back()["loss"].as_number() - loss) <= 1e-5);
}

/// What rank `rank` of these sends in a step of kTiny, by the formula.
ContextStep planned(const std::string& grid, ContextParallelForm form, std::int64_t window, int rank) {
  Config config;
  config.data.grid = {std::stoll(grid.substr(1)), std::stoll(grid.substr(grid.find(' ')))};
  config.model.patch = 8;
  config.model.embed = 48;
  config.model.heads = 12;
  config.model.depth = 2;
  config.model.window = window;
  form.samples = 8;
  return context_step(vit_shape(config), form, rank);
}

}  // namespace

TEST_CASE("ranks that share tokens train as one process does, by every way, and send what the formula has") {
  const TempFolder folder;
  std::map<std::string, fs::path> alone;  // by grid and window
  for (const Picks& c :
       pairs({{"2", "3", "4"}, {"even", "uneven"}, {"gather", "gather_again", "ring", "a2a", "halo"}})) {
    const bool has_window = c[2] == "halo";
    const std::string grid = kGrids.at(c[0] + " " + c[1]);
    const Sets sets = {"data.grid=" + grid, has_window ? "model.window=2" : "model.window=0"};
    fs::path& one = alone[grid + (has_window ? "2" : "0")];
    if (one.empty()) {
      one = folder / ("alone-" + std::to_string(alone.size()));
      train_mesh(1, one, sets);
    }
    const fs::path run = folder / (c[0] + c[1] + c[2]);
    const int ranks = std::stoi(c[0]);
    const std::string way = has_window ? "gather" : c[2];
    train_mesh(ranks, run, with(sets, {"mesh.cp=" + c[0], "mesh.cp_comm=" + way}));
    check_equal(run, one, ranks);
    for (int rank = 0; rank < ranks; ++rank) {
      const ContextStep plan =
          planned(grid, {.cp = ranks, .way = *choice_named<ContextForm>(way)}, has_window ? 2 : 0, rank);
      const Json step = steps_of(run, rank).back();
      CHECK(step["cp_wire_bytes"].as_number() == Approx(plan.bytes()).margin(0.5));
      CHECK(step["cp_calls"].as_integer() == plan.calls);
      CHECK(step["wire_bytes"].as_number() >= plan.bytes());
      CHECK(step["cp_forward_wait_us"].as_integer() >= 0);
    }
  }
}

TEST_CASE("meshes of several axes train as one process does, with shared states too") {
  struct Form {
    std::string name;
    int ranks = 1;
    Sets sets;
  };
  // tp x cp; cp x pp; cp x dp; uneven cp x dp; tp x cp x dp; tp x cp x pp; cp x pp x dp; all four.
  const std::vector<Form> core = {
      {"tp-cp", 4, {"mesh.tp=2", "mesh.cp=2", "mesh.cp_comm=ring"}},
      {"cp-pp", 4, {"mesh.cp=2", "mesh.pp=2", "train.accumulate=2"}},
      {"cp-dp", 4, {"mesh.cp=2", "mesh.zero=1"}},
      {"tp-cp-dp", 8, {"mesh.tp=2", "mesh.cp=2", "mesh.zero=1", "mesh.cp_comm=a2a"}},
  };
  const std::vector<Form> more = {
      {"cp4-dp", 8, {"mesh.cp=4", "mesh.zero=1", "mesh.cp_comm=gather_again"}},
      {"tp-cp-pp", 8, {"mesh.tp=2", "mesh.cp=2", "mesh.pp=2", "train.accumulate=4", "mesh.schedule=zb_h1"}},
      {"cp-pp-dp",
       8,
       {"mesh.cp=2", "mesh.pp=2", "mesh.zero=1", "train.accumulate=2", "mesh.cp_comm=ring",
        "mesh.order=cp-dp-pp-tp"}},
      {"all", 16, {"mesh.tp=2", "mesh.cp=2", "mesh.pp=2", "mesh.zero=1", "train.accumulate=2"}},
  };
  const TempFolder folder;
  train_mesh(1, folder / "alone", {});
  const auto check = [&](const Form& form) {
    INFO(form.name);
    train_mesh(form.ranks, folder / form.name, form.sets);
    check_equal(folder / form.name, folder / "alone", form.ranks);
  };
  for (const Form& form : core) check(form);
  if (!has_every_product()) return;
  for (const Form& form : more) check(form);
  check({"computed-again", 2, {"mesh.cp=2", "mesh.cp_comm=ring", "model.checkpoint=block"}});
  const ContextStep again = planned("[24, 48]", {.cp = 2, .way = ContextForm::ring, .again = true}, 0, 1);
  const Json step = steps_of(folder / "computed-again", 1).back();
  CHECK(step["cp_wire_bytes"].as_number() == Approx(again.bytes()).margin(0.5));
  CHECK(step["cp_calls"].as_integer() == again.calls);
  // In 16 bits as far apart as two orders of sums are.
  train_mesh(1, folder / "half", {"amp.mode=bf16"});
  train_mesh(3, folder / "half-tokens", {"amp.mode=bf16", "mesh.cp=3", "mesh.cp_comm=ring"});
  CHECK(apart(joint_losses(folder / "half-tokens"), joint_losses(folder / "half")) <= 1e-4);
}

TEST_CASE("a run prints what its ranks share, and halos do not grow with them") {
  const TempFolder folder;
  const auto halo_bytes = [&](int ranks, const std::string& printed) {
    const fs::path run = folder / std::to_string(ranks);
    const ProcessResult result =
        run_mesh(ranks, run, {"mesh.cp=" + std::to_string(ranks), "model.window=2", "train.steps=3"});
    INFO(result.out << result.err);
    REQUIRE(result.code == 0);
    CHECK_THAT(result.out, says("x cp " + std::to_string(ranks)) && says(printed));
    // A rank between two others: what its blocks send, without what is gathered and summed once.
    const ContextStep plan = planned("[24, 48]", {.cp = ranks}, 2, 1);
    return steps_of(run, 1).back()["cp_wire_bytes"].as_number() - plan.share_bytes - plan.unite_bytes -
           plan.sum_bytes;
  };
  const double three = halo_bytes(3, "6 6 6 of 18 tokens; halos of 2");
  const double four = halo_bytes(4, "5 5 5 3 of 18 tokens; halos of 2");
  CHECK(three == Approx(four).margin(0.5));
  CHECK(four <= 2 * 8 * 8 * 2 * 48 * 4);  // blocks x 8 B w E v
}

TEST_CASE("a run of shared tokens continues on any mesh: to the bit where sums keep their order") {
  const TempFolder folder;
  const fs::path whole = folder / "whole";
  const Sets six = {"train.steps=6", "train.checkpoint_every=3"};
  train_mesh(2, whole, with(six, {"mesh.cp=2"}));
  const auto again = [&](const std::string& name, int ranks, const Sets& sets, const fs::path& from) {
    INFO(name);
    const fs::path run = folder / name;
    fs::copy(from, run, fs::copy_options::recursive);
    fs::remove_all(run / "checkpoints/step-000006");
    fs::remove(run / "weights.safetensors");
    const ProcessResult result = resume_ranks(ranks, run, sets, kLesson);
    INFO(result.out << result.err);
    REQUIRE(result.code == 0);
    CHECK_THAT(result.out, says("after step 3"));
    CHECK(apart(joint_losses(run), joint_losses(whole)) <= 1e-5);
    CHECK(difference_of_files(run / "weights.safetensors", whole / "weights.safetensors") < 1e-5);
    return weights_of(run);
  };
  const std::string expected = weights_of(whole);
  CHECK(again("gathered-again", 2, {"mesh.cp_comm=gather_again"}, whole) == expected);
  CHECK(again("stages", 4, {"mesh.pp=2"}, whole) == expected);
  again("four", 4, {"mesh.cp=4"}, whole);
  if (!has_every_product()) return;
  again("alone", 1, {"mesh.cp=1"}, whole);
  again("alone-four", 4, {"mesh.cp=4"}, folder / "alone");
  const fs::path layers = folder / "layers";
  train_mesh(2, layers, with(six, {"mesh.tp=2"}));
  again("from-layers", 2, {"mesh.tp=1", "mesh.cp=2"}, layers);
  const fs::path shares = folder / "shares";
  train_mesh(4, shares, with(six, {"mesh.cp=2", "mesh.zero=1"}));
  again("from-shares", 2, {"mesh.cp=1", "mesh.zero=0"}, shares);
  again("to-shares", 4, {"mesh.zero=1"}, whole);
}

TEST_CASE("one rank writes a checkpoint of ranks that share tokens, with states that replicas share") {
  const TempFolder folder;
  const fs::path run = folder / "run";
  train_mesh(4, run, {"mesh.cp=2", "mesh.zero=1", "train.steps=2", "train.checkpoint_every=2"});
  std::vector<std::string> files;
  for (const fs::directory_entry& file : fs::directory_iterator(run / "checkpoints/step-000002"))
    if (file.path().filename().string().starts_with("states-")) files.push_back(file.path().filename());
  std::sort(files.begin(), files.end());
  CHECK(files ==
        std::vector<std::string>{"states-0001-of-0002.safetensors", "states-0002-of-0002.safetensors"});
}

TEST_CASE("the mistakes of lesson 16 are reported, and show in figures") {
  const TempFolder folder;
  const Sets few = {"mesh.cp=4", "train.steps=4"};
  train_mesh(4, folder / "right", few);
  CHECK(apart_of(folder / "right", 1).empty());
  const auto made = [&](const std::string& fault) {
    const ProcessResult result = run_mesh(4, folder / fault, with(few, {"run.fault=" + fault}));
    INFO(result.out << result.err);
    CHECK(result.code == 0);
    CHECK_THAT(result.out, says(fault));
    return folder / fault;
  };
  const auto figure = [&](const fs::path& run, int step, const char* key) {
    return steps_of(run, 0)[static_cast<std::size_t>(step)][key].as_number();
  };
  const double norm = figure(folder / "right", 0, "grad_norm");
  const fs::path unsummed = made("no_cp_reduce");  // the first gradient is too short, and then weights part
  CHECK(figure(unsummed, 0, "loss") == Approx(figure(folder / "right", 0, "loss")).epsilon(1e-6));
  CHECK(figure(unsummed, 0, "grad_norm") < norm);
  CHECK(apart_of(unsummed, 1).front()["apart"].as_number() == 0);
  CHECK(apart_of(unsummed, 1).back()["apart"].as_number() > 1e-5);
  const fs::path all = made("reduce_all");  // ranks stay equal, and nothing but the length shows it at first
  CHECK(figure(all, 0, "loss") == Approx(figure(folder / "right", 0, "loss")).epsilon(1e-6));
  CHECK(figure(all, 0, "grad_norm") > 1.2 * norm);
  const fs::path even = made("assume_even");  // losses hide it, a comparison with equal training does not
  CHECK(apart_of(even, 1).empty());
  CHECK(difference_of_files(even / "weights.safetensors", folder / "right" / "weights.safetensors") > 1e-4);
  const fs::path unequal = made("no_init_sync");
  CHECK(apart_of(unequal, 1).front()["apart"].as_number() > 1e-2);
  CHECK(apart_of(unequal, 0).front()["apart"].as_number() == 0);
  CHECK(std::fabs(figure(unequal, 0, "loss") - figure(folder / "right", 0, "loss")) > 1e-5);
}

TEST_CASE("a rank that shares tokens is lost, and all of them end with its name") {
  const TempFolder folder;
  for (const Picks& c : cases_of({"kill_rank backward gloo ring"}, products({{"kill_rank", "stop_rank"},
                                                                             {"forward", "backward", "comm"},
                                                                             {"ring", "gloo"},
                                                                             {"gather", "ring", "a2a"}}))) {
    INFO(c[0] << " in " << c[1] << ", " << c[2] << ", " << c[3]);
    const fs::path run = folder / (c[0] + c[1] + c[2] + c[3]);
    const std::string patience =
        c[0] == "stop_rank" ? "20" : "300";  // nothing but time shows a rank that stops
    const ProcessResult result =
        run_mesh(3, run,
                 {"mesh.cp=3", "train.steps=6", "comm.timeout_s=" + patience, "run.fault=" + c[0],
                  "run.fault_stage=" + c[1], "run.fault_step=3", "run.fault_rank=2", "comm.backend=" + c[2],
                  "mesh.cp_comm=" + c[3]});
    INFO(result.out << result.err);
    CHECK(result.code != 0);
    CHECK_THAT(result.err.substr(std::min(result.err.size(), result.err.rfind("error: rank"))),
               says("rank 2"));
    CHECK(no_process_left(run));
  }
}

TEST_CASE("a stop that reaches one of the ranks that share tokens in validation stops all of them") {
  if (!has_every_product()) return;
  const TempFolder folder;
  const fs::path run = folder / "run";
  const auto validates = [&] {
    const std::optional<RankStatus> status = read_rank_status(run, 1);
    if (!status || status->process != RankProcess::runs || status->stage != "validating") return false;
    return kill(static_cast<pid_t>(status->pid), SIGTERM) == 0;
  };
  const Sets slow = {"mesh.cp=2", "data.limit_valid=0", "data.throttle_mb_per_s=1", "train.steps=2"};
  const ProcessResult result =
      run_ranks(2, run, with(kTiny, slow), {.signal = 0, .interrupt_when = validates}, kLesson);
  INFO(result.out << result.err);
  CHECK(result.code == 75);
  CHECK(of_kind(stream_of(run, 0), "eval").size() < 2);  // it came to the first one, or to the last
  CHECK(no_process_left(run));
}

TEST_CASE("shares of tokens that fit nothing end with exit code 2, and what would fit") {
  const auto refused = [](Sets sets) {
    return refusal(kLesson, with({"run.ranks=4", "model.embed=48", "model.heads=12"}, sets));
  };
  CHECK_THAT(refused({"mesh.cp=4", "data.grid=[8, 24]"}),
             says("3 tokens cannot be shared out over mesh.cp = 4") && says("mesh.cp=3 at most"));
  CHECK_THAT(refused({"mesh.cp=4", "mesh.cp_comm=a2a", "model.heads=6"}),
             says("the 6 heads of a rank over mesh.cp = 4") && says("model.heads / mesh.tp = 6"));
  CHECK_THAT(refused({"mesh.cp=4", "model.window=19"}),
             says("with 18 tokens") && says("model.window=18 at most"));
  CHECK_THAT(refused({"mesh.cp=3"}),
             says("4 ranks cannot form models of 3 ranks") && says("mesh.tp x mesh.cp x mesh.pp"));
  CHECK_THAT(refused({"mesh.tp=2", "mesh.cp=2", "mesh.sequence_parallel=true"}),
             says("mesh.sequence_parallel=false"));
  CHECK_THAT(refused({"mesh.cp_comm=pass"}), says("one of: gather"));
  CHECK_THAT(refused({"model.dropout=0.1"}), says("does not honour model.dropout"));
  CHECK_THAT(refused({"mesh.gpus_per_model=2"}), says("mesh.gpus_per_model"));
  const TempFolder folder;
  const ProcessResult even = run_mesh(2, folder / "even", {"mesh.cp=2", "run.fault=assume_even"});
  CHECK(even.code == 2);
  CHECK_THAT(even.err, says("with mesh.cp = 2 they are even"));
  const ProcessResult none = run_mesh(2, folder / "none", {"run.fault=no_cp_reduce"});
  CHECK(none.code == 2);
  CHECK_THAT(none.err, says("mesh.cp is 1"));
}

}  // namespace isobar::test_context_lesson
