// Questions at a terminal: what is stored before what is shown, which runs are made, and what is said.
#include <fmt/format.h>

#include <algorithm>

#include "cli/made_course.h"
#include "core/json.h"
#include "support/catch.h"
#include "support/count_of.h"
#include "support/says.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

/// Lines of a stand-in's stream without scores and samples/s, and where it is asked for without samples.
std::string without_rate(const std::string& stream, bool has_samples) {
  std::string out;
  std::istringstream text(stream);
  for (std::string line; std::getline(text, line);) {
    Json fields = Json::parse(line);
    if (fields["kind"] == "eval") continue;
    fields.erase("samples_per_s");
    if (!has_samples && fields.contains("samples")) fields["samples"] = 0;
    out += fields.text() + "\n";
  }
  return out;
}

std::size_t kinds(const MadeCourse& course, const std::string& kind) {
  return count_of(course.kept(), "\"kind\":\"" + kind + "\"");
}

}  // namespace

TEST_CASE("the open questions are listed with what their runs cost") {
  const MadeCourse course;
  const ProcessResult listed = course.run({"quiz"});
  INFO(listed.err);
  CHECK(listed.code == 0);
  CHECK_THAT(listed.out, says("01.gpus  (nothing has to be run)") &&
                             says("02.best_workers  (6 runs, about ") && says("0 of 4 questions answered"));
  CHECK_THAT(course.run({"quiz", "01"}).out, says("01.gpus") && !says("02."));
  const Json json = Json::parse(course.run({"quiz", "02", "--json"}).out);
  CHECK(json["of"] == 3);
  CHECK(json["questions"][0]["state"] == "open");
  CHECK(json["questions"][0]["cost_s"].as_number() > 0);
  CHECK(json["questions"][0]["runs"][0]["missing"] == 3);
  CHECK(course.kept().empty());
}

TEST_CASE("a prediction is stored, its runs are made in turn, then it is revealed") {
  const MadeCourse course;
  const ProcessResult right = course.run({"quiz", "02.best_workers", "--answer", "4", "--yes"});
  INFO(right.err << right.out);
  REQUIRE(right.code == 0);
  const std::vector<std::string> calls = course.calls();
  std::vector<std::string> trained;
  std::copy_if(calls.begin(), calls.end(), std::back_inserter(trained),
               [](const std::string& call) { return call.rfind("02_workers", 0) == 0; });
  REQUIRE(trained.size() == 6);
  for (std::size_t i = 0; i < trained.size(); ++i) {
    CHECK_THAT(trained[i], says(i % 2 == 0 ? "data.workers=1" : "data.workers=4") &&
                               says("run.group=quiz-") && says("--preset cpu_micro") &&
                               says("run.measure=none"));
  }
  CHECK(right.out.find("This needs 6 runs, about") < right.out.find("run 1 of 6"));
  CHECK(right.out.find("run 6 of 6") < right.out.find("02.best_workers: right"));
  CHECK_THAT(right.out, says("you said   4 workers") && !says("it is ") && says("measured here") &&
                            says("4 workers gave ") && !says("More threads share the wait.") &&
                            says("Your runs, with the least") && says("1 of 1 first answers were right"));
  CHECK(course.kept().find("\"kind\":\"answer\"") < course.kept().find("\"kind\":\"reveal\""));
  // It is not asked, run or graded again, unless that is asked for.
  CHECK_THAT(course.run({"quiz", "best_workers"}).out,
             says("02.best_workers: right") && says("4 workers gave ") && says("Revealed 20") &&
                 says("More threads share the wait.") && says("02.best_workers --again"));
  CHECK(kinds(course, "answer") == 1);
  CHECK(kinds(course, "reveal") == 1);
  CHECK_THAT(course.run({"quiz", "02.best_workers", "--answer", "1"}).err, says("--again"));
  const ProcessResult wrong = course.run({"quiz", "02.best_workers", "--again", "--answer", "1"});
  CHECK_THAT(wrong.out, says("02.best_workers: not right") && says("One thread reads a batch at a time: 8") &&
                            says("a factor of 4 below what was measured"));
  CHECK(course.calls() == calls);
  CHECK_THAT(course.run({"quiz", "02.best_workers"}).out,
             says("because") && says("One thread reads a batch at a time: 8") && says("Revealed 20"));
}

