// Runs of machines that are not here, through the launcher: predicted, recorded, and shown where a lesson
// cannot run.
#include <sstream>

#include "cli/programs.h"
#include "core/json.h"
#include "core/nvidia.h"
#include "core/text.h"
#include "support/catch.h"
#include "support/errors.h"

namespace isobar::test_recorded {

namespace fs = std::filesystem;

namespace {

/// A project with a lesson that needs a GPU, and the launcher working in an empty folder.
class World {
 public:
  World() {
    fs::create_directories(lesson());
    fs::copy(project_home() / "lessons/base.toml", home() / "lessons/base.toml");
    fs::copy(project_home() / "lessons/presets", home() / "lessons/presets");
    write_file_whole(
        lesson() / "lesson.toml",
        std::string_view(
            "title = \"Graphs\"\nneeds = \"cuda\"\n"
            "introduces = [\"graph.enabled\", \"graph.scope\", \"fusion.adam\", \"fusion.bias_gelu\", "
            "\"fusion.residual_norm\", \"fusion.qkv\", \"fusion.head_loss\", \"fusion.grad_norm\", "
            "\"amp.mode\", \"loader.kind\", \"data.grid\", \"data.limit_train\", \"data.limit_valid\", "
            "\"model.depth\", \"model.patch\", \"optim.lr\", \"model.attention\", \"model.heads\", "
            "\"model.embed\", "
            "\"train.global_batch\", \"train.steps\", \"run.device\", \"train.resume\"]\n"
            "[presets]\ncuda = \"short\"\n[overrides]\nloader.kind = \"gpu\"\namp.mode = \"bf16\"\n"));
    fs::create_directories(work());
  }
  ProcessResult run(const std::vector<std::string>& words) const {
    return programs_.run(words,
                         {.environment = {"ISOBAR_HOME=" + home().string()}, .folder = work().string()});
  }
  fs::path home() const { return programs_.folder() / "home"; }
  fs::path lesson() const { return home() / "lessons/08_gpu"; }
  fs::path work() const { return programs_.folder() / "work"; }
  Programs& programs() { return programs_; }

  /// A finished run below runs/, as a lesson leaves it.
  void leave_run(const std::string& name, const std::string& device_is,
                 const std::string& lesson_name = "08_gpu", const std::string& end = "done") const {
    const fs::path folder = work() / "runs" / name;
    fs::create_directories(folder);
    write_file_whole(
        folder / "run.toml",
        std::string_view("[environment]\nhost = \"secret\"\ndevice_is = \"" + device_is + "\"\n"));
    std::string text =
        R"({"kind":"run","schema":1,"lesson":")" + lesson_name +
        R"(","host":"secret","device":"cuda:0","pid":1,"wanted_steps":300,"started":"2026-11-21T10:00:00Z"})"
        "\n{\"kind\":\"note\",\"steps_per_epoch\":8}\n";
    for (int i = 0; i < 300; ++i)
      text += R"({"kind":"step","step":)" + std::to_string(i) + R"(,"t_us":)" + std::to_string(1000 * i) +
              R"(,"samples":16,"replay_us":900,"step_us":1000,"loss":0.5})" + "\n";
    text += R"({"kind":"summary","steps":300,"samples":4800,"loss":0.5,"samples_per_s":16000,"step_us":1000})"
            "\n{\"kind\":\"end\",\"status\":\"" +
            end + "\",\"reason\":\"\"}\n";
    write_file_whole(folder / "rank-0000.jsonl", std::string_view(text));
  }

 private:
  Programs programs_;
};

}  // namespace

