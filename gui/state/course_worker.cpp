#include "state/course_worker.h"

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "course/variant.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostWords = 400;

std::string sentence_of(const std::exception& error) {
  const auto* const ours = dynamic_cast<const Error*>(&error);
  std::string out = printable(error.what(), kMostWords);
  if (ours != nullptr && !ours->where().empty()) out += " (" + printable(ours->where(), kMostWords) + ")";
  if (ours != nullptr && !ours->hint().empty()) out += ": " + printable(ours->hint(), kMostWords);
  return out;
}

/// What cannot be read of the file, in one sentence.
std::string problem_of(const CourseProgress& progress) {
  if (progress.problems.empty()) return "";
  const std::size_t more = progress.problems.size() - 1;
  return "Part of your progress cannot be read; the rest is fine: " +
         printable(progress.problems.front(), kMostWords) +
         (more == 0 ? "" : ", and " + counted(static_cast<std::int64_t>(more), "more line"));
}

/// Another program may have stored another answer since, or the reveal of this one.
bool still_holds(const AskedQuestion& asked, std::size_t newest) {
  if (!asked.revealed || asked.revealed->answer.line != newest) return false;
  const bool is_graded = asked.revealed->graded.outcome != Outcome::cannot_answer;
  return is_graded == (asked.state == QuestionState::revealed);
}

std::int64_t count_missing(const std::vector<FoundRuns>& found) {
  std::int64_t out = 0;
  for (const FoundRuns& one : found) out += one.missing;
  return out;
}

}  // namespace

const std::vector<Question>& CourseView::of_lesson(const std::string& lesson) const {
  static const std::vector<Question> kNone;
  const std::vector<Question>* const found = find_in(*questions, lesson);
  return found == nullptr ? kNone : *found;
}

const Question* CourseView::question(const std::string& id) const {
  for (const auto& [lesson, of] : *questions)
    if (const Question* const found = find_by(of, &Question::id, id)) return found;
  return nullptr;
}

CourseWorker::CourseWorker(Places places, std::function<void()> on_change)
    : places_(std::move(places)), on_change_(std::move(on_change)), thread_([this] { work(); }) {
  add({[this] {
    read_questions();
    read_progress();
  }});
}

CourseWorker::~CourseWorker() {
  stop();
  thread_.join();
}

void CourseWorker::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
}

std::shared_ptr<const CourseView> CourseWorker::view() const {
  const std::lock_guard lock(mutex_);
  return view_;
}

bool CourseWorker::is_idle() const {
  const std::lock_guard lock(mutex_);
  return jobs_.empty() && !working_;
}

void CourseWorker::add(Job job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  wake_.notify_all();
}

/// False: the thread ends. An answer that was committed before the window closed is stored first.
bool CourseWorker::next_job(Job& job) {
  std::unique_lock lock(mutex_);
  working_ = false;
  wake_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
  while (stopping_ && !jobs_.empty() && !jobs_.front().stores) jobs_.pop_front();
  if (jobs_.empty()) return false;
  job = std::move(jobs_.front());
  jobs_.pop_front();
  working_ = true;
  return true;
}

void CourseWorker::work() {
  Job job;
  while (next_job(job)) {
    try {
      job.does();
    } catch (const std::exception& error) {
      mine_.progress_problem = "The course cannot be brought up to date: " + sentence_of(error);
    }
    publish(job.question);
  }
}

/// What was worked out; the question `done` is no longer busy.
void CourseWorker::publish(const std::string& done) {
  auto view = std::make_shared<CourseView>(mine_);
  {
    const std::lock_guard lock(mutex_);
    busy_.erase(done);
    for (const std::string& id : busy_) view->asked[id].busy = true;
    view_ = std::move(view);
  }
  if (on_change_) on_change_();
}

/// The view says at once that the question is busy, so that a second click finds no button. False: it
/// already is, or there is no such question.
bool CourseWorker::begin(const std::string& id) {
  const std::lock_guard lock(mutex_);
  if (view_->of(id) == nullptr || !busy_.insert(id).second) return false;
  auto view = std::make_shared<CourseView>(*view_);
  view->asked[id].busy = true;
  view_ = std::move(view);
  return true;
}

void CourseWorker::read_questions() {
  CourseQuestions all = all_questions(places_.home);
  for (const auto& [lesson, error] : all.problems) mine_.problems[lesson] = sentence_of(error);
  mine_.forms = std::move(all.forms);
  LessonQuestions by_lesson;
  for (Question& question : all.questions) {
    mine_.asked[question.id];
    by_lesson[question.lesson].push_back(std::move(question));
  }
  mine_.questions = std::make_shared<const LessonQuestions>(std::move(by_lesson));
}

