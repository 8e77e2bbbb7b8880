// Which runs fit a question, what is missing, and what that costs.
#include <algorithm>
#include <fstream>
#include <set>

#include "config/toml_text.h"
#include "core/machine.h"
#include "core/number_text.h"
#include "core/nvidia.h"
#include "core/pattern.h"
#include "core/processors.h"
#include "course/course.h"
#include "course/needed_runs.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/made_rates.h"
#include "support/made_runs.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

NeededRun wanted_run(const std::string& name, const std::vector<std::string>& sets = {}) {
  NeededRun out;
  out.name = name;
  out.lesson = "01_baseline";
  out.preset = "cpu_micro";
  out.sets = sets;
  out.steps = 30;
  out.repeats = 3;
  return out;
}

Question question_of(const std::vector<NeededRun>& runs) {
  Question out;
  out.id = "01.made";
  out.lesson = "01_baseline";
  out.runs = runs;
  return out;
}

/// A folder of runs that were made with the settings of a question, but for what `keys` say.
class Folder {
 public:
  std::vector<FoundRuns> find(const Question& question, const MachineRates* rates = nullptr) const {
    return find_runs(question, project_home(), path(), rates);
  }
  FoundRuns find(const NeededRun& wanted) const { return find(question_of({wanted})).front(); }

  struct Environment {
    std::string host = host_name();
    std::string device = "cpu";
    std::string commit = "1";
  };
  fs::path leave(const std::string& name, const NeededRun& wanted, const MadeSteps& made = {},
                 const std::vector<std::string>& sets = {}) const {
    return leave(name, wanted, Environment{}, made, sets);
  }
  fs::path leave(const std::string& name, const NeededRun& wanted, const Environment& environment,
                 const MadeSteps& made = {}, const std::vector<std::string>& sets = {}) const {
    Settings settings = run_settings(wanted);
    settings.sets.insert(settings.sets.end(), sets.begin(), sets.end());
    const Config config = load_config(project_home(), read_lesson(project_home(), wanted.lesson), settings,
                                      wanted.predicted.empty() ? "cpu" : "cuda")
                              .config;
    const fs::path folder = path() / name;
    fs::create_directories(folder);
    write_file_whole(folder / "run.toml",
                     std::string_view(to_toml(config) + "[environment]\nhost = " +
                                      toml_string(environment.host) + "\ncpu = " + toml_string(cpu_name()) +
                                      "\ndevice = " + toml_string(environment.device) +
                                      "\ncommit = " + toml_string(environment.commit) + "\n"));
    write_file_whole(folder / "rank-0000.jsonl", std::string_view(stream_of(made)));
    return folder;
  }
  const fs::path& path() const { return folder_.path(); }

 private:
  TempFolder folder_;
};

}  // namespace

TEST_CASE("what is not there is to be made, at a cost that is told before") {
  const Folder runs;
  const NeededRun wanted = wanted_run("slow", {"data.throttle_mb_per_s=40"});
  const FoundRuns found = runs.find(wanted);
  CHECK(found.missing == 3);
  CHECK(found.folders.empty());
  CHECK(found.cannot.empty());
  CHECK(found.command ==
        "./isobar run 01_baseline --preset cpu_micro --set run.device=cpu --set data.throttle_mb_per_s=40 "
        "--set train.steps=30");
  CHECK(found.config.config.data.throttle_mb_per_s == 40);
  CHECK(found.cost_s > 0);
  const std::vector<FoundRuns> two = runs.find(question_of({wanted, wanted_run("fast")}));
  CHECK(cost_s(two) > 2 * cost_s({two.back()}));  // a slow disk is in it
  CHECK_THAT(cost_text(two), says("6 runs, about "));
  NeededRun ranks = wanted_run("two");
  ranks.lesson = "06_ddp";
  ranks.ranks = 2;
  CHECK_THAT(runs.find(ranks).command, says("run 06_ddp") && says("--ranks 2"));
  CHECK(runs.find(ranks).config.config.run.ranks == 2);
}

