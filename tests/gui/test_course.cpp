// Questions as cards: answers of every kind, bad ones, reveals, and a file that cannot be used.
#include <fmt/format.h>
#include <sys/resource.h>

#include <csignal>

#include "gui/made_course.h"
#include "gui/made_questions.h"
#include "support/catch.h"

namespace isobar::test_course {

namespace fs = std::filesystem;

namespace {

constexpr float kWide = 1440, kHigh = 2000;

/// A window over a made-up course, its runs there or not.
struct Learner {
  explicit Learner(bool with_runs, const std::string& body = "sleep 30\n") {
    for (const Question& question : all_questions(course.folder / "home").questions) {
      questions[question.id] = question;
      if (with_runs) write_fitting_runs(question, course.folder / "home", course.folder / "runs");
    }
    AppOptions options = course.options();
    options.isobar = fake_isobar(course.folder, body);
    window.emplace(options, kWide, kHigh);
    window->settle();
  }
  const Question& question(const std::string& id) const { return questions.at(id); }
  void show(const std::string& id) { show_card(*window, question(id)); }
  Outcome play(const std::string& id, const std::string& answer) {
    show(id);
    answer_card(*window, question(id), answer);
    return reveal_card(*window, question(id));
  }
  std::shared_ptr<const CourseView> view() { return window->app().course(); }