TEST_CASE("a prediction is printed, as JSON too, and follows the keys of the lesson") {
  const World world;
  const ProcessResult page = world.run({"predict", "08_gpu"});
  REQUIRE(page.code == 0);
  CHECK_THAT(page.out, says("08_gpu, preset short on H200, predicted by model") &&
                           says("bound by     attention") && says("graph of the whole step") &&
                           says("known error"));
  const auto json = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"predict", "08_gpu", "--json"});
    const ProcessResult result = world.run(words);
    INFO(result.err);
    REQUIRE(result.code == 0);
    return Json::parse(result.out);
  };
  const Json graph = json({});
  CHECK(graph["provenance"] == "predicted by model for H200");
  CHECK(graph["step_us"].as_number() == Approx(81'500).epsilon(0.01));
  CHECK(graph["samples_per_s"].as_number() == Approx(196).epsilon(0.01));
  CHECK(json({"--device", "A100", "--set", "graph.enabled=false"})["step_us"].as_number() ==
        Approx(199'000).epsilon(0.01));
  const Json plain = json({"--set", "fusion.qkv=false"});
  CHECK(plain["step_us"].as_number() > graph["step_us"].as_number());
  const Json small = json({"--preset", "cpu_micro", "--set", "graph.enabled=false"});
  CHECK(small["bound"] == "host (launch)");
  const Json recorded = json({"--preset", "cpu_micro"});
  CHECK(recorded["step_us"].as_number() ==
        Approx(small["step_us"].as_number() - small["graph_gain_us"].as_number()));
  // A lesson without the keys has none of the pieces.
  const ProcessResult baseline = run_process({ISOBAR_CLI, "predict", "01_baseline", "--device", "A100"});
  CHECK_THAT(baseline.out, says("tf32, efficient attention, nothing fused, launched one by one") &&
                               says("upload") && says("recorded on A100-40GB (2025"));
}

TEST_CASE("what cannot be predicted is refused") {
  const World world;
  const auto refused = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "predict");
    const ProcessResult result = world.run(words);
    CHECK(result.code == 2);
    CHECK(result.out.empty());
    return result.err;
  };
  CHECK_THAT(refused({}), says("which lesson?") && says("08_gpu"));
  CHECK_THAT(refused({"08_gpuu"}), says("mean 08_gpu?"));
  CHECK_THAT(refused({"08_gpu", "--device", "V100"}), says("\"V100\"") && says("A100-40GB, H100, H200"));
  CHECK_THAT(refused({"08_gpu", "--device"}), says("--device what?"));
  CHECK_THAT(refused({"08_gpu", "--devcie", "H100"}), says("mean --device?"));
  CHECK_THAT(refused({"08_gpu", "--set", "model.attention=math"}),
             says("no rate is known for math attention"));
  CHECK_THAT(refused({"08_gpu", "--set", "model.heads=2"}), says("heads of 192 values"));
  CHECK_THAT(refused({"08_gpu", "--set", "graph.enable=true"}), says("mean graph.enabled?"));
  CHECK_THAT(run_process({ISOBAR_CLI, "predict", "06_ddp", "--device", "H200", "--set", "run.ranks=2"}).err,
             says("the step of one device"));
  CHECK_THAT(refused({"08_gpu", "--set", "train.resume=x"}), says("resumes nothing"));
  fs::create_directories(world.work() / "taken");
  write_file_whole(world.work() / "taken/thesis.txt", std::string_view("mine"));
  CHECK_THAT(refused({"08_gpu", "--run-dir", "taken"}), says("is not empty"));
  CHECK(read_text_file(world.work() / "taken/thesis.txt", 10) == "mine");
}

TEST_CASE("what a device has no memory for is not predicted") {
  const auto predict = [](const std::vector<std::string>& more) {
    std::vector<std::string> words = {ISOBAR_CLI, "predict"};
    words.insert(words.end(), more.begin(), more.end());
    return run_process(words);
  };
  for (const char* const batch : {"65536", "999999999"}) {
    for (const char* const lesson : {"01_baseline", "04_amp"}) {
      const ProcessResult refused = predict({lesson, "--device", "A100-40GB", "--preset", "base", "--set",
                                             "train.global_batch=" + std::string(batch)});
      CHECK(refused.code == 2);
      CHECK_THAT(refused.err,
                 says("a rank would need more memory than an A100-40GB (42.5 GB)") && says("activations"));
    }
  }
  // What the tutorial trained on one fits.
  CHECK(predict({"01_baseline", "--device", "A100-40GB", "--preset", "base"}).code == 0);
}

TEST_CASE("a predicted run opens like any other and is marked wherever it is named") {
  const World world;
  REQUIRE(world.run({"predict", "08_gpu", "--set", "graph.enabled=false", "--run-dir", "runs/p"}).code == 0);
  const ProcessResult shown = world.run({"show", "p"});
  CHECK(shown.code == 0);
  CHECK_THAT(shown.out, says("p  predicted by model for H200") && says("with         graph.enabled=false") &&
                            says("samples/s, MFU") && says("dense peak of ") && says("by data sheet"));
  CHECK(shown.out.find("train loss") == std::string::npos);
  CHECK(shown.out.find("measured") == std::string::npos);
  const Json json = Json::parse(world.run({"show", "p", "--json"}).out);
  CHECK(json["provenance"] == "predicted by model for H200");
  CHECK_FALSE(json.contains("loss"));
  CHECK(json["samples_per_s"].as_number() == Approx(196).epsilon(0.01));
  CHECK_THAT(world.run({"runs"}).out, says("predicted"));
  CHECK_THAT(read_text_file(world.work() / "runs/p/run.toml", 100'000),
             says("Predicted by model for H200; nobody ran it. Made by: ./isobar predict 08_gpu --set "
                  "graph.enabled=false\n"));
  CHECK(fs::file_size(world.work() / "runs/p/rank-0000.jsonl") < 5000);
}

TEST_CASE("a run is recorded from one that is there, once for a device and name") {
  const World world;
  world.leave_run("one", "NVIDIA H200, 150.1 GB, driver 580.65.06");
  const ProcessResult result = world.run({"record", "08_gpu", "--from", "one"});
  REQUIRE(result.code == 0);
  CHECK_THAT(result.out, says("recorded on NVIDIA H200, 2026-11-21: 300 of 300 steps"));
  const fs::path kept = world.lesson() / "recorded/h200-2026-11-21";
  REQUIRE(fs::exists(kept / "rank-0000.jsonl"));
  CHECK(read_text_file(kept / "rank-0000.jsonl", 1'000'000).find("secret") == std::string::npos);
  CHECK_THAT(world.run({"show", kept.string()}).out,
             says("recorded on NVIDIA H200, 2026-11-21") && says("16000.0"));
  CHECK_THAT(world.run({"show", "08_gpu", "--recorded"}).out,
             says("h200-2026-11-21  recorded on NVIDIA H200"));
  const ProcessResult again = world.run({"record", "08_gpu", "--from", "one"});
  CHECK(again.code == 2);
  CHECK_THAT(again.err, says("is recorded already") && says("--replace") && says("--as NAME"));
  fs::create_directories(kept / "plots");
  write_file_whole(kept / "plots/mine.txt", std::string_view("thesis"));
  CHECK(world.run({"record", "08_gpu", "--from", "one", "--replace"}).code == 0);
  CHECK(read_text_file(kept / "plots/mine.txt", 10) == "thesis");
  CHECK(world.run({"record", "08_gpu", "--from", "one", "--as", "batch-1"}).code == 0);
  CHECK(fs::exists(world.lesson() / "recorded/h200-2026-11-21-batch-1/run.toml"));
  CHECK(fs::exists(kept / "run.toml"));
  CHECK(std::distance(fs::directory_iterator(world.lesson() / "recorded"), {}) == 2);  // no part is left
}

TEST_CASE("what cannot be recorded is refused, and leaves nothing") {
  World world;
  world.leave_run("failed", "NVIDIA H200", "08_gpu", "failed");
  world.leave_run("other", "NVIDIA H200", "01_baseline");
  const auto refused = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "record");
    const ProcessResult result = world.run(words);
    CHECK(result.code == 2);
    return result.err;
  };
  CHECK_THAT(refused({}), says("which lesson?"));
  CHECK_THAT(refused({"08_gpu", "--from", "nothing"}), says("there is no run \"nothing\""));
  CHECK_THAT(refused({"08_gpu", "--from", "failed"}), says("this one is failed"));
  CHECK_THAT(refused({"08_gpu", "--from", "other"}),
             says("the run is one of 01_baseline") && says("record 01_baseline --from other"));
  CHECK_THAT(refused({"08_gpu", "--from", "failed", "--set", "train.steps=1"}), says("no further settings"));
  CHECK_THAT(refused({"08_gpu", "--from", "failed", "--as", "../up"}), says("no name for a recorded run"));
  CHECK_THAT(refused({"08_gpu", "--form", "failed"}), says("mean --from?"));
  CHECK_FALSE(fs::exists(world.lesson() / "recorded"));
  if (has_nvidia_driver()) return;
  CHECK_THAT(refused({"08_gpu"}),
             says("no NVIDIA driver here") && says("--from RUN") && says("predict 08_gpu"));
  CHECK(std::distance(fs::directory_iterator(world.work() / "runs"), {}) == 2);
}