TEST_CASE("a run fits that was made here with these settings, whatever version made it") {
  const Folder runs;
  const NeededRun wanted = wanted_run("base");
  runs.leave("first", wanted, {}, {"run.group=sweep-1", "run.repeat=7"});
  runs.leave("second", wanted, Folder::Environment{.commit = "another"}, {},
             {"run.threads=2", "amp.mode=none"});
  FoundRuns found = runs.find(wanted);
  CHECK(found.folders.size() == 2);
  CHECK(found.missing == 1);
  CHECK_THAT(cost_text({found}), says("1 of 3 runs, about "));
  runs.leave("third", wanted);
  found = runs.find(wanted);
  CHECK(found.missing == 0);
  CHECK(found.cost_s == 0);
  CHECK(cost_text({found}) == "all 3 runs already exist");
  CHECK(rule_input(question_of({wanted}), project_home(), {found}).runs.at("base").repeats.size() == 3);
}

TEST_CASE("other runs do not fit") {
  const Folder runs;
  const NeededRun wanted = wanted_run("base");
  runs.leave("other-setting", wanted, {}, {"optim.lr=1e-3"});
  runs.leave("fault", wanted, {}, {"run.fault=no_shuffle"});
  runs.leave("shorter", wanted, {}, {"train.steps=20"});
  runs.leave("measured-only", wanted, {}, {"run.measure=full"});
  runs.leave("elsewhere", wanted, Folder::Environment{.host = "another-host"});
  runs.leave("on-a-gpu", wanted, Folder::Environment{.device = "NVIDIA H200"});
  runs.leave("failed", wanted, {.end = "failed"});
  runs.leave("killed", wanted, {.end = ""});
  runs.leave("recorded", wanted, {.provenance = "recorded"});
  fs::create_directories(runs.path() / "no-run");
  write_file_whole(runs.path() / "no-run" / "run.toml", std::string_view("rubbish ["));
  CHECK(runs.find(wanted).missing == 3);
  runs.leave("this-one", wanted);
  CHECK(runs.find(wanted).folders == std::vector<fs::path>{runs.path() / "this-one"});
}

TEST_CASE("a run that is to end with an error fits when it did") {
  const Folder runs;
  NeededRun wanted = wanted_run("nan", {"run.fault=nan_weight"});
  wanted.fails = "1";
  wanted.repeats = 1;
  runs.leave("well", wanted);
  runs.leave("killed", wanted, {.end = "", .pid = 999'999'999});
  CHECK(runs.find(wanted).missing == 1);
  runs.leave("failed", wanted, {.end = "failed"});
  CHECK(runs.find(wanted).missing == 0);
  wanted.fails = "137";
  CHECK(runs.find(wanted).folders.size() == 2);
}

TEST_CASE("runs beside other programs count only where others are missing") {
  const Folder runs;
  const NeededRun wanted = wanted_run("base");
  for (const char* name : {"crowded1", "crowded2"}) runs.leave(name, wanted, {.processor_wait = 0.5});
  runs.leave("calm1", wanted);
  runs.leave("calm2", wanted);
  FoundRuns found = runs.find(wanted);
  CHECK(found.missing == 0);
  CHECK(found.folders.size() == 3);
  runs.leave("calm3", wanted);
  found = runs.find(wanted);
  CHECK(found.folders.size() == 3);
  for (const fs::path& folder : found.folders) CHECK_THAT(folder.string(), says("calm"));
}

