// What a learner did is on the disk when it was said to be, and comes back as it was.
#include <sys/stat.h>

#include <cstdlib>

#include "core/json.h"
#include "reading/course/progress_file.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/temp_folder.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

constexpr const char* kAnswer =
    R"({"schema":1,"kind":"answer","time":"2026-11-25T09:00:00Z","id":"02.a","answer":"4","number":4})";

}  // namespace

TEST_CASE("an answer, its reveal and a beat come back as they were stored") {
  const TempFolder folder;
  const fs::path file = folder / "a/b/progress.jsonl";
  const Question question = asked_questions().at(0);
  CHECK(read_progress(file).answers.empty());
  ProgressWriter writer(file);
  writer.commit(question, typed(question, "4"));
  CHECK(read_progress(file).reveal(question.id) == nullptr);
  writer.reveal(newest(file, question), right_grade(), measured(4), {"/runs/a", "/runs/b \"c\""}, {31, 33});
  writer.done("02_workers", "read");
  writer.done("02_workers", "predict");
  writer.done("02_workers", "read");
  const CourseProgress progress = read_progress(file);
  CHECK(progress.problems.empty());
  REQUIRE(progress.answer(question.id) != nullptr);
  CHECK(progress.answer(question.id)->text == "4");
  CHECK(progress.answer(question.id)->number == 4.0);
  CHECK(progress.answer(question.id)->unit == "workers");
  CHECK(progress.answer(question.id)->lesson == "02_workers");
  CHECK(progress.answer(question.id)->kind == "number");
  CHECK(progress.answer(question.id)->time.size() == 20);
  const StoredReveal* const reveal = progress.reveal(question.id);
  REQUIRE(reveal != nullptr);
  CHECK(reveal->outcome == "right");
  CHECK(reveal->number == 4.0);
  CHECK(reveal->runs == std::vector<std::string>{"/runs/a", "/runs/b \"c\""});
  CHECK(reveal->formula_ms == 31.0);
  CHECK(reveal->step_ms == 33.0);
  CHECK(progress.done.at("02_workers") == std::vector<std::string>{"read", "predict"});
  CHECK(progress.answer("02.other") == nullptr);
  struct stat status {};
  REQUIRE(stat(file.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
}

TEST_CASE("each line of the file is JSON with its schema, and lines are only ever added") {
  const TempFolder folder;
  const fs::path file = folder / "p.jsonl";
  const Question question = asked_questions().at(1);
  ProgressWriter(file).commit(question, typed(question, "rises"));
  const std::string first = text_of_file(file);
  ProgressWriter(file).reveal(newest(file, question), right_grade(), Truth{}, {});
  const std::string both = text_of_file(file);
  CHECK(both.starts_with(first));
  CHECK(both.back() == '\n');
  const Json line = Json::parse(both.substr(first.size()));
  CHECK(line.at("schema").as_integer() == kProgressSchema);
  CHECK(line.at("kind").as_text() == "reveal");
  CHECK_THROWS(line.at("number"));  // a choice has none
}

TEST_CASE("a reveal without a stored prediction is refused, and is of the answer that was graded") {
  const TempFolder folder;
  const fs::path file = folder / "p.jsonl";
  const std::vector<Question> all = asked_questions();
  ProgressWriter writer(file);
  StoredAnswer graded{};
  graded.id = all[0].id;
  const auto reveal = [&] { writer.reveal(graded, right_grade(), measured(4), {}); };
  CHECK_THAT(error_of(reveal), says("nothing is revealed before a prediction is stored") &&
                                   says("02.best_workers has none") && says("./isobar quiz 02.best_workers"));
  CHECK(text_of_file(file).empty());
  writer.commit(all[1], typed(all[1], "a"));
  CHECK_THAT(error_of(reveal), says("has none"));  // that of another question counts for nothing
  writer.commit(all[0], typed(all[0], "1"));
  graded = newest(file, all[0]);
  CHECK(graded.line == 2);
  reveal();
  reveal();
  CHECK(read_progress(file).reveals.size() == 2);
  CHECK(read_progress(file).reveals[1].of == 1);
  writer.commit(all[0], typed(all[0], "2"));
  CHECK(read_progress(file).reveal(all[0].id) == nullptr);  // the new prediction is open again
  const std::string before = text_of_file(file);
  CHECK_THAT(failure_of(reveal), says("02.best_workers was answered again while this answer was graded") &&
                                     says("reveals the newer answer"));
  CHECK(text_of_file(file) == before);
  graded = newest(file, all[0]);
  reveal();
  CHECK(read_progress(file).reveal(all[0].id)->of == 2);
}

TEST_CASE("a reveal names the line of its answer, and lines of before are of the newest one") {
  const TempFolder folder;
  const fs::path file = folder / "p.jsonl";
  const std::string of_first = R"({"schema":1,"kind":"reveal","id":"02.a","outcome":"right","of":1})";
  const std::string of_newest = R"({"schema":1,"kind":"reveal","id":"02.a","outcome":"right"})";
  const std::string answer = std::string(kAnswer) + "\n";
  write_text(file, answer + answer + of_first + "\n" + of_newest + "\n");
  const CourseProgress progress = read_progress(file);
  REQUIRE(progress.reveals.size() == 2);
  CHECK(progress.reveals[0].of == 0);
  CHECK(progress.reveals[1].of == 1);
  // Where the answer's line is damaged no other answer gets its outcome.
  write_text(file, "{\"schema\"\n" + answer + of_first + "\n");
  CHECK(read_progress(file).reveals.empty());
  CHECK_THAT(read_progress(file).problems.at(1), says("a reveal of 02.a whose answer is not there"));
}

TEST_CASE("an answer beside one that the learner did not see is refused") {
  const TempFolder folder;
  const fs::path file = folder / "p.jsonl";
  const Question question = asked_questions().at(0);
  ProgressWriter writer(file);
  writer.commit(question, typed(question, "4"), 0);
  const std::string before = text_of_file(file);
  CHECK_THAT(failure_of([&] { writer.commit(question, typed(question, "5"), 0); }),
             says("02.best_workers was answered elsewhere in the meantime") && says("./isobar quiz"));
  CHECK(text_of_file(file) == before);
  writer.commit(question, typed(question, "5"), newest(file, question).line);
  CHECK(newest(file, question).text == "5");
}

TEST_CASE("runs that are an answer are stored one by one, as absolute paths") {
  const TempFolder folder;
  const fs::path file = folder / "p.jsonl";
  const Question question = asked_questions().at(3);
  ProgressWriter(file).commit(question, answer_of_runs(question, {"my runs/a", "/tmp/x/../b"}));
  const std::vector<std::string> runs = newest(file, question).runs;
  REQUIRE(runs.size() == 2);
  CHECK(runs[0] == (fs::current_path() / "my runs/a").string());
  CHECK(runs[1] == "/tmp/b");
}

TEST_CASE("a damaged line is named and loses nothing else, and half a line is ended") {
  const TempFolder folder;
  const fs::path file = folder / "p.jsonl";
  const std::string zeros(12, '\0');
  const std::vector<std::pair<std::string, std::string>> damages = {
      {"{\"schema\":1,\"kind\":\"answ", "no JSON"},
      {zeros, "no JSON"},
      {"[1,2]", "schema"},
      {"{\"kind\":\"answer\",\"id\":\"x\"}", "schema"},
      {"{\"schema\":\"1\"}", ""},
      {"{\"schema\":1,\"kind\":\"wish\"}", "unknown kind of line: \"wish\""},
      {"{\"schema\":1,\"kind\":\"answer\",\"id\":7,\"answer\":\"4\"}", ""},
      {"{\"schema\":1,\"kind\":\"answer\",\"id\":\"x\"}", "answer"},
      {"{\"schema\":1,\"kind\":\"reveal\",\"id\":\"02.b\",\"outcome\":\"right\"}",
       "a reveal of 02.b whose answer is not there"},
      {"\xff\xfe", "no JSON"}};
  std::string text = std::string(kAnswer) + "\n";
  for (const auto& [line, what] : damages) text += line + "\n";
  write_text(file, text + kAnswer + "\n{\"half");
  CourseProgress progress = read_progress(file);
  CHECK(progress.answers.size() == 2);
  REQUIRE(progress.problems.size() == damages.size() + 1);
  for (std::size_t i = 0; i < damages.size(); ++i) {
    INFO(damages[i].first << " -> " << progress.problems[i]);
    CHECK_THAT(progress.problems[i], says(file.string() + ":" + std::to_string(i + 2) + ": "));
    CHECK_THAT(progress.problems[i], says(damages[i].second));
  }
  const std::string before = text_of_file(file);
  const Question question = asked_questions().at(0);
  ProgressWriter(file).commit(question, typed(question, "4"));
  CHECK(text_of_file(file).starts_with(before + "\n{"));
  CHECK(read_progress(file).answers.size() == 3);
  CHECK(read_progress(file).problems.size() == damages.size() + 1);
}

TEST_CASE("a whole line without its end counts, and many damaged lines are counted, not listed") {
  const TempFolder folder;
  write_text(folder / "p", kAnswer);
  CHECK(read_progress(folder / "p").answers.size() == 1);
  std::string text;
  for (int i = 0; i < 100; ++i) text += "?\n";
  write_text(folder / "many", text + kAnswer);
  const CourseProgress progress = read_progress(folder / "many");
  CHECK(progress.answers.size() == 1);
  CHECK(progress.problems.size() == 21);
  CHECK_THAT(progress.problems.back(), says("80 more"));
}

TEST_CASE("a file of a newer Isobar is refused and not touched") {
  const TempFolder folder;
  const fs::path file = folder / "p.jsonl";
  const std::string text = std::string(kAnswer) + "\n{\"schema\":2,\"kind\":\"dream\"}\n";
  write_text(file, text);
  const Question question = asked_questions().at(0);
  const auto check_refused = [&](const std::function<void()>& body) {
    const std::string said = error_of(body);
    CHECK_THAT(said,
               says("the progress file was written by a newer Isobar (schema 2; this one reads schema 1)"));
    CHECK_THAT(said, says(file.string() + ":2") && says("ISOBAR_PROGRESS"));
  };
  check_refused([&] { read_progress(file); });
  check_refused([&] { ProgressWriter(file).commit(question, typed(question, "4")); });
  check_refused([&] { ProgressWriter(file).done("02_workers", "read"); });
  CHECK(text_of_file(file) == text);
}

TEST_CASE("a file that cannot be written, or is none, is an error that says where to go") {
  const TempFolder folder;
  const Question question = asked_questions().at(0);
  const auto commit_to = [&](const fs::path& file) {
    return [&question, file] { ProgressWriter(file).commit(question, typed(question, "4")); };
  };
  write_text(folder / "file", "");
  const auto elsewhere = says("hint:  ISOBAR_PROGRESS=FILE keeps it in another file");
  CHECK_THAT(failure_of(commit_to(folder / "file/p.jsonl")), says("cannot make the folder") && elsewhere);
  fs::create_directory(folder / "folder");
  CHECK_THAT(failure_of(commit_to(folder / "folder")), says("cannot write the progress file") && elsewhere);
  CHECK_THAT(failure_of(commit_to("/dev/full")), says("not a regular file") && elsewhere);
  CHECK_THAT(failure_of(commit_to("/proc/isobar/p.jsonl")), says("cannot make the folder") && elsewhere);
  CHECK_THAT(error_of([&] { read_progress(folder / "folder"); }), says("not a regular file"));
  fs::resize_file(folder / "file", (std::uintmax_t{64} << 20) + 1);
  CHECK_THAT(error_of([&] { read_progress(folder / "file"); }), says("at most 67108864 are read"));
  CHECK_THAT(error_of(commit_to(folder / "file")), says("at most 67108864 are read"));
  CHECK(fs::file_size(folder / "file") == (std::uintmax_t{64} << 20) + 1);
}

TEST_CASE("the file is where the environment says") {
  const auto with = [](const char* name, const char* value) {
    value == nullptr ? unsetenv(name) : setenv(name, value, 1);
  };
  struct Kept {
    std::string name, value;
    bool was = false;
    explicit Kept(const char* of) : name(of), was(std::getenv(of) != nullptr) {
      if (was) value = std::getenv(of);
    }
    ~Kept() { was ? setenv(name.c_str(), value.c_str(), 1) : unsetenv(name.c_str()); }
  };
  const Kept progress("ISOBAR_PROGRESS"), data("XDG_DATA_HOME"), home("HOME");
  with("ISOBAR_PROGRESS", "/x/y.jsonl");
  CHECK(progress_file() == "/x/y.jsonl");
  with("ISOBAR_PROGRESS", nullptr);
  with("XDG_DATA_HOME", "/data");
  CHECK(progress_file() == "/data/isobar/progress.jsonl");
  with("XDG_DATA_HOME", "relative");  // the specification of XDG has it ignored
  with("HOME", "/home/x");
  CHECK(progress_file() == "/home/x/.local/share/isobar/progress.jsonl");
  with("HOME", nullptr);
  CHECK_THAT(error_of([] { progress_file(); }), says("export ISOBAR_PROGRESS"));
}

TEST_CASE("the export is CSV that no spreadsheet computes") {
  CourseProgress progress;
  progress.answers = {{"02.a", "=cmd()", std::nullopt, "", "2026-11-25T09:00:00Z", "02_workers", "choice"},
                      {"02.b", "1,5 \"x\"", 1.5, "ms", "2026-11-25T09:01:00Z", "02_workers", "number"},
                      {"02.b", "@a\nb", std::nullopt, "", "", "", ""},
                      {"02.c", "a;=1+1; \"-x;b-c; d", std::nullopt, "", "", "", ""}};
  progress.reveals = {{.id = "02.b",
                       .outcome = "right",
                       .truth = "-2 ms",
                       .number = 2,
                       .source = "measured here",
                       .runs = {"/a", "/b"},
                       .time = "",
                       .of = 1,
                       .formula_ms = {},
                       .step_ms = {}}};
  CHECK(progress_csv(progress) ==
        "time,id,lesson,kind,answer,unit,outcome,truth,source,runs\r\n"
        "2026-11-25T09:00:00Z,02.a,02_workers,choice,\"'=cmd()\",,,,,\r\n"
        "2026-11-25T09:01:00Z,02.b,02_workers,number,\"1,5 \"\"x\"\"\",ms,right,\"'-2 ms\",measured here,/a "
        "/b\r\n"
        ",02.b,,,\"'@a?b\",,,,,\r\n"
        ",02.c,,,\"a;'=1+1; \"\"'-x;b-c; d\",,,,,\r\n");
}
