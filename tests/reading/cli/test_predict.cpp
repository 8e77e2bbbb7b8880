// Predictions for the machine at hand, through the launcher, from rates that stand in for measured ones.

#include "cli/programs.h"
#include "config/load.h"
#include "core/json.h"
#include "core/machine.h"
#include "core/processors.h"
#include "formula/stage_prediction.h"
#include "pipeline/schedule.h"
#include "support/catch.h"
#include "support/made_rates.h"
#include "support/says.h"

namespace isobar::test_predict {

namespace fs = std::filesystem;

namespace {

/// The launcher in an empty folder, with a program that measures by copying `rates` and counts its calls.
class World {
 public:
  explicit World(const std::string& rates = to_toml(made_rates())) {
    fs::create_directories(work() / "runs");
    fs::create_directories(rates_file().parent_path());
    write_file_whole(folder() / "measured.toml", std::string_view(rates));
    programs_.script("isobar-rates", "echo once >> " + calls().string() + "; cp " +
                                         (folder() / "measured.toml").string() +
                                         " \"$ISOBAR_PREFIX/rates.toml\"");
  }
  ProcessResult run(std::vector<std::string> words) const {
    words.insert(words.begin(), "predict");
    return programs_.run(words, {.folder = work().string()});
  }
  Json json(std::vector<std::string> words) const {
    words.push_back("--json");
    const ProcessResult result = run(words);
    INFO(result.err);
    REQUIRE(result.code == 0);
    return Json::parse(result.out);
  }
  std::size_t times_measured() const {
    return fs::exists(calls()) ? read_text_file(calls(), 1000).size() / std::string("once\n").size() : 0;
  }
  Programs& programs() { return programs_; }
  fs::path folder() const { return programs_.folder().path(); }
  fs::path work() const { return folder() / "work"; }
  fs::path rates_file() const { return folder() / "prefix/rates.toml"; }

  /// A run of lesson 01 with these settings, finished on this machine, of 70 ms a step.
  void leave_run(const std::string& name, const std::vector<std::string>& sets,
                 const std::string& host) const {
    const LessonInfo lesson = read_lesson(project_home(), "01_baseline");
    const Config config = load_config(project_home(), lesson, {.sets = sets}, "cpu").config;
    const fs::path run = work() / "runs" / name;
    fs::create_directories(run);
    write_file_whole(run / "run.toml",
                     std::string_view(to_toml(config) + "[environment]\nhost = \"" + host + "\"\ncpu = \"" +
                                      cpu_name() + "\"\ndevice = \"cpu\"\n"));
    write_file_whole(
        run / "rank-0000.jsonl",
        std::string_view(R"({"kind":"run","schema":1,"lesson":"01_baseline","device":"cpu","pid":1})"
                         "\n"
                         R"({"kind":"summary","steps":40,"samples":160,"samples_per_s":57,"step_us":70000,)"
                         R"("load_us":7000,"forward_us":20000,"backward_us":30000,"optimize_us":13000})"
                         "\n"
                         R"({"kind":"end","status":"done","reason":""})"
                         "\n"));
  }