TEST_CASE("recorded runs are there or not, predicted ones cost nothing") {
  const Folder runs;
  NeededRun recorded = wanted_run("a100");
  recorded.recorded = "01_baseline/recorded/a100-2023";
  CHECK(runs.find(recorded).folders.size() == 1);
  recorded.recorded = "01_baseline/recorded/nothing";
  CHECK_THAT(runs.find(recorded).cannot, says("01_baseline/recorded/nothing"));
  CHECK(cost_text({runs.find(recorded)}) == "nothing has to be run");

  NeededRun predicted = wanted_run("h200");
  predicted.predicted = "H200";
  predicted.preset = "short";
  predicted.steps = 0;
  predicted.repeats = 1;
  const FoundRuns found = runs.find(predicted);
  CHECK(found.missing == 1);
  CHECK(found.cost_s == 0);
  CHECK_THAT(found.command,
             says("predict 01_baseline --device H200 --preset short") && says("--run-dir runs/"));
  CHECK(cost_text({found}) == "1 prediction, made immediately");
}

TEST_CASE("runs beside other programs stay missing for a rule that asks for times") {
  const Folder runs;
  Question question = question_of({wanted_run("base")});
  question.rule = "value";
  question.kind = AnswerKind::number;
  question.unit = "ms";
  question.with = {{"run", {"base"}}, {"of", {"load_us"}}};
  const auto truth = [&] {
    return rule_named("value")->find(rule_input(question, project_home(), runs.find(question)));
  };
  for (const char* name : {"crowded1", "crowded2"})
    runs.leave(name, question.runs[0], {.processor_wait = 0.5});
  FoundRuns found = runs.find(question).front();
  CHECK(found.missing == 3);
  CHECK(found.folders.empty());
  CHECK(found.disturbed.size() == 2);
  CHECK(found.cost_s > 0);
  CHECK_THAT(truth().cannot, says("2 runs do not count: other programs were using the processors"));
  CHECK(truth().missing == "base");
  for (const char* name : {"calm1", "calm2", "calm3"}) runs.leave(name, question.runs[0]);
  found = runs.find(question).front();
  CHECK(found.missing == 0);
  for (const fs::path& folder : found.folders) CHECK_THAT(folder.string(), says("calm"));
  CHECK(truth().cannot == "");
  // What its own threads wait for is no other program.
  NeededRun other = wanted_run("own", {"data.throttle_mb_per_s=40"});
  question.runs = {other};
  question.with["run"] = {"own"};
  runs.leave("own1", other, {.processor_wait = 0.5});
  CHECK(runs.find(question).front().disturbed.size() == 1);
  std::ofstream(runs.path() / "own1/run.toml", std::ios::app) << "threads = " << 8 * usable_cores() << "\n";
  CHECK(runs.find(question).front().folders.size() == 1);
  // Nor is what sums buckets beside backward on as many processors as there are ranks.
  question.runs = {wanted_run("sums", {"data.throttle_mb_per_s=41"})};
  question.with["run"] = {"sums"};
  runs.leave("sums1", question.runs[0], {.processor_wait = 0.3});
  std::ofstream(runs.path() / "sums1/run.toml", std::ios::app) << "threads = " << usable_cores() << "\n";
  CHECK(runs.find(question).front().disturbed.size() == 1);
  std::ofstream(runs.path() / "sums1/rank-0000.jsonl", std::ios::app)
      << R"({"kind":"summary","steps":120,"step_us":20500,"comm_total_us":20500,"processor_wait":0.3})"
      << "\n";
  CHECK(runs.find(question).front().folders.size() == 1);
}

TEST_CASE("what several questions lack counts once where they share it") {
  const Folder runs;
  const Question one = question_of({wanted_run("base")});
  NeededRun fewer = wanted_run("same");
  fewer.repeats = 1;
  const Question other = question_of({fewer, wanted_run("slow", {"data.throttle_mb_per_s=40"})});
  const std::vector<FoundRuns> missing = missing_runs({one, other, one}, project_home(), {}, nullptr);
  REQUIRE(missing.size() == 2);
  CHECK(missing[0].missing == 3);
  CHECK(cost_s(missing) == cost_s(runs.find(question_of({wanted_run("base"), other.runs[1]}))));
}