TEST_CASE("a reveal that was stored is told, whatever lies beside it") {
  const MadeCourse course;
  fs::remove(course.home() / "lessons/02_workers/reveal.md");
  fs::create_directories(course.home() / "lessons/02_workers/reveal.md");
  const ProcessResult told = course.run({"quiz", "02.where", "--answer", "1"});
  CHECK(told.code == 0);
  CHECK_THAT(told.out, says("02.where: not right") && says("0 of 1 first answers were right"));
  CHECK(kinds(course, "reveal") == 1);
  CHECK(course.run({"quiz", "02.where"}).code == 0);
}

TEST_CASE("without runs a question cannot be answered, and the prediction stays") {
  const MadeCourse course;
  const ProcessResult result = course.run({"quiz", "02.best_workers", "--answer", "4"});
  CHECK(result.code == 0);
  CHECK_THAT(result.out, says("--yes makes them") && says("cannot answer") && says("w1") &&
                             says("./isobar run 02_workers --preset cpu_micro --set run.device=cpu"));
  CHECK(kinds(course, "answer") == 1);
  CHECK(kinds(course, "reveal") == 0);
  CHECK(course.calls().empty());
  const Json json = Json::parse(course.run({"quiz", "02.best_workers", "--json"}).out);
  CHECK(json["outcome"] == "cannot answer");
  CHECK_FALSE(json["command"].as_text().empty());
  // The stored prediction is taken up, and another one is refused.
  const ProcessResult other = course.run({"quiz", "02.best_workers", "--answer", "1", "--yes"});
  CHECK(other.code == 2);
  CHECK_THAT(other.err, says("a prediction is stored already"));
  CHECK_THAT(course.run({"quiz", "02.best_workers", "--yes"}).out,
             says("you said 4 workers") && says(": right"));
}

TEST_CASE("a run that ends with an error on purpose is a result; one that does so by accident is none") {
  MadeCourse course;
  const ProcessResult result = course.run({"quiz", "02.nan", "--answer", "stops", "--yes"});
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK_THAT(result.out, says("02.nan: right") && says("It stops after 12 steps"));
  course.first("echo 'error: the disk is full' >&2; exit 3");
  const ProcessResult failed = course.run({"quiz", "02.best_workers", "--answer", "4", "--yes"});
  CHECK(failed.code == 3);
  CHECK_THAT(failed.err, says("the disk is full"));
  CHECK_THAT(failed.out, says("Your prediction is stored"));
}

TEST_CASE("a run without a rate is one only where it trains on no samples, as those of lesson 09") {
  for (const bool has_samples : {false, true}) {
    MadeCourse course;
    const fs::path stream = course.program().parent_path() / "templates/4-none-0.jsonl";
    write_file_whole(stream, std::string_view(without_rate(read_text_file(stream, 1 << 20), has_samples)));
    const ProcessResult result = course.run({"quiz", "02.nan", "--answer", "stops", "--yes"});
    INFO(result.err << result.out);
    CHECK((result.code == 0) == !has_samples);
    if (has_samples) CHECK_THAT(result.err, says("the run left no step after its warm-up"));
    if (!has_samples) CHECK_THAT(result.out, says("02.nan: right"));
  }
}