TEST_CASE("without its device a lesson is refused, and a run of another machine is shown in its place") {
  if (has_nvidia_driver()) return;
  World world;
  world.programs().script("08_gpu", "echo trained");
  const ProcessResult none = world.run({"run", "08_gpu"});
  CHECK(none.code == 2);
  CHECK(none.out.empty());
  CHECK_THAT(none.err, says("lesson 08_gpu needs an NVIDIA GPU"));
  CHECK_THAT(world.run({"show", "08_gpu", "--recorded"}).err, says("was recorded or predicted yet"));
  const fs::path place = world.lesson() / "recorded/predicted-h200";
  REQUIRE(world.run({"predict", "08_gpu", "--run-dir", (place / "graph").string()}).code == 0);
  REQUIRE(
      world.run({"predict", "08_gpu", "--set", "train.global_batch=1", "--run-dir", (place / "b1").string()})
          .code == 0);
  const ProcessResult predicted = world.run({"run", "08_gpu"});
  CHECK(predicted.code == 2);
  CHECK_THAT(predicted.err,
             says("needs an NVIDIA GPU") && says("instead, a run that is predicted by model for H200"));
  CHECK_THAT(predicted.out, says("graph  predicted by model for H200") && says("also there:") &&
                                says("train.global_batch=1"));
  world.leave_run("one", "NVIDIA H200, 150.1 GB");
  REQUIRE(world.run({"record", "08_gpu", "--from", "one"}).code == 0);
  CHECK_THAT(world.run({"run", "08_gpu"}).out, says("h200-2026-11-21  recorded on NVIDIA H200, 2026-11-21"));
  // A mistake in the settings is told first.
  const ProcessResult mistyped = world.run({"run", "08_gpu", "--set", "graph.enable=true"});
  CHECK_THAT(mistyped.err, says("mean graph.enabled?"));
  CHECK(mistyped.out.empty());
  CHECK(world.run({"run", "08_gpu", "--help"}).code == 0);
}

