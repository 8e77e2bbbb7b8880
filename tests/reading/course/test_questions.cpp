// What a lesson asks is read whole, or refused with the place and the mistake.
#include <fstream>

#include "course/question.h"
#include "reading/course/asked.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/temp_folder.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

struct Mistake {
  const char* from;
  const char* to;
  const char* what;
  const char* where;  ///< line and column
  const char* hint;
};

/// Each mistake in the text is said with its place.
void check_mistakes(const std::string& text, const std::vector<Mistake>& mistakes) {
  for (const Mistake& mistake : mistakes) {
    INFO(mistake.from << " -> " << mistake.to);
    const std::string wrong = replaced(text, mistake.from, mistake.to);
    const std::string said = error_of([&] { parse_questions(wrong, "q.toml", "02_workers"); });
    CHECK_THAT(said, says(mistake.what));
    CHECK_THAT(said, says(std::string("where: q.toml:") + mistake.where));
    CHECK_THAT(said, says(std::string("hint:  ") + mistake.hint));
  }
}

void write_questions(const fs::path& home, const std::string& lesson, const std::string& text) {
  fs::create_directories(home / "lessons" / lesson);
  std::ofstream(home / "lessons" / lesson / "lesson.toml") << "title = \"x\"\n";
  std::ofstream(home / "lessons" / lesson / "questions.toml") << text;
}

}  // namespace

TEST_CASE("a question is read with its runs, which take over what the file and the question say") {
  const std::vector<Question> all = asked_questions();
  REQUIRE(all.size() == 4);
  const Question& best = all[0];
  CHECK(best.id == "02.best_workers");
  CHECK(best.lesson == "02_workers");
  CHECK(best.kind == AnswerKind::number);
  CHECK(best.goal == 2);
  CHECK_FALSE(best.tolerance);
  CHECK(best.with.at("runs") == std::vector<std::string>{"w1", "w4"});
  CHECK(best.with.at("of") == std::vector<std::string>{"samples_per_s"});
  CHECK(best.hints.size() == 2);
  CHECK(best.wrong.at(1).answer == "below");
  CHECK(best.origin == "q.toml:5:1");
  REQUIRE(best.runs.size() == 2);
  CHECK(best.runs[0].preset == "cpu_micro");
  CHECK(best.runs[0].lesson == "02_workers");
  CHECK(best.runs[0].steps == 120);
  CHECK(best.runs[0].repeats == 3);
  CHECK(best.runs[0].sets == std::vector<std::string>{"data.throttle_mb_per_s=40", "data.workers=1"});
  CHECK(best.run("w4")->steps == 60);
  CHECK(best.run("w5") == nullptr);
  CHECK(all[1].choice("rises")->text == "ends higher than it began");
  CHECK(all[1].beat == "break");
  CHECK(all[1].goal == 0);
  CHECK(all[3].kind == AnswerKind::make);
}

TEST_CASE("a run may be recorded, predicted, or end with an error on purpose") {
  std::string text =
      replaced(all_kinds(), "name = \"good\"", "name = \"good\"\nrecorded = \"01_baseline/recorded/x\"");
  text = replaced(text, "name = \"bad\"", "name = \"bad\"\nlesson = \"06_ddp\"\nranks = 2\nfails = \"1\"");
  const Question question = parse_questions(text, "q.toml", "02_workers").at(1);
  CHECK(question.runs[0].recorded == "01_baseline/recorded/x");
  CHECK(question.runs[1].lesson == "06_ddp");
  CHECK(question.runs[1].ranks == 2);
  CHECK(question.runs[1].fails == "1");
  const std::string exact = replaced(all_kinds(), "unit = \"workers\"", "unit = \"workers\"\nexact = true");
  CHECK(parse_questions(exact, "q.toml", "02_workers").at(0).tolerance == 0.0);
}

