#pragma once
// What the learner is asked, what they answered and what came of it, worked out in a thread of its own: no
// frame waits for a file or for a rule.
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/find.h"
#include "course/calibration.h"
#include "course/course.h"
#include "course/tour.h"
#include "exercise/exercise.h"
#include "exercise/verdict.h"
#include "formula/machine_rates.h"
#include "log/run_files.h"
#include "plot/lesson_view.h"
#include "text/markdown.h"

namespace isobar {

/// A question and its state.
struct AskedQuestion {
  QuestionState state = QuestionState::open;
  std::shared_ptr<const Question> now;                  ///< the variant that stands
  std::shared_ptr<const Question> again;                ///< asked next, once this is revealed
  bool is_answered = false;                             ///< once or more; else `now` is the first variant
  std::optional<Drawing> choices;                       ///< where choices are pictures; alike in all variants
  std::shared_ptr<const std::vector<FoundRuns>> found;  ///< null while nobody looked
  std::shared_ptr<const Revealed> revealed;             ///< reveal of the newest answer; null before it
  std::vector<MarkdownBlock> page;                      ///< its section of reveal.md, once it is revealed
  bool busy = false;                                    ///< a commit or a reveal of it is at work
  std::string not_saved;                                ///< why the last commit failed; "" = it did not
  std::string problem;                                  ///< why the last reveal failed; "" = it did not
  std::string runs_problem;  ///< why its runs could not be looked for; "" = they could
};

/// Questions of a lesson that were answered and still lack runs that can be made here.
struct WaitingQuestions {
  std::vector<std::string> ids;
  double cost_s = 0;  ///< sum over all; runs that they share count once
};

/// The exercise of a lesson, with what the learner has of it.
struct OwnExercise {
  Exercise exercise;
  MyFile mine;
  std::optional<ExerciseVerdict> verdict;  ///< outcome of the last check; nullopt before the first
  bool is_old = false;                     ///< the file is another than the one that was checked
  std::vector<std::string> hints;          ///< hints shown for the check that does not hold
  std::string problem;                     ///< why it cannot be read; "" = it can
};

/// A place of the tour through a lesson's code.
struct PlacedStop {
  TourStop stop;
  std::int64_t line = 0;  ///< 0 = it is not there any more
  bool is_asked = false;  ///< by a question that was not revealed yet: the place is not shown
};

/// By lesson, in the order in which they are asked.
using LessonQuestions = std::map<std::string, std::vector<Question>>;

/// The course when it was worked out last. It is copied whenever something changed: what is large is shared.
struct CourseView {
  bool ready = false;
  std::shared_ptr<const LessonQuestions> questions = std::make_shared<LessonQuestions>();
  std::map<std::string, AskedQuestion> asked;
  std::map<std::string, LessonForm> forms;  ///< by lesson
  std::map<std::string, LessonProgress> lessons;
  std::map<std::string, WaitingQuestions> waiting;  ///< of the lesson that was wished for last
  std::map<std::string, std::shared_ptr<const OwnExercise>>
      exercises;                                         ///< by lesson, of those that were wished for
  std::map<std::string, std::vector<PlacedStop>> tours;  ///< by lesson, of those that were wished for
  CourseProgress progress;
  Calibration calibration;
  std::map<std::string, std::string> problems;  ///< lesson -> why its questions cannot be read
  std::string progress_problem;           ///< why what was done cannot be read, or a part of it; "" = it can
  std::filesystem::path own_run;          ///< run of `own`
  std::shared_ptr<const OwnPicture> own;  ///< the idea of its lesson, drawn from it; null: it cannot be read
  bool may_write = true;                  ///< false: the file is that of a newer Isobar

  const std::vector<Question>& of_lesson(const std::string& lesson) const;
  /// Null for one that there is not.
  const Question* question(const std::string& id) const;
  const AskedQuestion* of(const std::string& id) const { return find_in(asked, id); }
};

/// What is looked for as long as it is on the screen.
struct CourseWishes {
  std::string lesson;           ///< lesson that is shown
  std::string question;         ///< question whose runs are wanted; "" = none
  std::filesystem::path run;    ///< run whose picture is wanted; "" = none
  std::uint64_t runs_done = 0;  ///< changes when there are other finished runs
  std::shared_ptr<const MachineRates> rates;
  bool operator==(const CourseWishes&) const = default;
};

class CourseWorker {
 public:
  struct Places {
    std::filesystem::path home;
    std::filesystem::path runs;                     ///< where runs are made
    std::filesystem::path progress;                 ///< the learner's file
    std::filesystem::path my;                       ///< where the learner's exercises are
    std::map<std::string, std::size_t> goals = {};  ///< lesson -> number of goals that it names
  };
  /// `on_change` is called from the working thread whenever `view` would be another.
  CourseWorker(Places places, std::function<void()> on_change);
  ~CourseWorker();
  CourseWorker(const CourseWorker&) = delete;
  CourseWorker& operator=(const CourseWorker&) = delete;

  std::shared_ptr<const CourseView> view() const;
  /// Nothing waits to be worked out.
  bool is_idle() const;

  /// Commit and reveal are ignored while the question is busy.
  /// `seen` is the line of the newest answer that the caller saw: refused where another one was stored since.
  /// `again`: to the variant that comes next.
  void commit(const std::string& id, const Answer& answer, std::size_t seen, bool again);
  void reveal(const std::string& id);
  void part_done(const std::string& lesson, const std::string& part);
  void wish(const CourseWishes& wishes);
  /// Looks whether another program wrote to the file; call it now and then.
  void look();
  /// From here on only what stores something is still done.
  void stop();

 private:
  struct Job {
    std::function<void()> does;
    std::string question = {};  ///< question that is busy until it is done; "" = none
    bool stores = false;        ///< also done when the window closes
  };
  void add(Job job);
  bool next_job(Job& job);
  void work();
  void publish(const std::string& done);
  bool begin(const std::string& id);
  void read_questions();
  void read_progress();
  void judge();
  void judge(const Question& question);
  void recall(const Question& question, AskedQuestion& asked);
  void find(const CourseWishes& wishes);
  void add_up();
  void draw_own(const std::filesystem::path& run);
  void read_exercise_of(const std::string& lesson);
  void read_tour_of(const std::string& lesson);
  /// Runs `does`; `problem` gets its error.
  void for_question(const std::string& id, std::string AskedQuestion::*problem,
                    const std::function<void(const Question&, AskedQuestion&)>& does);

  const Places places_;
  const std::function<void()> on_change_;
  CourseView mine_;                     ///< the thread's own
  Stamp stamp_;                         ///< stamp of the file when it was read; the caller's
  std::vector<Stamp> exercise_stamps_;  ///< stamps of the files of an exercise; the caller's
  CourseWishes wishes_;                 ///< the caller's
  CourseWishes current_;                ///< the thread's: of what it looked for last

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> jobs_;
  std::set<std::string> busy_;  ///< questions
  bool working_ = false;
  bool stopping_ = false;
  std::shared_ptr<const CourseView> view_ = std::make_shared<CourseView>();
  std::thread thread_;
};

}  // namespace isobar