 private:
  fs::path calls() const { return folder() / "calls"; }
  Programs programs_;
};

}  // namespace

TEST_CASE("the machine is measured once, and again only when that is asked for") {
  const World world;
  const ProcessResult first = world.run({"01"});
  CHECK(first.code == 0);
  CHECK(world.times_measured() == 1);
  CHECK(world.run({"01"}).code == 0);
  CHECK(world.times_measured() == 1);
  CHECK(world.run({"01", "--measure"}).code == 0);
  CHECK(world.times_measured() == 2);
  CHECK_THAT(first.out, says("predicted by model") && says("this machine") && says("forward") &&
                            says("samples/s") && says("measured 2026-11-01T12:00:00Z") && says("memory") &&
                            says("weights") && says("so that no step waits for its batch") &&
                            says("not yet with these settings"));
  // Rates of another machine, such as of a login node with the same home, are none of this one.
  write_file_whole(world.rates_file(), std::string_view(to_toml(made_rates("another one, 96 processors"))));
  CHECK(world.run({"01"}).code == 0);
  CHECK(world.times_measured() == 3);
}

TEST_CASE("what is printed is what the formulas give, by stage") {
  const World world;
  const std::vector<std::string> sets = {"run.ranks=2", "comm.link.gbit_per_s=1"};
  const Json json = world.json({"06", "--set", sets[0], "--set", sets[1]});
  const LessonInfo lesson = read_lesson(project_home(), "06_ddp");
  const Config config = load_config(project_home(), lesson, {.sets = sets}, "cpu").config;
  const StepStages stages = predict_stages(lesson, config, made_rates(), processors_here());
  for (const auto& [stage, time_us] : stages.named())
    CHECK(json["stages"][stage + "_us"].as_number() == Approx(time_us));
  CHECK(json["step_us"].as_number() == Approx(stages.step_us()));
  CHECK(json["comm_total_us"].as_number() == Approx(stages.comm_total_us));
  CHECK(json["samples_per_s"].as_number() ==
        Approx(static_cast<double>(config.train.global_batch) / stages.step_us() * 1e6));
  CHECK(json["memory_bytes"]["weights"].as_number() > 0);
  CHECK(json["ranks"] == 2);
  CHECK_THAT(world.run({"06", "--ranks", "2"}).out, says("over 2 ranks") && says("a rank sends"));
}

TEST_CASE("a run of this machine with the same settings stands beside the prediction") {
  const World world;
  world.leave_run("other-settings", {"train.global_batch=8"}, host_name());
  world.leave_run("elsewhere", {}, "another-host");
  CHECK_FALSE(world.json({"01"}).contains("measured"));
  world.leave_run("here", {"train.steps=40"}, host_name());
  CHECK(world.json({"01"})["measured"]["run"] == "here");
  CHECK_THAT(world.run({"01"}).out, says("measured ms") && says("70.0") && says("by here"));
}

TEST_CASE("a run is shown beside what the kept rates predict for it") {
  World world;
  world.leave_run("here", {}, host_name());
  const auto show = [&](const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"show", "runs/here"};
    words.insert(words.end(), more.begin(), more.end());
    return world.programs().run(words, {.folder = world.work().string()}).out;
  };
  CHECK_THAT(show(), !says("by formula"));
  write_file_whole(world.rates_file(), std::string_view(to_toml(made_rates())));
  CHECK_THAT(show(), says("by formula") && says("and 70.00 were measured") && says("backward 30.00 ("));
  CHECK(Json::parse(show({"--json"}))["predicted"]["step_us"].as_number() ==
        Approx(world.json({"01"})["step_us"].as_number()));
  // Damaged rates leave the run as readable as it was; predict names the damage.
  write_file_whole(world.rates_file(), std::string_view("rubbish"));
  CHECK_THAT(show(), !says("by formula") && says("70"));
}

TEST_CASE("a prediction for this machine opens as a run that is marked") {
  World world;
  REQUIRE(world.run({"02", "--set", "data.throttle_mb_per_s=5", "--run-dir", "runs/p"}).code == 0);
  const ProcessResult shown = world.programs().run({"show", "runs/p"}, {.folder = world.work().string()});
  CHECK_THAT(shown.out, says("p  predicted by model for this machine") && says("load"));
}

TEST_CASE("rates that were measured beside other programs are marked") {
  MachineRates rates = made_rates();
  rates.processor_wait = 0.4;
  CHECK_THAT(World(to_toml(rates)).run({"01"}).out, says("other programs had the processors 40 %"));
}

TEST_CASE("predictions of clusters and their errors are drawn, and no other file is written over") {
  const World world;
  const std::string points = (project_home() / "lessons/published_scaling.toml").string();
  const std::vector<std::vector<std::string>> commands = {{"--against", points},
                                                          {"06", "--ranks", "8", "--cluster", "leonardo"}};
  write_file_whole(world.work() / "notes.svg", std::string_view("mine"));
  for (std::vector<std::string> words : commands) {
    INFO(words.front());
    CHECK(world.json(words).contains("svg") == false);
    words.insert(words.end(), {"--svg", "p.svg"});
    const ProcessResult drawn = world.run(words);  // the second time over a picture of ours
    CHECK(drawn.code == 0);
    CHECK_THAT(drawn.out, says("GPUs (logarithmic)") && says("p.svg"));
    const std::string svg = read_text_file(world.work() / "p.svg", 1 << 20);
    CHECK_THAT(svg, says(words.front() == "06" ? "06_ddp, weak scaling on clusters" : "how far off"));
    words.back() = "notes.svg";
    CHECK_THAT(world.run(words).err, says("is no picture of ours"));
    words.back() = "nowhere/p.svg";
    CHECK_THAT(world.run(words).err, says("there is no folder nowhere"));
  }
  CHECK(read_text_file(world.work() / "notes.svg", 10) == "mine");
  CHECK_THAT(world.run({"01", "--svg", "p.svg"}).err, says("the step of one device has no picture"));
}