TEST_CASE("a mistake in a questions.toml is said with file, line, what and a hint") {
  check_mistakes(
      all_kinds(),
      {{"goal = 2", "gaol = 2", "a question has no key \"gaol\"", "10:1", "did you mean goal?"},
       {"preset =", "presets =", "a file of questions has no key \"presets\"", "1:1", "did you mean preset?"},
       {"text = \"falls", "words = \"falls", "a choice has no key", "50:1", "known: key, text"},
       {"steps = 60", "step = 60", "a run has no key \"step\"", "33:1", "did you mean steps?"},
       {"kind = \"number\"", "kind = \"numbr\"", "kind cannot be \"numbr\"", "8:1", "did you mean number?"},
       {"kind = \"number\"\n", "", "a question has no kind", "5:1", "kinds: choice, direction"},
       {"beat = \"predict\"", "beat = \"later\"", "beat cannot be \"later\"", "9:1",
        "it is one of: predict, break"},
       {"unit = \"workers\"", "unit = \"worker\"", "unit cannot be \"worker\"", "11:1",
        "did you mean workers?"},
       {"unit = \"workers\"\n", "", "a number needs a unit", "5:1", "units: us, ms, s"},
       {"rule = \"best\"", "rule = \"beast\"", "there is no rule \"beast\"", "5:1", "did you mean best?"},
       {"rule = \"best\"", "rule = \"skips\"", "the rule skips cannot grade a number", "5:1",
        "it grades: choice"},
       {"of = ", "off = ", "best has no argument \"off\"", "5:1", "did you mean of?"},
       {"with = { healthy = \"good\", ", "with = { ", "the rule curve needs healthy", "35:1", ""},
       {"fault = \"bad\" }", "fault = \"bed\" }", "fault = \"bed\" is none of its runs", "35:1",
        "did you mean bad?"},
       {"\"w1\", \"w4\"]", "\"w1\"]", "the run w4 is not passed to the rule", "5:1", "name it in `with`"},
       {"name = \"w4\"", "name = \"w1\"", "two runs are called w1", "30:1", "each has its own name"},
       {"name = \"w4\"\n", "", "a run has no name", "30:1", "the rule"},
       {"id = \"02.no_throttle\"", "id = \"02.best_workers\"", "two questions have the id", "35:1",
        "the other is at q.toml:5:1"},
       {"id = \"02.no_throttle\"", "id = \"03.no_throttle\"", "does not belong to 02_workers", "35:1",
        "it begins with 02."},
       {"id = \"02.no_throttle\"", "id = \"02.7\"", "does not belong to 02_workers", "35:1",
        "it begins with 02."},
       {"id = \"02.best_workers\"\n", "", "a question has no id", "5:1", "for example"},
       {"answer = \"16\"", "answer = \"many\"", "\"many\" is not a possible answer", "5:1",
        "answers: below, above"},
       {"answer = \"rises\"", "answer = \"raises\"", "\"raises\" is not a possible answer", "35:1",
        "did you mean rises?"},
       {"key = \"rises\"", "key = \"same\"", "two choices have the key same", "35:1", "each has its own"},
       {"hints = [\"Nothing is random in it.\"]\n", "", "0 hints", "35:1", "one to three"},
       {"giveaway = [\"main.cpp:1\"]\n", "", "it has no giveaway", "63:1", "giveaway lists"}});
}