TEST_CASE("what is no answer is refused in a sentence, and nothing is stored") {
  const MadeCourse course;
  const auto refused = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "quiz");
    const ProcessResult result = course.run(words);
    INFO(result.out);
    CHECK(result.code == 2);
    CHECK(course.kept().empty());
    return result.err;
  };
  CHECK_THAT(refused({"02.best_workers", "--answer", "many"}), says("workers"));
  CHECK_THAT(refused({"02.best_workers", "--answer", "-3"}), says("02.best_workers"));
  CHECK_THAT(refused({"02.best_workers", "--answer", "4 ms"}), says("workers"));
  CHECK_THAT(refused({"02.where", "--answer", "100000"}), says("lines 1 to"));
  CHECK_THAT(refused({"02.nan", "--answer", "stps"}), says("stops"));
  CHECK_THAT(refused({"02.best_worker"}), says("02.best_workers"));
  CHECK_THAT(refused({"--answer", "4"}), says("needs the name of a question"));
  CHECK_THAT(refused({"02", "--answer", "4"}), says("needs the name of a question"));
  CHECK_THAT(refused({"02.where", "--answer", "4", "--with", "last"}), says("not both"));
  CHECK_THAT(refused({"02.best_workers", "--asnwer", "4"}), says("--answer"));
  const ProcessResult nobody = course.run({"quiz", "02.best_workers"});
  CHECK(nobody.code == 2);
  CHECK_THAT(nobody.out, says("which number is fastest?"));
  CHECK_THAT(nobody.err, says("no terminal") && says("quiz 02.best_workers --answer"));
}

TEST_CASE("hints, runs alone, and the answers as a table") {
  const MadeCourse course;
  CHECK_THAT(course.run({"quiz", "02.best_workers", "--hint"}).out,
             says("Who waits for whom?") && says("longer than a step"));
  const ProcessResult made = course.run({"quiz", "02.best_workers", "--runs-only"});
  CHECK(made.code == 0);
  CHECK(course.kept().empty());
  CHECK_THAT(course.run({"quiz", "02"}).out, says("all 6 runs already exist"));
  CHECK(course.run({"quiz", "02.where", "--answer", "1"}).code == 0);
  REQUIRE(course.run({"quiz", "--export", "answers.csv"}).code == 0);
  CHECK_THAT(read_text_file(course.work() / "answers.csv", 1 << 20), says("02.where") && says("not right"));
  CHECK(course.run({"quiz", "--export", "answers.csv"}).code == 0);  // again, over one of ours
  write_file_whole(course.work() / "02_read_ahead.cpp", std::string_view("hours of work"));
  const ProcessResult over = course.run({"quiz", "--export", "02_read_ahead.cpp"});
  CHECK(over.code == 2);
  CHECK_THAT(over.err, says("is no table of answers of ours") && says("--export"));
  CHECK(read_text_file(course.work() / "02_read_ahead.cpp", 100) == "hours of work");
  CHECK(course.run({"quiz", "--export", "02_read_ahead.cpp", "--replace"}).code == 0);
  CHECK(course.run({"quiz", "--export", ""}).code == 2);
  CHECK(course.run({"quiz", "--export", "no/such/folder.csv"}).code != 0);
  const std::string kept = course.kept();
  const ProcessResult onto = course.run({"quiz", "--export", course.progress().string()});
  CHECK(onto.code == 2);
  CHECK_THAT(onto.err, says("--export would overwrite the progress file"));
  CHECK(course.kept() == kept);
  CHECK(Json::parse(course.run({"quiz", "--export", "a.csv", "--json"}).out)["answers"] == 1);
  const Json hinted = Json::parse(course.run({"quiz", "02.best_workers", "--hint", "--json"}).out);
  CHECK(hinted["hints"].values().size() == 2);
  const ProcessResult list = course.run({"quiz", "02.where", "--list"});
  CHECK(list.code == 2);
  CHECK_THAT(list.err, says("--list lists the questions of a lesson") && says("02_workers --list"));
  const ProcessResult record = course.run({"quiz", "02.where", "--record"});
  CHECK(record.code == 2);
  CHECK_THAT(record.err, says("--record makes the runs of a lesson") && says("02_workers --record"));
  CHECK_THAT(course.run({"quiz", "--list"}).out, says("02.where  (not right)"));
}