void CourseWorker::read_progress() {
  const Stamp stamp = stamp_of(places_.progress);
  {
    const std::lock_guard lock(mutex_);
    stamp_ = stamp;
  }
  try {
    mine_.progress = isobar::read_progress(places_.progress);
    mine_.progress_problem = problem_of(mine_.progress);
    mine_.may_write = true;
  } catch (const std::exception& error) {
    mine_.progress = {};
    mine_.progress_problem = "What you did cannot be read: " + sentence_of(error);
    mine_.may_write = false;
  }
  judge();
}

void CourseWorker::judge(const Question& question) {
  AskedQuestion& asked = mine_.asked[question.id];
  asked.state = state_of(question, mine_.progress);
  const bool is_answered = mine_.progress.answer(question.id) != nullptr;
  if (!asked.now || is_answered || asked.is_answered) {
    asked.now = std::make_shared<const Question>(as_asked(question, mine_.progress, /*again=*/false));
    asked.again = std::make_shared<const Question>(as_asked(question, mine_.progress, /*again=*/true));
    asked.is_answered = is_answered;
  }
  if (!asked.choices) asked.choices = lettered_panels(question.lesson, question.pictures());
  if (still_holds(asked, mine_.progress.answer_line(question.id))) return;
  asked.revealed = nullptr;
  asked.page.clear();
}

/// What follows from the questions and from what was done.
void CourseWorker::judge() {
  for (const auto& [lesson, questions] : *mine_.questions) {
    for (const Question& question : questions) {
      try {
        judge(question);
      } catch (const std::exception& error) {  // its pictures cannot be drawn; all others are asked
        mine_.problems[lesson] = sentence_of(error);
      }
    }
  }
  for (const auto& [lesson, goals] : places_.goals)
    mine_.lessons[lesson] = lesson_progress(lesson, mine_.of_lesson(lesson), goals,
                                            has_exercise(places_.home, lesson), mine_.progress);
  mine_.calibration = calibrate(mine_.progress);
  mine_.ready = true;
}

void CourseWorker::for_question(const std::string& id, std::string AskedQuestion::*problem,
                                const std::function<void(const Question&, AskedQuestion&)>& does) {
  const Question* const question = mine_.question(id);
  if (question == nullptr) return;
  AskedQuestion& asked = mine_.asked[id];
  (asked.*problem).clear();
  try {
    const std::shared_ptr<const Question> now = asked.now;  // `does` may put another one there
    does(*now, asked);
  } catch (const std::exception& error) {
    asked.*problem = sentence_of(error);
  }
}

/// What the other questions lack is added up afterwards: no card waits for it.
void CourseWorker::commit(const std::string& id, const Answer& answer, std::size_t seen, bool again) {
  if (!begin(id)) return;
  const auto does = [this, id, answer, seen, again] {
    for_question(id, &AskedQuestion::not_saved, [&](const Question& question, AskedQuestion& asked) {
      ProgressWriter(places_.progress).commit(again ? *asked.again : question, answer, seen);
      asked.problem.clear();
    });
    read_progress();
  };
  add({.does = does, .question = id, .stores = true});
  add({[this] { add_up(); }});
}

void CourseWorker::reveal(const std::string& id) {
  if (!begin(id)) return;
  const auto does = [this, id] {
    for_question(id, &AskedQuestion::problem, [&](const Question& question, AskedQuestion& asked) {
      Revealed revealed = reveal_question(question, places_.home, places_.runs, places_.progress);
      read_progress();
      asked.not_saved.clear();
      asked.revealed = std::make_shared<const Revealed>(std::move(revealed));
      if (asked.state == QuestionState::revealed)
        asked.page = parse_markdown(reveal_page(places_.home, question));
    });
  };
  add({.does = does, .question = id});
  add({[this] {
    read_tour_of(current_.lesson);
    add_up();
  }});
}

void CourseWorker::part_done(const std::string& lesson, const std::string& part) {
  const auto does = [this, lesson, part] {
    try {
      ProgressWriter(places_.progress).done(lesson, part);
      read_progress();
    } catch (const std::exception& error) {
      mine_.progress_problem = "What you did cannot be saved: " + sentence_of(error);
    }
  };
  add({.does = does, .stores = true});
}

void CourseWorker::wish(const CourseWishes& wishes) {
  if (wishes == wishes_) return;
  if (wishes.lesson != wishes_.lesson)
    add({[this, lesson = wishes.lesson] {
      current_.lesson = lesson;
      read_exercise_of(lesson);
      read_tour_of(lesson);
    }});
  const bool other_run = wishes.run != wishes_.run || wishes.runs_done != wishes_.runs_done;
  wishes_ = wishes;
  if (!wishes.question.empty()) {
    add({[this, wishes] {
      current_ = wishes;
      find(wishes);
      add_up();
    }});
  }
  if (other_run && !wishes.run.empty()) add({[this, run = wishes.run] { draw_own(run); }});
}