TEST_CASE("what fits into a cap is listed by rate, and shared states alone as what they are") {
  const World world;
  const std::vector<std::string> asked = {
      "05_fusion", "--preset", "mp", "--device", "H200", "--set", "run.memory_cap=40GiB"};
  const Json answer = world.json(asked);
  CHECK(answer["limit_bytes"].as_integer() == std::int64_t{40} << 30);
  CHECK(answer["as_is"]["fits"] == false);
  REQUIRE(answer["states_alone"].values().size() == 3);
  for (const Json& way : answer["states_alone"].values()) CHECK(way["fits"] == false);
  double last = 1e9;
  REQUIRE_FALSE(answer["fits"].empty());
  for (const Json& way : answer["fits"].values()) {
    INFO(way["command"].as_text());
    CHECK(way["fits"] == true);
    CHECK_THAT(way["command"].as_text(), says("--preset mp") && !says("memory_cap"));
    if (way["ranks"].as_integer() != 1) continue;
    if (way["samples_per_s"] == Json()) {  // no rate counts what goes to host memory: behind all others
      last = 0;
      continue;
    }
    CHECK(way["samples_per_s"].as_number() <= last);
    last = way["samples_per_s"].as_number();
  }
  const std::string text = world.run(asked).out;
  CHECK_THAT(text, says("does not fit") && says("mesh.zero=3") && says("activations") && says("samples/s"));
  CHECK_THAT(text, says("Speed against memory: 05_fusion, preset mp, 64 samples a step") &&
                       says("The fastest that fits into 42.9 GB"));
  std::vector<std::string> drawn = asked;
  drawn.insert(drawn.end(), {"--svg", "front.svg"});
  CHECK(world.json(drawn)["svg"] == "front.svg");
  CHECK_THAT(read_text_file(world.work() / "front.svg", 1 << 20), says("fits into 42.9 GB"));
  // A cap that it keeps, no amount of memory, and one that nothing meets.
  CHECK_THAT(
      world.run({"05_fusion", "--preset", "mp", "--device", "H200", "--set", "run.memory_cap=200GiB"}).out,
      says("it fits"));
  const ProcessResult wrong = world.run({"05_fusion", "--set", "run.memory_cap=4x"});
  CHECK(wrong.code == 2);
  CHECK_THAT(wrong.err, says("no amount of memory") && says("40GiB"));
  CHECK_THAT(
      world.run({"05_fusion", "--preset", "mp", "--device", "H200", "--set", "run.memory_cap=1MiB"}).out,
      says("no change of these makes it fit"));
}

TEST_CASE("what cannot be predicted here is refused") {
  const World world;
  const auto refused = [](const World& where, std::vector<std::string> words, int code = 2) {
    const ProcessResult result = where.run(words);
    CHECK(result.code == code);
    CHECK(result.out.empty());
    return result.err;
  };
  CHECK_THAT(refused(world, {"08", "--device", "here"}), says("needs a GPU") && says("--device H200"));
  CHECK_THAT(refused(world, {"01", "--measure", "--device", "H100"}), says("only this machine is measured"));
  CHECK_THAT(refused(world, {"06", "--ranks", "0"}), says("--ranks"));
  CHECK_THAT(refused(world, {"01", "--ranks", "2"}), says("run.ranks"));
  CHECK_THAT(refused(world, {"16", "--set", "mesh.cp=163"}), says("162 tokens") && says("mesh.cp=162"));
  CHECK_THAT(refused(world, {"16", "--set", "mesh.cp=4", "--set", "mesh.cp_comm=a2a"}),
             says("2 heads") && says("another mesh.cp_comm"));
  CHECK_THAT(refused(world, {"17", "--ranks", "8", "--set", "mesh.gpus_per_model=3"}),
             says("8 ranks cannot form models of 3"));
  CHECK_THAT(refused(world, {"17", "--set", "mesh.gpus_per_model=4", "--set", "data.read_group=3"}),
             says("groups of 3 that read together") && says("1, 2 or 4"));
  write_file_whole(world.rates_file(), std::string_view("schema = 1\nmachine = 3\n"));
  CHECK_THAT(refused(world, {"01"}),
             says("machine = 3 is no rate") && says("rates.toml:2") && says("--measure"));

  World broken;
  broken.programs().script("isobar-rates", "exit 7");
  CHECK_THAT(refused(broken, {"01"}, 1), says("were not measured"));
  fs::remove(broken.folder() / "isobar-rates");
  CHECK_THAT(refused(broken, {"01"}, 1), says("is not built"));
}

