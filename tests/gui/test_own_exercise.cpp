// The exercise of a lesson in the window, and the tour through its code.
#include <cstdlib>

#include "core/files.h"
#include "exercise/exercise.h"
#include "gui/made_course.h"
#include "record/png.h"
#include "support/catch.h"
#include "support/says.h"

using namespace isobar;

namespace fs = std::filesystem;

namespace {

constexpr float kWidth = 1600;
constexpr float kHeight = 1400;
constexpr const char* kLesson = "02_workers";

/// Somebody at the last part of lesson 02.
struct Builder {
  explicit Builder(const std::string& body = "exit 0\n", bool is_elsewhere = false) {
    AppOptions options = course.options();
    options.isobar = fake_isobar(course.folder, body);
    options.editor = course.folder / "editor";
    if (is_elsewhere) options.visit = [](const std::string&) {};
    window = std::make_unique<Headless>(options, kWidth, kHeight);
    window->state().lesson = kLesson;
    window->state().side = View::lesson;
    window->state().course.parts[kLesson] = kBuildPart;
    window->until("the exercise", [&] { return window->has("box exercise") || window->has("open first"); });
  }
  Exercise exercise() const { return read_exercise(course.folder / "home", kLesson); }
  fs::path my() const { return course.folder / "my"; }
  fs::path file() const { return my() / "02_read_ahead.cpp"; }
  MyFile mine() const { return read_my_file(exercise(), my()); }
  /// As ./isobar check leaves it.
  void checked(ExerciseVerdict verdict) const {
    verdict.digest = digest_of_text(mine().text);
    keep_verdict(exercise(), my(), verdict);
  }
  void place() {
    place_my_file(exercise(), my());
    window->until("the file", [&] { return window->has("check the exercise"); });
  }

  CourseFolder course;
  std::unique_ptr<Headless> window;
};

ExerciseVerdict failed_at(const std::string& name, std::vector<std::string> held) {
  ExerciseVerdict out;
  out.held = std::move(held);
  out.failed = name;
  out.finding = {"batch 0 first", "batch 1", "what take() waits for"};
  return out;
}

/// For who wants to see it: ISOBAR_PICTURES names a folder.
void keep_picture(Headless& window, const std::string& name) {
  const char* const folder = std::getenv("ISOBAR_PICTURES");
  if (folder == nullptr) return;
  const Picture picture = window.picture();
  write_file_whole(fs::path(folder) / (name + ".png"),
                   encode_png(picture.rgba, picture.height, picture.width, 4));
}

}  // namespace

TEST_CASE("An exercise that nobody began is put in place by a button") {
  Builder builder;
  Headless& window = *builder.window;
  CHECK_FALSE(window.has("check the exercise"));
  CHECK(window.has("open race"));
  window.click("begin the exercise");
  window.until("the program", [&] { return fs::exists(builder.course.folder / "arguments"); });
  CHECK(read_text_file(builder.course.folder / "arguments", 1000) == "exercise\n02_workers\n");
}

TEST_CASE("The window shows what a check came to, as it is written down") {
  Builder builder;
  Headless& window = *builder.window;
  builder.place();
  CHECK(window.has("open first"));
  CHECK_FALSE(window.has("changed since"));
  builder.checked(failed_at("order", {"first", "together"}));
  const auto one_hint = [&](bool more) {
    const Hints hints = hints_of(builder.exercise(), "order", failed_at("order", {}).finding.sentence());
    shown_hints(builder.exercise(), builder.my(), hints, more);
  };
  one_hint(false);
  window.until("the verdict", [&] { return window.has("failed order"); });
  CHECK(window.has("held first"));
  CHECK(window.has("held together"));
  CHECK(window.has("open once"));
  CHECK(window.has("why order"));
  keep_picture(window, "exercise-fails");
  // One more hint makes the card longer, whoever asked for it.
  const float before = window.box("open once").y0;
  one_hint(true);
  window.until("the hint", [&] { return window.box("open once").y0 > before + 10; });
  write_file_whole(builder.file(), std::string_view(builder.mine().text + "// more\n"));
  window.until("the change", [&] { return window.has("changed since"); });
  ExerciseVerdict all;
  for (const ExerciseCheck& check : builder.exercise().checks) all.held.push_back(check.name);
  builder.checked(all);
  window.until("all of it", [&] { return window.has("held race"); });
  CHECK_FALSE(window.has("changed since"));
  keep_picture(window, "exercise-holds");
}