TEST_CASE("what a rule could not grade is refused before anybody answers") {
  check_mistakes(
      all_kinds(),
      {{"unit = \"workers\"", "unit = \"ms\"", "the rule best does not give ms", "5:1",
        "it gives a number of"},
       {"key = \"rises\"", "key = \"raises\"\n#", "the rule never accepts \"raises\"", "35:1",
        "did you mean rises?"},
       {"key = \"rises\"", "key = \"a\"", "the key a is the letter of another choice", "35:1",
        "a key is a word"},
       {"name = \"w4\"", "name = \"W-4\"", "a run cannot be called W-4", "30:1", "its name has lower-case"},
       {"{truth}.\"", "{truth.\"", "a placeholder is not closed: {truth.", "35:1", "placeholders look like"},
       {"ends at {fault_end}.", "ends at {fault_end.", "a placeholder is not closed", "35:1", ""},
       {"anchors = [\"loss.backward\"]", "anchors = [\"loss.backward\"], file = \"x.h\"",
        "the rule line has no argument \"file\"", "63:1", "it has: anchors, ends, stop"}});
  std::string choice = kChoiceQuestion;
  choice = replaced(choice, "rule = \"curve\"\nwith = { healthy = \"good\", fault = \"bad\" }",
                    "rule = \"fixed\"\nwith = { key = \"flat\" }\ngiveaway = [\"x\"]");
  choice.erase(choice.find("[[question.run]]"));
  CHECK_THAT(error_of([&] { parse_questions(choice, "q.toml", "02_workers"); }),
             says("\"flat\" is none of the choices") && says("q.toml:2:1"));
  const auto refused = [&](const std::string& rule, const std::string& with, const std::string& unit) {
    std::string text = replaced(kNumberQuestion, "rule = \"best\"", "rule = \"" + rule + "\"");
    text = replaced(text, "with = { runs = [\"w1\", \"w4\"], of = \"samples_per_s\" }", "with = " + with);
    text = replaced(text, "unit = \"workers\"", "unit = \"" + unit + "\"");
    return error_of([&] { parse_questions(text, "q.toml", "02_workers"); });
  };
  const std::string one = "{ base = \"w1\", other = \"w4\"";
  CHECK_THAT(refused("ratio", one + " }", "ms"), says("does not give ms") && says("q.toml:2:1"));
  CHECK_THAT(refused("ratio", one + ", of = \"lunches\" }", "x"), says("did you mean launches?"));
}

TEST_CASE("a missing field of a question is named") {
  for (const char* const key : {"from", "ask", "why", "rule", "reveal", "beat"}) {
    INFO(key);
    const std::string text = all_kinds();
    const std::size_t at = text.find(std::string("\n") + key + " = ") + 1;
    std::string without = text;
    without.erase(at, text.find('\n', at) - at);
    const std::string said = error_of([&] { parse_questions(without, "q.toml", "02_workers"); });
    CHECK_THAT(said, says(std::string("02.best_workers: it has no ") + key) && says("q.toml:5:1"));
  }
}

TEST_CASE("a value of the wrong type or out of range is refused at its place") {
  check_mistakes(
      all_kinds(),
      {{"goal = 2", "goal = 0", "goal wants an integer from 1 to 100, got the integer 0", "10:1",
        "the q.toml"},
       {"goal = 2", "tolerance = 1.5", "tolerance wants a number from 0 to 1", "10:1", "the q.toml"},
       {"goal = 2", "tolerance = nan", "tolerance wants a number from 0 to 1", "10:1", "the q.toml"},
       {"goal = 2", "tolerance_abs = -1", "tolerance_abs wants a number that is 0 or more", "10:1",
        "the q.toml"},
       {"goal = 2", "exact = false", "exact wants true", "10:1", "the q.toml"},
       {"goal = 2", "exact = true\ntolerance = 0.1", "exact or has a tolerance", "5:1", "exact = true"},
       {"steps = 60", "steps = 0", "steps wants an integer from 1", "33:1", "the q.toml"},
       {"steps = 60", "repeats = 21", "repeats wants an integer from 1 to 20", "33:1", "the q.toml"},
       {"steps = 60", "ranks = 257", "ranks wants an integer from 1 to 256", "33:1", "the q.toml"},
       {"steps = 60", "fails = \"0\"", "fails wants an exit code", "33:1", "the q.toml"},
       {"steps = 60", "recorded = \"../x\"", "recorded wants a folder below lessons/", "33:1", "the q.toml"},
       {"steps = 60", "recorded = \"x\"", "the run w4 is recorded", "30:1", "recorded goes with"},
       {"\"data.workers=1\"", "\"data.workers\"", "set wants settings such as", "28:1", "the q.toml"},
       {"hints = [\"How", "hints = \"x\" #", "hints wants a list of strings", "18:1", "the q.toml"},
       {"ask = \"Which", "ask = \"\" #", "ask wants a string that is not empty", "12:1", "the q.toml"},
       {"wrong = [{", "wrong = 3 #", "wrong wants tables, got the integer 3", "45:1", "the q.toml"},
       {"goal = 2", "goal = 2\ngoal = 2", "this is not TOML", "11:", "keys look like"},
       {"goal = 2", "goal = ", "this is not TOML", "10:", "keys look like"}});
}

