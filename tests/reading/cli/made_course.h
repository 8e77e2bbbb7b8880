#pragma once
// A course of two lessons with a few questions, and programs that stand in for its lessons: their runs are
// whole, and are as fast as data.workers says.
#include <fmt/format.h>

#include <sstream>
#include <string>
#include <vector>

#include "cli/programs.h"
#include "config/load.h"
#include "config/toml_text.h"
#include "core/machine.h"
#include "support/made_runs.h"

namespace isobar {

inline constexpr const char* kEarlierQuestions = R"(
[[question]]
id = "01.gpus"
from = "Isobar"
kind = "number"
beat = "predict"
unit = "GPUs"
tolerance = 0
goal = 1
draw = { tp = [4, 2, 8, 2], dp = [4, 3, 2, 8] }
ask = "{tp} ranks share a model, and there are {dp} models. How many GPUs?"
why = "It decides what a job asks for."
giveaway = ["sixteen"]
rule = "formula"
with = { name = "gpus_for_mesh", tp = "{tp}", dp = "{dp}" }
hints = ["Multiply."]
reveal = "{you} said, {truth} it is."
)";

inline constexpr const char* kQuestions = R"(
opens_with = ["01.gpus"]
goal = [
  { notice = "Every step waits." },
  { reads = ["How it waits"], notice = "Four wait less.", try = "./isobar run 02 --set data.workers=2" },
  {},
]
preset = "cpu_micro"
steps = 30
repeats = 3

[[question]]
id = "02.best_workers"
from = "ERA5 tutorial, 2023"
kind = "number"
beat = "predict"
goal = 2
unit = "workers"
tolerance = 0
ask = "One worker or four: which number is fastest?"
why = "Processors that wait are paid for."
rule = "best"
with = { runs = ["w1", "w4"] }
hints = ["Who waits for whom?", "A batch takes longer than a step."]
wrong = [{ answer = "1", says = "One thread reads a batch at a time: {worst_value} samples/s." }]
reveal = "{truth} gave {best_value} samples/s."
[[question.run]]
name = "w1"
set = ["data.workers=1"]
[[question.run]]
name = "w4"
set = ["data.workers=4"]

[[question]]
id = "02.where"
from = "ERA5 tutorial, 2023"
kind = "find"
beat = "predict"
goal = 2
ask = "Which line makes the threads?"
why = "It is the only one that differs."
giveaway = ["line 31"]
rule = "line"
with = { anchors = ["WorkerLoader loader("] }
hints = ["Look for Data."]
reveal = "Line {line}."

[[question]]
id = "02.nan"
from = "Isobar"
kind = "choice"
beat = "break"
goal = 3
ask = "A weight becomes NaN. What does the curve do?"
why = "It is a mistake that happens."
rule = "curve"
with = { healthy = ["w4"], fault = ["nan"] }
hints = ["What does a guard do?"]
reveal = "It stops after {steps}."
[[question.choice]]
key = "flat"
text = "hardly moves"
[[question.choice]]
key = "stops"
text = "ends with an error"
[[question.run]]
name = "w4"
repeats = 1
set = ["data.workers=4"]
[[question.run]]
name = "nan"
repeats = 1
set = ["data.workers=4", "run.fault=nan_weight"]
fails = "1"
)";

class MadeCourse {
 public:
  MadeCourse() {
    namespace fs = std::filesystem;
    const fs::path from = project_home() / "lessons", to = home() / "lessons";
    fs::create_directories(to);
    fs::create_directories(work());
    for (const char* const name : {"base.toml", "published.toml", "presets"})
      fs::copy(from / name, to / name, fs::copy_options::recursive);
    for (const char* const lesson : {"01_baseline", "02_workers"}) {
      fs::create_directories(to / lesson);
      for (const char* const file : {"lesson.toml", "main.cpp"})
        fs::copy(from / lesson / file, to / lesson / file);
      programs_.script(lesson, trains());
    }
    write_file_whole(to / "01_baseline/questions.toml", std::string_view(kEarlierQuestions));
    write_file_whole(to / "02_workers/questions.toml", std::string_view(kQuestions));
    write_file_whole(to / "02_workers/README.md", std::string_view(page()));
    write_file_whole(to / "02_workers/reveal.md",
                     std::string_view("# Revealed\n\n## best_workers\n\nMore threads **share** the wait.\n"));
    set_busy(false);
  }
  /// Whether other programs take the processors while its runs are made.
  void set_busy(bool busy) {
    processor_wait_ = busy ? 0.4 : 0;
    for (const int workers : {1, 4}) make_template(workers, "none");
    make_template(4, "nan_weight");
  }