TEST_CASE("a damaged progress file is told of and used, a newer one is left alone") {
  const MadeCourse course;
  fs::create_directories(course.progress().parent_path());
  write_file_whole(course.progress(), std::string_view("{\"schema\":1,\"ki\n"));
  CHECK_THAT(course.run({"quiz"}).out, says("progress.jsonl:1") && says("01.gpus"));
  const ProcessResult told = course.run({"quiz", "01.gpus", "--answer", "16"});
  CHECK(told.code == 0);
  CHECK_THAT(told.out, says("! ") && says("progress.jsonl:1"));
  CHECK(kinds(course, "answer") == 1);
  const std::string newer = "{\"schema\":99,\"kind\":\"answer\"}\n";
  write_file_whole(course.progress(), std::string_view(newer));
  const ProcessResult refused = course.run({"quiz", "01.gpus", "--answer", "16"});
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, says("newer"));
  CHECK(course.kept() == newer);
}

TEST_CASE("a kill between answer and run, in a run, or in the reveal loses no answer") {
  const char* const kKill = "kill -9 $PPID";
  const std::string kills[] = {
      std::string(kKill) + "; exit 1",  // before anything is run
      "case \"$*\" in *run.repeat=1*) for d; do case $d in runs/*) echo x >\"$d/run.toml\" ;; esac; done; " +
          std::string(kKill) + "; exit 1 ;; esac",  // half a run is left
      "case \"$*\" in *data.workers=4*run.repeat=2*) (sleep 0.02; " + std::string(kKill) +
          ") >/dev/null 2>&1 & ;; esac"};
  for (const std::string& kill : kills) {
    INFO(kill);
    MadeCourse course;
    course.first(kill);
    course.run({"quiz", "02.best_workers", "--answer", "4", "--yes"});
    CHECK(kinds(course, "answer") == 1);
    course.first(":");
    const ProcessResult again = course.run({"quiz", "02.best_workers", "--yes"});
    INFO(again.err << again.out);
    CHECK(again.code == 0);
    CHECK_THAT(again.out, says("02.best_workers: right"));
    CHECK(kinds(course, "answer") == 1);
    CHECK(kinds(course, "reveal") == 1);
  }
}

TEST_CASE("as JSON a question is told, and nobody is asked") {
  const MadeCourse course;
  const ProcessResult asked = course.run({"quiz", "02.nan", "--json"});
  CHECK(asked.code == 0);
  const Json json = Json::parse(asked.out);
  CHECK(json["choices"][1]["key"] == "stops");
  CHECK(json["kind"] == "choice");
  const ProcessResult answered = course.run({"quiz", "02.nan", "--json", "--answer", "flat", "--yes"});
  INFO(answered.err);
  CHECK(Json::parse(answered.out)["outcome"] == "not right");
  CHECK(Json::parse(course.run({"quiz", "02.nan", "--json"}).out)["truth"].as_text().find("error") !=
        std::string::npos);
}

TEST_CASE("questions that cannot be read are named, and those of other lessons are asked") {
  const MadeCourse course;
  write_file_whole(course.home() / "lessons/01_baseline/questions.toml", std::string_view("rubbish ["));
  const ProcessResult listed = course.run({"quiz"});
  CHECK(listed.code == 0);
  CHECK_THAT(listed.out, says("! 01_baseline: ") && says("questions.toml:1") && says("02.best_workers"));
  CHECK(course.run({"quiz", "02.where", "--answer", "1"}).code == 0);
  const ProcessResult learned = course.run({"learn"});
  CHECK(learned.code == 0);
  CHECK_THAT(learned.out, says("! 01_baseline: ") && says("02_workers"));
  const ProcessResult none = course.run({"quiz", "01.gpus", "--answer", "16"});
  CHECK(none.code == 2);
  CHECK_THAT(none.err, says("01_baseline/questions.toml"));
}