TEST_CASE("choices, units and tolerances go with their kinds alone") {
  check_mistakes(
      all_kinds(),
      {{"beat = \"break\"", "beat = \"break\"\nunit = \"ms\"", "a choice has no unit", "35:1",
        "they belong to"},
       {"anchors = [\"loss.backward\"] }", "anchors = [\"loss.backward\"] }\ntolerance = 0.1",
        "a find has no unit and no tolerance", "63:1", "they belong to"},
       {"[[question.run]]\nname = \"w1\"",
        "[[question.choice]]\nkey = \"a\"\ntext = \"b\"\n\n[[question.run]]\nname = \"w1\"",
        "a number has no choices", "5:1", "kind = \"choice\""},
       {"[[question.choice]]\nkey = \"rises\"\ntext = \"ends higher than it began\"\n", "",
        "a choice needs two", "35:1", "each has a key"},
       {"hints = [\"What do ranks share?\"]", "hints = [\"x\"]\nwrong = [{ answer = \"yes\", says = \"x\" }]",
        "a make question has no wrong answers", "78:1", "leave `wrong` out"}});
}

TEST_CASE("questions are found by id, and those of earlier lessons open a later one") {
  const TempFolder home;
  write_questions(home.path(), "01_baseline", "");
  write_questions(home.path(), "02_workers", all_kinds());
  fs::create_directories(home / "lessons/05_fusion");
  write_questions(home.path(), "05_fusion", "");
  CHECK(read_questions(home.path(), "01_baseline").empty());
  CHECK(read_questions(home.path(), "05_fusion").empty());
  const auto opening = [&](const std::string& lesson) {
    return opening_questions(all_questions(home.path()), lesson);
  };
  const auto open_05 = [&](const std::string& ids) {
    write_questions(home.path(), "05_fusion", "opens_with = [" + ids + "]\n");
  };
  open_05("\"02.best_workers\"");
  CHECK(all_questions(home.path()).questions.size() == 4);
  CHECK(find_question(home.path(), "02.best_workers").goal == 2);
  CHECK(find_question(home.path(), "best_workers").id == "02.best_workers");
  CHECK_THAT(error_of([&] { find_question(home.path(), "02.best_worker"); }),
             says("did you mean 02.best_workers?"));
  REQUIRE(opening("05_fusion").size() == 1);
  CHECK(opening("05_fusion")[0].id == "02.best_workers");
  CHECK(opening("02_workers").empty());
  std::string others = all_kinds();
  for (std::size_t at = others.find("\"02."); at != std::string::npos; at = others.find("\"02."))
    others.replace(at, 4, "\"03.");
  write_questions(home.path(), "03_gpu_loader", others);
  open_05("\"03.best_workers\", \"02.best_workers\"");
  REQUIRE(opening("05_fusion").size() == 2);
  CHECK(opening("05_fusion")[0].id == "03.best_workers");
  open_05("\"02.best_worker\"");
  const CourseQuestions wrong = all_questions(home.path());
  REQUIRE(wrong.problems.contains("05_fusion"));
  CHECK_THAT(
      wrong.problems.at("05_fusion").text(),
      says("no earlier lesson has the question 02.best_worker") && says("did you mean 02.best_workers?"));
  CHECK_THAT(error_of([&] { find_question(home.path(), "best_workers"); }),
             says("02.best_workers, 03.best_workers"));
}

TEST_CASE("questions that cannot be read hide none of other lessons") {
  const TempFolder home;
  write_questions(home.path(), "01_baseline", "rubbish [");
  write_questions(home.path(), "02_workers", all_kinds());
  const CourseQuestions all = all_questions(home.path());
  CHECK(all.questions.size() == 4);
  REQUIRE(all.problems.size() == 1);
  CHECK_THAT(all.problems.at("01_baseline").where(), says("01_baseline/questions.toml"));
  CHECK(find_question(home.path(), "02.best_workers").id == "02.best_workers");
  CHECK(find_question(home.path(), "best_workers").id == "02.best_workers");
  for (const char* const id : {"01.anything", "anything"})
    CHECK_THAT(error_of([&] { find_question(home.path(), id); }), says("01_baseline/questions.toml"));
  CHECK_THAT(error_of([&] { find_question(home.path(), "02.best_worker"); }),
             says("did you mean 02.best_workers?"));
}