  CourseFolder course{kMadeQuestions};
  std::map<std::string, Question> questions;
  std::optional<Headless> window;
};

/// No file grows beyond so many bytes while it lives.
struct FullDisk {
  explicit FullDisk(std::uintmax_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    rlimit limit = before;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, SIG_DFL);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  rlimit before{};
};

}  // namespace

TEST_CASE("Right and wrong answers of each kind are told apart, and kept") {
  Learner learner(/*with_runs=*/true);
  CHECK(learner.play("01.forward_ms", "5 ms") == Outcome::right);
  CHECK(learner.window->has("outcome right"));
  CHECK(learner.window->has("prediction beside truth"));
  CHECK(learner.play("01.larger", "up") == Outcome::not_right);
  CHECK(learner.window->has("outcome not right"));
  CHECK(learner.play("01.where", "1") == Outcome::not_right);
  CHECK(learner.play("01.fastest", "quick") == Outcome::right);
  CHECK(learner.play("01.mistake", "rises") == Outcome::not_right);
  const CourseProgress kept = read_progress(learner.course.progress());
  CHECK(kept.answers.size() == 5);
  CHECK(kept.reveals.size() == 5);
  CHECK(kept.reveal("01.fastest")->outcome == outcome_name(Outcome::right));
  learner.window.reset();  // ImGui has one context at a time
  // Another window shows what was revealed before it was opened.
  Headless later(learner.course.options(), kWide, kHigh);
  later.settle();
  show_card(later, learner.question("01.forward_ms"));
  later.until("what was revealed", [&] { return later.has("outcome right"); });
}

TEST_CASE("Curves to choose from are equally high, however long their words are") {
  Learner learner(/*with_runs=*/false);
  learner.show("01.mistake");
  const auto height = [&](const char* key) {
    return learner.window->box(std::string("choice ") + key).height();
  };
  for (const char* const key : {"slower", "flat", "rises"}) CHECK(height(key) == height("same"));
}

TEST_CASE("Nothing is shown before an answer is kept, and hints come when asked for") {
  Learner learner(/*with_runs=*/true);
  learner.show("01.forward_ms");
  CHECK_FALSE(learner.window->has("Reveal"));
  CHECK_FALSE(learner.window->has("Make the runs"));
  learner.window->click("hint");
  learner.window->click("hint");
  CHECK_FALSE(learner.window->has("hint"));
  CHECK(learner.window->state().course.card("01.forward_ms").hints == 2);
  learner.window->type("answer", "7");
  // A card that is left keeps what stands in it.
  learner.window->click("next question");
  CHECK(learner.window->state().course.question == "01.where");
  learner.window->click("previous question");
  CHECK(learner.window->state().course.card("01.forward_ms").typed == "7");
  CHECK(read_progress(learner.course.progress()).answers.empty());
}

TEST_CASE("What is no answer is said in a sentence, and nothing is kept") {
  Learner learner(/*with_runs=*/false);
  const auto refused = [&](const std::string& id, const std::string& typed) {
    learner.show(id);
    if (!typed.empty()) learner.window->type("answer", typed);
    learner.window->click("Commit");
    INFO(id << " " << typed);
    CHECK_FALSE(learner.window->state().course.card(id).problem.empty());
    CHECK(learner.view()->progress.answers.empty());
  };
  refused("01.forward_ms", "");
  refused("01.forward_ms", "many");
  refused("01.forward_ms", "5 GB");
  refused("01.forward_ms", "-5 ms");
  refused("01.larger", "");
  refused("01.where", "99999");
  refused("01.where", "workers.cpp:3");
  refused("01.fastest", "");
}

TEST_CASE(
    "Where runs are missing the card says what they cost, makes them as a terminal would, and can stop") {
  Learner learner(/*with_runs=*/false);
  Headless& window = *learner.window;
  learner.show("01.larger");
  answer_card(window, learner.question("01.larger"), "same");
  window.until("the cost", [&] { return learner.view()->of("01.larger")->found != nullptr; });
  CHECK(reveal_card(window, learner.question("01.larger")) == Outcome::cannot_answer);
  CHECK(window.has("outcome cannot answer"));
  CHECK(window.has("Copy the command that makes it"));
  CHECK(learner.view()->of("01.larger")->state == QuestionState::committed);
  const Box make = window.box("Make the runs");
  window.click("Make the runs");
  window.until("the program", [&] { return fs::exists(learner.course.folder / "arguments"); });
  CHECK(text_of(learner.course.folder / "arguments") == "quiz\n01.larger\n--runs-only\n--yes\n");
  CHECK(window.app().launcher().is_running());
  CHECK_FALSE(window.has("Make the runs"));  // in its place, greyed
  REQUIRE(window.has("stop the runs"));
  CHECK(window.box("stop the runs").x0 > make.x1);
  window.click("stop the runs");
  window.until("the stop", [&] { return !window.app().launcher().is_running(); });
  // They come from elsewhere: the answer waits for them.
  write_fitting_runs(learner.question("01.larger"), learner.course.folder / "home",
                     learner.course.folder / "runs");
  window.until("the runs to be found", [&] { return window.app().feed_state().runs->runs.size() == 6; });
  window.settle();
  CHECK(reveal_card(window, learner.question("01.larger")) == Outcome::not_right);
}

TEST_CASE("The runs of all answers are made one question after the other, until one is stopped") {
  Learner learner(/*with_runs=*/false,
                  "sleep 0.2; cp \"$0\" \"${0%/*}/ran-$2\"\n[ $2 != 01.fastest ] || sleep 30\n");
  Headless& window = *learner.window;
  const auto ran = [&](const std::string& id) { return fs::exists(learner.course.folder / ("ran-" + id)); };
  const std::map<std::string, std::string> answers = {
      {"01.forward_ms", "5"}, {"01.larger", "up"}, {"01.fastest", "slow"}};
  for (const auto& [id, answer] : answers) {
    learner.show(id);
    answer_card(window, learner.question(id), answer);
  }
  window.until("the sum", [&] { return learner.view()->waiting.at("01_baseline").ids.size() == 3; });
  CHECK(learner.view()->waiting.at("01_baseline").cost_s > 0);
  window.click("Make the runs of all");
  window.until("the last of them", [&] { return ran("01.fastest"); });
  CHECK(ran("01.forward_ms"));
  CHECK(ran("01.larger"));
  window.click("stop the runs");
  window.until("the stop", [&] { return !window.app().launcher().is_running(); });
}

TEST_CASE("A line is found by a click into the code") {
  Learner learner(/*with_runs=*/false);
  Headless& window = *learner.window;
  learner.show("01.where");
  CHECK_FALSE(window.has("line 1"));
  window.click("Show the code");
  window.frames(4);
  REQUIRE(window.has("line 1"));
  const std::string page = text_of(learner.course.folder / "home/lessons/01_baseline/main.cpp");
  const auto lines =
      std::count(page.begin(), page.begin() + static_cast<std::ptrdiff_t>(page.find("int main(")), '\n');
  const std::string item = fmt::format("line {}", lines + 1);
  for (int i = 0; i < 40 && window.box(item).y1 > kHigh - 60; ++i) window.wheel({600, 900}, -10);
  window.click(item);
  CHECK(window.state().course.card("01.where").typed == std::to_string(lines + 1));
  window.click("Commit");
  window.until("the answer", [&] { return !learner.view()->progress.answers.empty(); });
  CHECK(reveal_card(window, learner.question("01.where")) == Outcome::right);
  CHECK_FALSE(window.has("line 1"));  // no longer clickable
}

TEST_CASE("Of a long page only the lines in sight are drawn, and one that is pointed at is scrolled to") {
  Learner learner(/*with_runs=*/false);
  std::string text = "int main() {\n";
  for (int i = 2; i <= 3000; ++i) text += fmt::format("  call({});\n", i);
  write_file_whole(learner.course.folder / "home/lessons/01_baseline/main.cpp", std::string_view(text));
  AppOptions options = learner.course.options();
  learner.window.reset();
  Headless window(options, kWide, kHigh);
  window.settle();
  show_card(window, learner.question("01.where"));
  window.click("Show the code");
  window.frames(4);
  CHECK(window.has("line 1"));
  CHECK_FALSE(window.has("line 2500"));
  window.state().code.line = 2500;
  window.state().code.scroll = true;
  window.frames(4);
  CHECK(window.has("line 2500"));
  CHECK_FALSE(window.has("line 1"));
}

TEST_CASE("A question that was answered can be asked again, and the earlier answer stays") {
  Learner learner(/*with_runs=*/true);
  CHECK(learner.play("01.forward_ms", "500") == Outcome::not_right);
  CHECK_FALSE(learner.view()->of("01.forward_ms")->revealed->graded.says.empty());
  learner.window->click("Ask again");
  CHECK(learner.play("01.forward_ms", "5") == Outcome::right);
  const CourseProgress kept = read_progress(learner.course.progress());
  REQUIRE(kept.answers.size() == 2);
  CHECK(kept.answers[0].text == "500");
}

TEST_CASE("The plots that a reveal speaks of are a click away") {
  Learner learner(/*with_runs=*/true);
  learner.play("01.larger", "down");
  learner.window->click("show compare");
  CHECK(learner.window->state().view == View::compare);
  CHECK(learner.window->state().compared.size() == 6);
  learner.window->settle();
  learner.window->click("show watch");
  CHECK(learner.window->state().view == View::watch);
  CHECK(learner.window->state().compared.count(learner.window->state().run) == 1);
}

TEST_CASE("A progress file of a newer Isobar is named, touched by nothing, and the window goes on") {
  CourseFolder course(kMadeQuestions);
  const std::string newer = "{\"schema\":99,\"kind\":\"answer\",\"id\":\"01.where\",\"answer\":\"1\"}\n";
  write_file_whole(course.progress(), std::string_view(newer));
  Headless window(course.options(), kWide, kHigh);
  window.settle();
  CHECK(window.has("progress problem"));
  CHECK_FALSE(window.app().course()->may_write);
  CHECK_FALSE(window.has("I have read it"));  // in its place, greyed
  show_card(window, find_question(course.folder / "home", "01.forward_ms"));
  CHECK_FALSE(window.has("Commit"));
  window.click("Run");  // the rest of the window does as before
  CHECK(text_of(course.progress()) == newer);
}

TEST_CASE("A damaged line is named, and what stands around it holds") {
  CourseFolder course(kMadeQuestions);
  const std::string text =
      "{\"schema\":1,\"kind\":\"beat\",\"time\":\"2026-11-25T09:00:00Z\",\"lesson\":\"01_baseline\",\"beat\":"
      "\"read\"}\n"
      "{\"schema\":1,\"kind\":\"ans\n";
  write_file_whole(course.progress(), std::string_view(text));
  Headless window(course.options(), kWide, kHigh);
  window.settle();
  CHECK(window.has("progress problem"));
  const Question question = find_question(course.folder / "home", "01.where");
  show_card(window, question);
  answer_card(window, question, "7");
  CHECK(text_of(course.progress()).rfind(text, 0) == 0);
  CHECK(read_progress(course.progress()).answers.size() == 1);
  CHECK(window.app().course()->lessons.at("01_baseline").parts.front().done);
}

TEST_CASE("A file that cannot be written is said on the card, and the answer stays on it") {
  CourseFolder course(kMadeQuestions);
  AppOptions options = course.options();
  write_file_whole(course.folder / "file", std::string_view("no folder\n"));
  options.progress = course.folder / "file/progress.jsonl";
  Headless window(options, kWide, kHigh);
  window.settle();
  const Question question = find_question(course.folder / "home", "01.forward_ms");
  show_card(window, question);
  window.type("answer", "5");
  window.click("Commit");
  window.until("the sentence", [&] { return !window.app().course()->of(question.id)->not_saved.empty(); });
  CHECK(window.has("Commit"));
  CHECK(window.state().course.card(question.id).typed == "5");
}

TEST_CASE("An answer beside an earlier one that cannot be saved stays on the card, and the card says so") {
  Learner learner(/*with_runs=*/true);
  Headless& window = *learner.window;
  REQUIRE(learner.play("01.forward_ms", "500") == Outcome::not_right);
  window.click("Ask again");
  window.type("answer", "5");
  {
    const FullDisk disk(fs::file_size(learner.course.progress()));
    window.click("Commit");
    window.until("the sentence", [&] { return !learner.view()->of("01.forward_ms")->not_saved.empty(); });
  }
  CHECK(window.has("not saved"));
  CHECK(window.state().course.card("01.forward_ms").typed == "5");
  // A look for its runs does not hide it.
  write_fitting_runs(learner.question("01.larger"), learner.course.folder / "home",
                     learner.course.folder / "more");
  fs::rename(learner.course.folder / "more/01_baseline-01.larger-one-0",
             learner.course.folder / "runs/another");
  window.until("another run", [&] { return fs::exists(learner.course.folder / "runs/another"); });
  window.settle();
  CHECK(window.has("not saved"));
  window.click("Commit");
  window.until("the answer", [&] { return learner.view()->progress.answers.size() == 2; });
  CHECK_FALSE(window.has("not saved"));
  CHECK(window.has("Reveal"));
}

TEST_CASE("What another program answered or revealed in the meantime takes the place of what is shown") {
  Learner learner(/*with_runs=*/true);
  Headless& window = *learner.window;
  const Question question = learner.question("01.forward_ms");
  REQUIRE(learner.play(question.id, "500") == Outcome::not_right);
  REQUIRE(window.has("outcome not right"));
  ProgressWriter(learner.course.progress()).commit(question, parse_answer(question, "5 ms"));
  window.until("the answer", [&] { return window.has("Reveal"); });
  CHECK_FALSE(window.has("outcome not right"));
  reveal_question(question, learner.course.folder / "home", learner.course.folder / "runs",
                  learner.course.progress());
  window.until("the reveal", [&] { return window.has("prediction beside truth"); });
  CHECK(window.has("outcome right"));
}

TEST_CASE("What was revealed stays revealed when its runs are gone") {
  Learner learner(/*with_runs=*/true);
  REQUIRE(learner.play("01.forward_ms", "5 ms") == Outcome::right);
  REQUIRE(learner.play("01.fastest", "slow") == Outcome::not_right);
  write_file_whole(learner.course.folder / "home/lessons/01_baseline/reveal.md",
                   std::string_view("# Reveal\n\n## forward_ms\n\n    ./isobar page\n"));
  learner.window.reset();
  fs::remove_all(learner.course.folder / "runs");
  Headless later(learner.course.options(), kWide, kHigh);
  later.settle();
  show_card(later, learner.question("01.forward_ms"));
  later.until("the look for its runs",
              [&] { return later.app().course()->of("01.forward_ms")->found != nullptr; });
  CHECK(later.has("outcome right"));
  CHECK(later.has("as it was written down"));
  later.click("more");
  later.frames(2);
  CHECK(later.has("code ./isobar page"));
  show_card(later, learner.question("01.fastest"));
  CHECK(later.has("outcome not right"));
  later.click("Ask again");
  CHECK(later.has("Commit"));
}

TEST_CASE("A number that was not graded yet is neither right nor wrong, and its goal waits") {
  Learner learner(/*with_runs=*/false);
  const Question question = learner.question("01.forward_ms");
  ProgressWriter writer(learner.course.progress());
  writer.commit(question, parse_answer(question, "5 ms"));
  Graded graded;
  graded.outcome = Outcome::provisional;
  graded.truth = "6 ms";
  writer.reveal(*read_progress(learner.course.progress()).answer(question.id), graded, Truth{}, {});
  learner.show(question.id);
  learner.window->until("what was revealed", [&] { return learner.window->has("outcome provisional"); });
  CHECK_FALSE(learner.window->has("outcome not right"));
  CHECK_FALSE(learner.window->has("outcome right"));
  CHECK(learner.view()->lessons.at("01_baseline").goals.at(0).waits);
}

TEST_CASE("What another program writes into the file is seen without a click") {
  Learner learner(/*with_runs=*/false);
  learner.show("01.where");
  ProgressWriter(learner.course.progress())
      .commit(learner.question("01.where"), parse_answer(learner.question("01.where"), "3"));
  learner.window->until("the answer", [&] { return learner.window->has("Reveal"); });
}

TEST_CASE("A mistake in a questions.toml is named with its place, and the page is there all the same") {
  CourseFolder course("[[question]]\nid = 5\n");
  Headless window(course.options(), kWide, kHigh);
  window.settle();
  CHECK(window.has("questions problem"));
  CHECK(window.app().course()->problems.at("01_baseline").find("questions.toml:") != std::string::npos);
  CHECK(window.has("I have read it"));
}

}  // namespace isobar::test_course