/// run.toml has the keys that there are by now: more than when the recorded one was made.
TEST_CASE("the predictions beside the lessons are what their commands give today") {
  const TempFolder folder;
  const fs::path home = project_home();
  std::size_t seen = 0;
  for (const auto& lesson : fs::directory_iterator(home / "lessons")) {
    if (!fs::exists(lesson.path() / "lesson.toml") || !fs::exists(lesson.path() / "recorded")) continue;
    for (const auto& file : fs::recursive_directory_iterator(lesson.path() / "recorded")) {
      if (file.path().filename() != "run.toml") continue;
      const std::string head = read_text_file(file.path(), 100'000);
      const std::string key = "Made by: ./isobar ";
      const std::size_t at = head.find(key);
      if (head.rfind("# Predicted by model", 0) != 0 || at == std::string::npos) continue;
      const std::string line = head.substr(at + key.size(), head.find('\n') - at - key.size());
      std::vector<std::string> words = {ISOBAR_CLI};
      std::istringstream typed(line);
      for (std::string word; typed >> word;) words.push_back(word);
      const std::string again = folder / std::to_string(++seen);
      words.insert(words.end(), {"--run-dir", again});
      INFO(file.path() << ": lessons/08_cuda_graphs/make_predicted.sh makes them anew");
      REQUIRE(run_process(words).code == 0);
      const std::string sheet = "\n" + read_text_file(fs::path(again) / "run.toml", 100'000);
      std::istringstream recorded(head);
      for (std::string entry; std::getline(recorded, entry);) CHECK_THAT(sheet, says("\n" + entry + "\n"));
      const auto summary = [](const fs::path& run) {
        const std::string text = read_text_file(run / "rank-0000.jsonl", 100'000);
        return text.substr(text.find("{\"kind\":\"note\""));  // the head says when it was made
      };
      CHECK(summary(again) == summary(file.path().parent_path()));
    }
  }
  // As long as the lesson itself is not here, nothing lies beside it that could be asked for.
  CHECK((seen > 0 || !fs::exists(home / "lessons/08_cuda_graphs/lesson.toml")));
}

}  // namespace isobar::test_recorded