TEST_CASE("A first step that holds is drawn, and what was not begun is no failure") {
  CourseFolder course;
  fs::create_directories(course.folder / "home/lessons/00_sgd");
  fs::copy(project_home() / "lessons/00_sgd/exercise", course.folder / "home/lessons/00_sgd/exercise",
           fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  for (const char* const name : {"lesson.toml", "README.md"})
    fs::copy_file(project_home() / "lessons/00_sgd" / name, course.folder / "home/lessons/00_sgd" / name,
                  fs::copy_options::overwrite_existing);
  const Exercise exercise = read_exercise(course.folder / "home", "00_sgd");
  place_my_file(exercise, course.folder / "my");
  ExerciseVerdict verdict = failed_at("mean", {"update"});
  verdict.digest = digest_of_text(read_my_file(exercise, course.folder / "my").text);
  verdict.picture = "\u2847\u28ff  \u25cb  x\n\u25cb start\nafter 60 steps\n";
  keep_verdict(exercise, course.folder / "my", verdict);
  Headless window(course.options(), kWidth, kHeight);
  window.state().lesson = "00_sgd";
  window.state().side = View::lesson;
  window.state().course.parts["00_sgd"] = kBuildPart;
  window.until("the picture", [&] { return window.has("picture of the first step"); });
  CHECK(window.has("held update"));
  CHECK(window.has("open mean"));
  CHECK_FALSE(window.has("failed mean"));
  keep_picture(window, "exercise-first-step");
}

TEST_CASE("Check and hint start what a terminal would") {
  Builder builder("exit 1\n");
  Headless& window = *builder.window;
  builder.place();
  builder.checked(failed_at("first", {}));
  window.until("the verdict", [&] { return window.has("failed first"); });
  const auto ends = [&](const std::string& words) {
    window.until(words, [&] { return window.state().toast.find("does not hold") != std::string::npos; });
    CHECK(read_text_file(builder.course.folder / "arguments", 1000) == words);
    window.state().toast.clear();
  };
  window.click("check the exercise");
  ends("check\n02_workers\n");
  window.click("One more hint");
  ends("check\n02_workers\n--hint\n");
}

TEST_CASE("A file that does not compile is told in the window") {
  Builder builder;
  Headless& window = *builder.window;
  builder.place();
  ExerciseVerdict verdict;
  verdict.problem = CompileProblem{"it does not compile: expected ';'", "my/02_read_ahead.cpp:41:12", {}};
  builder.checked(verdict);
  window.until("the problem", [&] { return window.has("exercise problem"); });
  CHECK(window.has("open first"));
  // A kept verdict that cannot be read is none.
  write_file_whole(builder.my() / ".given/02_workers.json", std::string_view("{\"held\": 5}\n"));
  window.until("none", [&] { return !window.has("exercise problem"); });
}

TEST_CASE("What the learner changed is shown beside the skeleton, and an editor opens the file") {
  Builder builder;
  Headless& window = *builder.window;
  builder.place();
  write_file_whole(builder.file(), std::string_view(builder.mine().text + "// mine\n"));
  write_file_whole(builder.course.folder / "editor",
                   std::string_view("#!/bin/bash\nprintf '%s' \"$1\" >'" +
                                    (builder.course.folder / "edited").string() + "'\n"));
  fs::permissions(builder.course.folder / "editor", fs::perms::owner_all);
  window.until("the change", [&] {
    return window.app().course()->exercises.at(kLesson)->mine.text.ends_with("// mine\n");
  });
  window.click("Open in editor");
  window.until("the editor", [&] {
    const fs::path file = builder.course.folder / "edited";
    return fs::exists(file) && read_text_file(file, 1000) == builder.file().string();
  });
  window.click("What I changed");
  CHECK(window.state().view == View::code);
  CHECK(window.state().code.is_diff);
  CHECK(window.state().code.page.added == 1);
  CHECK(window.state().code.page.removed == 0);
}

TEST_CASE("No editor is started for who looks from elsewhere") {
  Builder builder("exit 0\n", /*is_elsewhere=*/true);
  builder.place();
  builder.window->until("the file", [&] { return builder.window->has("Open in editor"); });
  builder.window->click("Open in editor");
  CHECK(std::string(ImGui::GetClipboardText()) == builder.file().string());
  CHECK(builder.window->state().toast.find("copied") == 0);
  CHECK_FALSE(fs::exists(builder.course.options().logs / "editor.log"));
}

TEST_CASE("Stops of the tour lead into the code, but for those that a question asks for") {
  CourseFolder course;
  fs::copy_file(project_home() / "lessons/01_baseline/questions.toml",
                course.folder / "home/lessons/01_baseline/questions.toml");
  Headless window(course.options(), kWidth, 4000);
  window.state().lesson = "01_baseline";
  window.state().course.parts["01_baseline"] = 0;
  window.until("the tour", [&] { return window.has("stop sampler"); });
  CHECK(window.has("stop update"));
  CHECK_FALSE(window.has("stop loss"));
  keep_picture(window, "tour");
  window.click("stop update");
  CHECK(window.state().view == View::code);
  CHECK(window.state().code.line == window.app().course()->tours.at("01_baseline")[6].line);
  CHECK_THAT(window.state().toast, says("Adam"));
}