TEST_CASE("a pipeline's step: who works when, what ranks hold and send, its schedule and its picture") {
  const World world;
  const std::vector<std::string> asked = {
      "15_pipeline",          "--preset", "cpu_micro",         "--set", "mesh.pp=4", "--set",
      "train.global_batch=8", "--set",    "train.accumulate=8"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> out = asked;
    out.insert(out.end(), more.begin(), more.end());
    return out;
  };
  const Json json = world.json(with({"--csv", "mine.csv", "--svg", "mine.svg"}));
  CHECK(json["pipeline"]["schedule"] == "1f1b");
  CHECK(json["pipeline"]["formula_of_step"].as_number() == Approx(3.0 / 11));
  CHECK(json["pipeline_ranks"].values().size() == 4);
  CHECK(json["pipeline_ranks"][0]["kept"].as_number() == 4);
  CHECK(json["pipeline_ranks"][3]["kept"].as_number() == 1);
  CHECK(json["boundaries"][2]["messages"].as_number() == 16);
  const std::string csv = read_text_file(world.work() / "mine.csv", 1 << 20);
  CHECK(csv == to_csv(make_schedule(PipelineForm::one_f_one_b, 4, 1, 8)));
  CHECK_THAT(read_text_file(world.work() / "mine.svg", 1 << 20), says("A step of 15_pipeline"));
  CHECK_THAT(world.run(with({})).out, says("rank 3") && says("beside the ideal") && says("behind stage") &&
                                          says("messages both ways"));
  CHECK_THAT(json["known_error"].as_text(), says("messages of pipelines here none is known"));
  CHECK(says("ranks that share processors").match(world.run(with({})).out) ==
        (json["pipeline"]["at_once"].as_number() < 4));
  // A run's own settings have a pipeline too.
  write_file_whole(world.work() / "run.toml", std::string_view("run.ranks = 2\nmesh.pp = 2\n"
                                                               "train.global_batch = 4\n"
                                                               "train.accumulate = 4\n"));
  const Json read = world.json({"15_pipeline", "--preset", "cpu_micro", "--config", "run.toml", "--csv",
                                "read.csv", "--svg", "read.svg"});
  CHECK(read["pipeline_ranks"].values().size() == 2);
  CHECK(read_text_file(world.work() / "read.csv", 1 << 20) ==
        to_csv(make_schedule(PipelineForm::one_f_one_b, 2, 1, 4)));
  // What was written is read again; a file that is there is not written over.
  CHECK(world.json(with({"--set", "mesh.schedule=file", "--set",
                         "mesh.schedule_file=mine.csv"}))["step_us"] == json["step_us"]);
  CHECK_THAT(world.run(with({"--csv", "mine.csv"})).err, says("mine.csv") && says("--replace"));
  CHECK_THAT(world.run({"15_pipeline", "--csv", "other.csv"}).err, says("only the step of a pipeline"));
  CHECK_THAT(world.run({"15_pipeline", "--set", "mesh.pp=1", "--svg", "other.svg"}).err,
             says("has no picture"));
  CHECK_THAT(world.run(with({"--ranks", "6"})).err, says("6 ranks cannot form models of 4"));
}

