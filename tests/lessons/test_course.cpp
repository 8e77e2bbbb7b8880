// Questions that are answered with real runs of real lessons.
#include "course/progress.h"
#include "lessons/lesson_run.h"
#include "support/bin_folder.h"
#include "support/catch.h"
#include "support/says.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

const std::string kQuestions = R"(
preset = "cpu_micro"
steps = 12
repeats = 1

[[question]]
id = "01.epoch"
from = "Isobar"
kind = "number"
beat = "predict"
unit = "steps"
tolerance = 0
set = ["run.threads=1", "data.root=DATA"]
ask = "32 samples, four at a time: how many steps is an epoch?"
why = "Figures of speed leave the first epoch out."
rule = "value"
with = { run = "run", of = "steps_per_epoch" }
hints = ["Divide."]
wrong = [{ answer = "above", says = "An epoch ends when each sample came once, after {value} steps." }]
reveal = "{value} steps."
[[question.run]]
name = "run"

[[question]]
id = "01.nan"
from = "Isobar"
kind = "choice"
beat = "break"
set = ["run.threads=1", "data.root=DATA"]
ask = "A weight becomes NaN in step 6. What does the curve do?"
why = "It is a mistake that happens."
rule = "curve"
with = { healthy = "run", fault = "nan" }
hints = ["Is every loss looked at?"]
reveal = "{steps} were made."
[[question.choice]]
key = "flat"
text = "hardly moves"
[[question.choice]]
key = "stops"
text = "ends with an error"
[[question.run]]
name = "run"
[[question.run]]
name = "nan"
set = ["run.fault=nan_weight", "run.fault_step=6"]
fails = "1"
)";

/// The lessons of the project, with these questions in the first one.
class Course {
 public:
  Course() {
    const fs::path from = project_home() / "lessons", to = folder_ / "lessons";
    fs::create_directories(to / "01_baseline");
    for (const char* const name : {"base.toml", "presets", "01_baseline/lesson.toml"})
      fs::copy(from / name, to / name, fs::copy_options::recursive);
    std::string questions = kQuestions;
    for (std::size_t at = questions.find("DATA"); at != std::string::npos; at = questions.find("DATA"))
      questions.replace(at, 4, data().string());
    write_file_whole(to / "01_baseline/questions.toml", std::string_view(questions));
  }
  ProcessResult quiz(std::vector<std::string> words) const {
    words.insert(words.begin(), {bin_folder(ISOBAR_BIN) + "/isobar-cli", "quiz"});
    return run_process(words, {.environment = {"ISOBAR_HOME=" + folder_.path().string(),
                                               "ISOBAR_PROGRESS=" + progress().string()},
                               .folder = folder_.path().string()});
  }
  fs::path progress() const { return folder_ / "progress.jsonl"; }
  std::size_t runs() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_ / "runs"), {}));
  }

 private:
  TempFolder folder_;
};

}  // namespace

TEST_CASE("a number is measured by a run of the lesson, and the run serves again") {
  const Course course;
  const ProcessResult right = course.quiz({"01.epoch", "--answer", "8", "--yes"});
  INFO(right.err);
  REQUIRE(right.code == 0);
  CHECK_THAT(right.out, says("This needs 1 run, about ") && says("01.epoch: right") && says("measured here"));
  const ProcessResult wrong = course.quiz({"01.epoch", "--again", "--answer", "32", "--yes"});
  CHECK_THAT(wrong.out, says("01.epoch: not right") && says("a factor of 4 above what was measured") &&
                            says("came once, after 8 steps"));
  CHECK(course.runs() == 1);
}

TEST_CASE("the curve of a mistake that ends the run is guessed, then seen") {
  const Course course;
  const ProcessResult result = course.quiz({"01.nan", "--answer", "flat", "--yes"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  CHECK_THAT(result.out, says("01.nan: not right") && says("ends with an error"));
  CHECK(course.runs() == 2);
  const CourseProgress progress = read_progress(course.progress());
  REQUIRE(progress.reveal("01.nan") != nullptr);
  CHECK(progress.reveal("01.nan")->runs.size() == 2);
}
