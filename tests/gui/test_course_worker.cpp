// The thread behind the cards: what it does once, what it still does when the window closes.
#include <atomic>
#include <condition_variable>
#include <mutex>

#include "gui/made_course.h"
#include "gui/made_questions.h"
#include "support/catch.h"
#include "support/until.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

/// A worker whose thread can be held after a job.
struct HeldDesk {
  HeldDesk() {
    until([&] { return worker->view()->ready; });
  }
  Question question(const std::string& id) { return *worker->view()->question(id); }
  void commit(const std::string& id, const std::string& answer) {
    worker->commit(id, parse_answer(question(id), answer), worker->view()->progress.answer_line(id),
                   /*again=*/false);
  }
  /// Its thread does one more job, a part of the lesson, and stands still after it.
  void hold() {
    until([&] { return worker->is_idle(); });
    const int before = jobs;
    {
      const std::lock_guard lock(mutex);
      held = true;
    }
    worker->part_done("01_baseline", "read");
    until([&] { return jobs == before + 1; });
  }
  void let_go() {
    {
      const std::lock_guard lock(mutex);
      held = false;
    }
    changed.notify_all();
  }
  CourseProgress stored() const { return read_progress(course.progress()); }

  CourseFolder course{kMadeQuestions};
  std::mutex mutex;
  std::condition_variable changed;
  bool held = false;
  std::atomic<int> jobs = 0;  ///< done
  std::optional<CourseWorker> worker{
      std::in_place,
      CourseWorker::Places{
          course.folder / "home", course.folder / "runs", course.progress(), {{"01_baseline", 3}}},
      [this] {
        std::unique_lock lock(mutex);
        ++jobs;
        changed.wait(lock, [&] { return !held; });
      }};
};

}  // namespace

TEST_CASE("A question is busy from the click on, and a second click stores nothing") {
  HeldDesk held;
  held.hold();
  held.commit("01.forward_ms", "5 ms");
  CHECK(held.worker->view()->of("01.forward_ms")->busy);
  CHECK_FALSE(held.worker->view()->of("01.larger")->busy);
  held.commit("01.forward_ms", "5 ms");
  held.let_go();
  until([&] { return held.worker->is_idle(); });
  CHECK(held.stored().answers.size() == 1);
  CHECK_FALSE(held.worker->view()->of("01.forward_ms")->busy);
}

TEST_CASE("When the window closes, what was answered is stored, and nothing else is begun") {
  HeldDesk held;
  held.hold();
  held.worker->reveal("01.where");
  CourseWishes wishes;
  wishes.question = "01.forward_ms";
  held.worker->wish(wishes);
  held.commit("01.forward_ms", "5 ms");
  held.worker->part_done("01_baseline", "build");
  held.worker->stop();
  held.let_go();
  held.worker.reset();
  CHECK(held.jobs == 4);
  CHECK(held.stored().answers.size() == 1);
  CHECK(held.stored().done.at("01_baseline") == std::vector<std::string>{"read", "build"});
}

TEST_CASE("Beside an answer that the card did not show no other one is stored") {
  HeldDesk held;
  const Question question = held.question("01.forward_ms");
  ProgressWriter(held.course.progress()).commit(question, parse_answer(question, "4 ms"));
  held.commit("01.forward_ms", "5 ms");
  until([&] { return held.worker->is_idle(); });
  CHECK(held.stored().answers.size() == 1);
  const std::shared_ptr<const CourseView> view = held.worker->view();
  CHECK_FALSE(view->of("01.forward_ms")->not_saved.empty());
  CHECK(view->of("01.forward_ms")->state == QuestionState::committed);
}