TEST_CASE("what needs a GPU cannot be made without one") {
  if (has_nvidia_driver()) return;
  NeededRun wanted = wanted_run("graph");
  wanted.lesson = "08_cuda_graphs";
  const FoundRuns found = Folder{}.find(wanted);
  CHECK_THAT(found.cannot, says("08_cuda_graphs") && says("GPU"));
  CHECK(found.cost_s == 0);
}

TEST_CASE("the cost is what such runs took, else what formulas say of this machine or of a slow one") {
  const Folder runs;
  const NeededRun wanted = wanted_run("base");
  const Question question = question_of({wanted});
  MachineRates fast = made_rates();
  MachineRates slow = made_rates();
  for (ThreadRates& rates : slow.threads)
    for (RateAt& rate : rates.fp32.gemm) rate.per_s /= 1000;
  CHECK(cost_s(runs.find(question, &slow)) > cost_s(runs.find(question, &fast)));
  CHECK(cost_s(runs.find(question)) > 0);
  MadeSteps took;
  took.factor = 1000;  // 20 s a step
  runs.leave("before", wanted, took);
  CHECK(cost_s(runs.find(question, &fast)) > 2 * 300);
}

TEST_CASE("faults that wait, split layers and 16 bits have a cost too") {
  const LessonInfo lesson = read_lesson(project_home(), "07_tensor_parallel");
  const auto cost = [&](const std::vector<std::string>& sets) {
    Settings settings{.preset = "cpu_micro", .sets = sets};
    settings.sets.insert(settings.sets.end(), {"train.steps=100", "run.ranks=2"});
    return run_cost_s(lesson, load_config(project_home(), lesson, settings, "cpu").config, nullptr);
  };
  const double plain = cost({"amp.mode=none"});
  CHECK(cost({"amp.mode=none", "run.fault=slow_rank", "run.fault_ms=100"}) == Approx(plain + 1.15 * 10));
  CHECK(cost({"amp.mode=none", "run.fault=stop_rank", "comm.timeout_s=20"}) == Approx(plain + 20));
  CHECK(cost({"mesh.tp=2"}) > 0);
  CHECK(cost({"amp.mode=bf16"}) > plain);
}

TEST_CASE("a question that names what is not there says so") {
  NeededRun wanted = wanted_run("typo", {"data.worker=4"});
  CHECK_THAT(error_of([&] { Folder{}.find(wanted); }), says("data.workers") && says("01.made, run typo: "));
  wanted.origin = "questions.toml:7:1";
  CHECK_THAT(error_of([&] { Folder{}.find(wanted); }), says("where: questions.toml:7:1"));
  wanted = wanted_run("typo");
  wanted.lesson = "01_basline";
  CHECK_THAT(error_of([&] { Folder{}.find(wanted); }), says("01_baseline"));
}

TEST_CASE("every question is answered within three minutes on a slow laptop, without GPU and network") {
  const Folder runs;
  const std::vector<Question> questions = all_questions(project_home()).questions;
  std::set<std::string> lessons;
  for (const Question& question : questions) {
    INFO(question.id << " at " << question.origin);
    lessons.insert(question.lesson);
    const std::vector<FoundRuns> found = runs.find(question);
    CHECK(cost_s(found) <= 180);
    for (const FoundRuns& one : found) {
      INFO(one.wanted.name << ": " << one.command);
      CHECK((one.wanted.recorded.empty() || one.missing == 0));
      if (!one.wanted.recorded.empty() || !one.wanted.predicted.empty()) continue;
      const LessonInfo lesson = read_lesson(project_home(), one.wanted.lesson);
      CHECK(lesson.needs.empty());
      CHECK((lesson.stands_alone || one.config.config.run.device == "cpu"));
      CHECK(one.config.config.data.root.empty());
    }
  }
  CHECK(lessons.size() == lesson_names(project_home()).size());
}