void CourseWorker::add_up() {
  WaitingQuestions out;
  std::vector<FoundRuns> missing;
  const std::vector<KnownRun> known = known_runs(places_.runs);
  for (const Question& one : mine_.of_lesson(current_.lesson)) {
    const AskedQuestion& asked = mine_.asked[one.id];
    const Question& question = *asked.now;
    if (asked.state != QuestionState::committed) continue;
    try {
      const std::vector<FoundRuns> found = find_runs(question, places_.home, known, current_.rates.get());
      const bool lacks = std::ranges::any_of(
          found, [](const FoundRuns& one) { return one.missing > 0 && one.cannot.empty(); });
      if (lacks) out.ids.push_back(question.id);
      add_missing(missing, found);
    } catch (const std::exception&) {  // its own card says why
    }
  }
  out.cost_s = cost_s(missing);
  mine_.waiting[current_.lesson] = std::move(out);
}

void CourseWorker::draw_own(const fs::path& run) {
  mine_.own_run = run;
  try {
    mine_.own = std::make_shared<const OwnPicture>(own_picture(run));
  } catch (const std::exception&) {
    mine_.own = nullptr;  // a folder that went away, or was never whole
  }
}

void CourseWorker::find(const CourseWishes& wishes) {
  const auto does = [&](const Question& question, AskedQuestion& asked) {
    std::vector<FoundRuns> found = find_runs(question, places_.home, places_.runs, wishes.rates.get());
    const bool is_other = !asked.found || count_missing(*asked.found) != count_missing(found);
    asked.found = std::make_shared<const std::vector<FoundRuns>>(std::move(found));
    // What a reveal said to be missing may be there by now.
    if (asked.state == QuestionState::committed && is_other) asked.revealed = nullptr;
    if (asked.state == QuestionState::revealed && !asked.revealed) recall(question, asked);
  };
  for_question(wishes.question, &AskedQuestion::runs_problem, does);
}

/// What was revealed before this window was opened, or by another program.
void CourseWorker::recall(const Question& question, AskedQuestion& asked) {
  asked.page = parse_markdown(reveal_page(places_.home, question));
  if (std::optional<Revealed> again = recalled(question, mine_.progress, places_.home, *asked.found))
    asked.revealed = std::make_shared<const Revealed>(std::move(*again));
}

void CourseWorker::read_exercise_of(const std::string& lesson) {
  if (!has_exercise(places_.home, lesson)) return;
  auto own = std::make_shared<OwnExercise>();
  try {
    own->exercise = read_exercise(places_.home, lesson);
    own->mine = read_my_file(own->exercise, places_.my);
    own->verdict = kept_verdict(own->exercise, places_.my);
    if (own->verdict) {
      own->is_old = own->verdict->digest != digest_of_text(own->mine.text);
      const Hints hints = hints_of(own->exercise, own->verdict->failed, own->verdict->finding.sentence());
      own->hints = hints.texts;
      own->hints.resize(static_cast<std::size_t>(kept_hints(own->exercise, places_.my, hints)));
    }
  } catch (const std::exception& error) {
    own->problem = sentence_of(error);
  }
  mine_.exercises[lesson] = std::move(own);
}

void CourseWorker::read_tour_of(const std::string& lesson) {
  std::vector<PlacedStop> out;
  try {
    for (const TourStop& stop : read_tour(places_.home, lesson)) {
      PlacedStop placed{stop, 0, !stop.question.empty() && mine_.progress.reveal(stop.question) == nullptr};
      try {
        placed.line = place_of(stop, places_.home).ranges.front().first;
      } catch (const Error&) {  // it is shown without a place
      }
      out.push_back(std::move(placed));
    }
  } catch (const std::exception& error) {
    mine_.problems[lesson] = sentence_of(error);
  }
  mine_.tours[lesson] = std::move(out);
}

void CourseWorker::look() {
  const std::shared_ptr<const CourseView> shown = view();  // the thread may put another in its place
  if (const auto* const own = find_in(shown->exercises, wishes_.lesson)) {
    const fs::path given = places_.my / ".given";
    std::vector<Stamp> stamps = {stamp_of((*own)->mine.path), stamp_of(given / (wishes_.lesson + ".json")),
                                 stamp_of(given / (wishes_.lesson + ".hints"))};
    if (stamps != exercise_stamps_) {
      exercise_stamps_ = std::move(stamps);
      add({[this, lesson = wishes_.lesson] { read_exercise_of(lesson); }});
    }
  }
  const Stamp now = stamp_of(places_.progress);
  {
    const std::lock_guard lock(mutex_);
    if (now == stamp_) return;
    stamp_ = now;
  }
  add({[this] {
    read_progress();
    read_tour_of(current_.lesson);
    find(current_);
  }});
}

}  // namespace isobar