TEST_CASE("a question whose runs cannot be looked for says so in the list, and the others stand in it") {
  const MadeCourse course;
  const fs::path file = course.home() / "lessons/02_workers/questions.toml";
  std::string text = read_text_file(file, 1 << 20);
  text.replace(text.find("data.workers=1"), 14, "data.wrkers=1 ");
  write_file_whole(file, std::string_view(text));
  const ProcessResult listed = course.run({"quiz"});
  INFO(listed.err);
  CHECK(listed.code == 0);
  CHECK_THAT(listed.out,
             says("02.best_workers  (! 02.best_workers, run w1: there is no key") && says("02.where"));
  CHECK(course.run({"learn"}).code == 0);
  // What was revealed of it before is told as it was written down.
  fs::create_directories(course.progress().parent_path());
  write_file_whole(
      course.progress(),
      std::string_view(
          R"({"schema":1,"kind":"answer","id":"02.best_workers","answer":"4","number":4,"unit":"workers"})"
          "\n"
          R"({"schema":1,"kind":"reveal","id":"02.best_workers","of":1,"outcome":"right","truth":"4 workers"})"
          "\n"));
  const ProcessResult told = course.run({"quiz", "02.best_workers"});
  CHECK(told.code == 0);
  CHECK_THAT(told.out, says("02.best_workers: right") && says("it was     4 workers"));
}

TEST_CASE("an answer by runs is stored by their folders, whatever they are called") {
  const MadeCourse course;
  write_file_whole(course.home() / "lessons/02_workers/questions.toml", std::string_view(R"(
[[question]]
id = "02.make"
from = "Isobar"
kind = "make"
beat = "predict"
ask = "Make a run that reads beside forward."
why = "It is balanced."
rule = "made_overlap"
with = { track = "load", stage = "forward", share = "30" }
hints = ["Read slower."]
reveal = "{share} %."
)"));
  const ProcessResult none = course.run({"quiz", "02.make", "--with", "my run"});
  CHECK(none.code == 2);
  CHECK(course.kept().empty());
  fs::create_directories(course.work() / "runs/my run");
  write_file_whole(course.work() / "runs/my run/run.toml", std::string_view("[run]\n"));
  write_file_whole(course.work() / "runs/my run/rank-0000.jsonl",
                   std::string_view(stream_of({.lesson = "02_workers"})));
  const ProcessResult told = course.run({"quiz", "02.make", "--with", "my run"});
  INFO(told.err << told.out);
  CHECK(told.code == 0);
  const Json line = Json::parse(course.kept().substr(0, course.kept().find('\n')));
  CHECK(line["runs"] ==
        Json(std::vector<std::string>{fs::canonical(course.work() / "runs/my run").string()}));
  CHECK_THAT(told.out, says("no spans"));  // and it was read
  const ProcessResult number = course.run({"quiz", "01.gpus", "--with", "my run"});
  CHECK(number.code == 2);
  CHECK_THAT(number.err, says("--with names runs"));
}

TEST_CASE("a prediction by model that costs nothing is made without asking") {
  const MadeCourse course;
  std::string text = kQuestions;
  text.erase(text.find("[[question]]\nid = \"02.where\""));
  text.replace(text.find("tolerance = 0\n"), 14, "giveaway = [\"x\"]\n");
  for (const char* const workers : {"1", "4"}) {
    const std::string set = std::string("set = [\"data.workers=") + workers + "\"]";
    text.replace(text.find(set), set.size(), "predicted = \"H200\"\npreset = \"short\"\n" + set);
  }
  write_file_whole(course.home() / "lessons/02_workers/questions.toml", std::string_view(text));
  const ProcessResult told = course.run({"quiz", "02.best_workers", "--answer", "4"});
  INFO(told.err << told.out);
  CHECK(told.code == 0);
  CHECK_THAT(told.out, says("predicted by model"));
}