TEST_CASE("commands of pages, hints and things to try have settings that load") {
  // Up to the first word that is none of these: "--mine", ", then with mesh.zero=1"
  const std::string pattern =
      "\\./isobar (run|predict) ([0-9][0-9]_[a-z_]+)((\\s+--(set|preset|ranks|cluster|device) "
      "[][A-Za-z0-9_.,=/-]*[]A-Za-z0-9])*)( *# is refused)?";
  int loaded = 0;
  for (const std::string& name : lesson_names(project_home())) {
    for (const char* const page : {"README.md", "questions.toml"}) {
      const std::string text = read_text_file(project_home() / "lessons" / name / page, 1 << 20);
      for (const auto& command : matches_of(text, pattern)) {
        if (command[6] != "") continue;
        INFO(page << ": " << command[0]);
        const LessonInfo lesson = read_lesson(project_home(), command[2]);
        const bool runs_here = command[1] == "run";
        bool is_cpu = true;
        Settings settings;
        int model = 1;  // ranks: those that predict takes
        for (const auto& option : matches_of(command[3], "--([a-z]+) (\\S+)")) {
          const std::string& value = option[2];
          is_cpu = is_cpu && option[1] != "cluster" && option[1] != "device";
          if (option[1] == "preset") settings.preset = value;
          if (option[1] == "ranks" && runs_here && number_of<int>(value))
            settings.sets.push_back("run.ranks=" + value);
          if (option[1] != "set") continue;
          // predict takes the limit as a question of its own.
          for (const char* const axis : {"mesh.tp=", "mesh.cp=", "mesh.pp=", "mesh.gpus_per_model="}) {
            if (value.starts_with(axis))
              model *= number_of<int>(value.substr(value.find('=') + 1)).value_or(1);
          }
          if (runs_here || !value.starts_with("run.memory_cap=")) settings.sets.push_back(value);
        }
        if (!runs_here && model > 1) settings.sets.push_back("run.ranks=" + std::to_string(model));
        const auto device = [&] { return std::string(is_cpu ? "cpu" : "cuda"); };
        CHECK_NOTHROW(load_config(project_home(), lesson, settings, preset_device_kind(settings, device)));
        ++loaded;
      }
    }
  }
  CHECK(loaded > 80);
}

TEST_CASE("what recorded runs alone tell can be told") {
  const Folder runs;
  int told = 0;
  for (const Question& question : all_questions(project_home()).questions) {
    const auto is_recorded = [](const NeededRun& run) { return !run.recorded.empty(); };
    if (question.runs.empty() || !std::all_of(question.runs.begin(), question.runs.end(), is_recorded))
      continue;
    INFO(question.id << " at " << question.origin);
    const Truth truth =
        rule_named(question.rule)->find(rule_input(question, project_home(), runs.find(question)));
    CHECK(truth.cannot == "");
    CHECK_THAT(truth.source, says("recorded") || says("predicted"));
    ++told;
  }
  CHECK(told >= 4);
}

TEST_CASE("a round of questions takes 150 s of runs at most, in nine goals of ten") {
  constexpr double kMost_s = 150;
  std::size_t goals = 0, long_ones = 0;
  for (const std::string& lesson : lesson_names(project_home())) {
    const std::vector<Question> questions = read_questions(project_home(), lesson);
    for (int goal = 1; goal <= static_cast<int>(read_lesson(project_home(), lesson).goals.size()); ++goal) {
      const std::vector<std::vector<Question>> rounds = rounds_of(questions_of(questions, goal));
      REQUIRE_FALSE(rounds.empty());
      ++goals;
      for (const std::vector<Question>& round : rounds) {
        const std::vector<FoundRuns> missing =
            missing_runs(round, project_home(), std::vector<KnownRun>{}, nullptr);
        if (cost_s(missing) <= kMost_s) continue;
        ++long_ones;
        WARN(lesson << " goal " << goal << ": " << cost_s(missing) << " s, " << cost_text(missing)
                    << ", from " << round.front().id);
      }
    }
  }
  CHECK(10 * long_ones <= goals);
}