  ProcessResult run(const std::vector<std::string>& words, ProcessOptions options = {}) const {
    options.folder = work().string();
    for (std::string& word : environment()) options.environment.push_back(std::move(word));
    return programs_.run(words, options);
  }
  std::vector<std::string> environment() const {
    return {"ISOBAR_HOME=" + home().string(), "ISOBAR_PROGRESS=" + progress().string(), "ISOBAR_LEARNER=0"};
  }
  /// What each program was called with, in order.
  std::vector<std::string> calls() const {
    std::vector<std::string> out;
    if (!std::filesystem::exists(calls_file())) return out;
    std::istringstream text(read_text_file(calls_file(), 1 << 20));
    for (std::string line; std::getline(text, line);) out.push_back(line);
    return out;
  }
  std::string kept() const {
    return std::filesystem::exists(progress()) ? read_text_file(progress(), 1 << 20) : "";
  }
  /// The stand-in of lesson 02 does this first.
  void first(const std::string& commands) { programs_.script("02_workers", commands + "\n" + trains()); }
  std::filesystem::path home() const { return programs_.folder() / "home"; }
  std::filesystem::path work() const { return programs_.folder() / "work"; }
  std::filesystem::path progress() const { return programs_.folder() / "learner/progress.jsonl"; }
  std::filesystem::path program() const { return programs_.folder() / "isobar-cli"; }
  std::filesystem::path prefix() const { return programs_.folder() / "prefix"; }

 private:
  std::filesystem::path calls_file() const { return programs_.folder() / "calls"; }
  static std::string page() {
    return "# 02 Workers\n\n## Claim\n\nReading *needs* nothing that [the step](main.cpp) computes.\n\n"
           "## Idea\n\nThreads read "
           "`ahead`.\n\n**How it waits.** A "
           "queue.\n\n<details><summary>Settings</summary>\n\nhidden\n\n</details>\n";
  }
  std::string trains() const {
    return "echo \"${0##*/} $*\" >>" + calls_file().string() + "\n" + R"(
fault=none repeat=0
while [ $# -gt 0 ]; do case $1 in --run-dir) run=$2 ;; data.workers=*) workers=${1#*=} ;; run.fault=*) fault=${1#*=} ;;
run.repeat=*) repeat=${1#*=} ;; esac; shift; done
mkdir -p "$run"
here=$(dirname "$0")/templates/$workers-$fault
cp "$here.toml" "$run/run.toml"
cp "$here-$repeat.jsonl" "$run/rank-0000.jsonl"
[ $fault = none ]
)";
  }

  void make_template(int workers, const std::string& fault) {
    const Settings settings{.preset = "cpu_micro",
                            .sets = {"run.device=cpu", fmt::format("data.workers={}", workers),
                                     "run.fault=" + fault, "train.steps=30"}};
    const Config config = load_config(home(), read_lesson(home(), "02_workers"), settings, "cpu").config;
    const std::filesystem::path folder = programs_.folder() / "templates";
    std::filesystem::create_directories(folder);
    const std::string name = fmt::format("{}-{}", workers, fault);
    write_file_whole(folder / (name + ".toml"),
                     std::string_view(to_toml(config) + "[environment]\nhost = " + toml_string(host_name()) +
                                      "\ncpu = " + toml_string(cpu_name()) + "\ndevice = \"cpu\"\n"));
    MadeSteps made;
    made.lesson = "02_workers";
    made.processor_wait = processor_wait_;
    made.stage_ms["load"] = workers == 1 ? 30 : 1;
    if (fault != "none") made.end = "failed", made.steps = 12, made.scored = false;
    for (int repeat = 0; repeat < 3; ++repeat) {
      made.factor = 1 + 0.002 * repeat;
      write_file_whole(folder / fmt::format("{}-{}.jsonl", name, repeat), std::string_view(stream_of(made)));
    }
  }

  Programs programs_;
  double processor_wait_ = 0;
};

}  // namespace isobar