TEST_CASE("shared tokens: what each rank has, the four ways side by side, and split layers beside them") {
  const World world;
  const std::vector<std::string> asked = {
      "16", "--preset", "cpu_small", "--set", "mesh.cp=4", "--set", "train.global_batch=32"};
  const Json json = world.json(asked);
  CHECK(json["tokens"].values().size() == 4);
  CHECK(json["tokens"][0].as_number() == 72);
  REQUIRE(json["context_ways"].values().size() == 4);
  const auto bytes = [&](std::size_t way) { return json["context_ways"][way]["block_bytes"].as_number(); };
  CHECK(bytes(1) == Approx(1.5 * bytes(0)));
  CHECK(bytes(2) == Approx(1.5 * bytes(0)));
  CHECK(bytes(3) == Approx(bytes(0) / 2));
  CHECK(json["context_ways"][1]["memory_bytes"].as_number() <
        json["context_ways"][0]["memory_bytes"].as_number());
  const LessonInfo lesson = read_lesson(project_home(), "16_context_parallel");
  const std::vector<std::string> sets = {"mesh.cp=4", "run.ranks=4", "train.global_batch=32"};
  const Config config =
      load_config(project_home(), lesson, {.preset = "cpu_small", .sets = sets}, "cpu").config;
  const StepStages stages = predict_stages(lesson, config, made_rates(), processors_here());
  CHECK(json["step_us"].as_number() == Approx(stages.step_us()));
  CHECK(json["beside_tp"]["tokens_us"].as_number() == Approx(stages.step_us()));
  CHECK(json["beside_tp"]["layers_bytes"].as_number() > json["beside_tp"]["tokens_bytes"].as_number());
  CHECK_THAT(json["known_error"].as_text(), says("one published point of context parallel"));
  CHECK_THAT(world.run(asked).out, says("72, 72, 72, 72 of the 288") && says("gather *") &&
                                       says("gather_again") && says("a2a") && says("largest part") &&
                                       says("mesh.cp=4 takes") && says("mesh.tp=4") &&
                                       says("this prediction is not graded"));
  // Stages of a pipeline have a part of the blocks each, and other ends.
  std::vector<std::string> cut = asked;
  cut.insert(cut.end(), {"--set", "mesh.pp=2", "--set", "train.accumulate=4"});
  const Json stages_of_two = world.json(cut);
  CHECK(stages_of_two["context_ways"][0]["block_bytes"].as_number() == Approx(bytes(0) / 2));
  CHECK_THAT(world.run(cut).out, says("(first stage)") && says("(last stage)"));
  // Heads that are not shared out, and a window, which has one way.
  CHECK_THAT(world.run({"16", "--preset", "cpu_tiny", "--set", "mesh.cp=3"}).out,
             says("2 heads of a rank are not shared out over 3") && says("not shared out over mesh.tp = 3"));
  const ProcessResult halo =
      world.run({"16", "--preset", "cpu_tiny", "--set", "mesh.cp=2", "--set", "model.window=9"});
  CHECK_THAT(halo.out, says("halo *") && !says("gather") && says("with mesh.tp there is no window"));
}

TEST_CASE("groups: models, replicas, members, the effective batch, and who reads what") {
  const World world;
  const std::vector<std::string> asked = {"17",
                                          "--ranks",
                                          "8",
                                          "--set",
                                          "mesh.gpus_per_model=2",
                                          "--set",
                                          "mesh.gpus_per_ensemble=4",
                                          "--set",
                                          "mesh.members_per_device=2",
                                          "--set",
                                          "data.read_group=2",
                                          "--set",
                                          "train.rollout=2"};
  const Json json = world.json(asked);
  const Json& groups = json["groups"];
  CHECK(groups["replicas"].as_number() == 2);
  CHECK(groups["members"].as_number() == 4);
  CHECK(groups["ranks_of_model"].as_number() == 2);
  CHECK(groups["effective_batch"].as_number() == groups["loader_batch"].as_number() *
                                                     groups["replicas"].as_number() *
                                                     groups["accumulate"].as_number());
  CHECK(groups["ensemble_bytes"].as_number() > 0);
  REQUIRE(json["read_groups"].values().size() == 2);
  const Json &alone = json["read_groups"][0], &together = json["read_groups"][1];
  CHECK(together["file_bytes"].as_number() == alone["file_bytes"].as_number() / 2);
  CHECK(together["gather_bytes"].as_number() == together["file_bytes"].as_number());
  CHECK(alone["gather_bytes"].as_number() == 0);
  CHECK_THAT(world.run(asked).out, says("8 ranks = 2 replicas x 2 models x 2 ranks") &&
                                       says("4 = 2 a model x 2 models") && says("2 forecasts") &&
                                       says("of the loader x 2 replicas") && says("data.read_group"));
  CHECK_THAT(json["known_error"].as_text(), says("no published point of ensembles"));
  // A slow disk and a quick link: all ranks of a model together, as was published. The other way round:
  // alone.
  const auto best = [](double read, double link) {
    MachineRates rates = made_rates();
    rates.read_bytes_per_s = read;
    rates.link = {.latency_us = 1, .bytes_per_us = link};
    const World there(to_toml(rates));
    return there.json({"17", "--set", "mesh.gpus_per_model=4"})["best_read_group"].as_number();
  };
  CHECK(best(1e9, 230'000) == 4);
  CHECK(best(20e9, 100) == 1);
}

}  // namespace isobar::test_predict
