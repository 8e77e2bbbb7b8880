#pragma once
// One question from prediction to reveal, and the parts of a lesson: what terminal and window both do.
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "course/grade.h"
#include "course/needed_runs.h"
#include "course/progress.h"

namespace isobar {

/// Where a question stands.
enum class QuestionState { open, committed, revealed };
QuestionState state_of(const Question& question, const CourseProgress& progress);

struct Revealed {
  StoredAnswer answer;  ///< the graded answer
  Graded graded;
  Truth truth;
  std::vector<std::string> runs;         ///< folders that it rests on
  std::map<std::string, RunCase> cases;  ///< those runs as they were read, by their names in the question
  std::vector<RunCase> made;             ///< runs that the learner named for a `make`
  std::string command;                   ///< command that makes the first missing run; "" = none is missing
  std::string instead = {};              ///< why a recorded truth stands for own runs; "" = it does not
};

/// Grades the stored answer with the runs that are there, and writes the reveal down. Error: no prediction is
/// stored (exit code 2), or another one was stored while this one was graded (1). Where other programs
/// disturb runs for times (`is_busy`, or runs that were left out for it), it is held against what was
/// recorded: a direction or a choice is graded, a number stays provisional. What cannot be answered is not
/// written as a reveal: it stays committed.
Revealed reveal_question(const Question& question, const std::filesystem::path& home,
                         const std::filesystem::path& runs, const std::filesystem::path& progress_file,
                         bool is_busy = false);

/// What the runs that are there show, and what is recorded of it by `quiz --record`.
Truth truth_of_runs(const Question& question, const std::filesystem::path& home,
                    const std::filesystem::path& runs);

/// A reveal made again with the runs that are there now. nullopt where their figures no longer are those
/// that were written down: StoredReveal is all that is left of it.
std::optional<Revealed> recalled(const Question& question, const CourseProgress& progress,
                                 const std::filesystem::path& home, const std::vector<FoundRuns>& found);

/// The section of reveal.md for this question ("## best_workers"), as Markdown; "" where there is none.
std::string reveal_page(const std::filesystem::path& home, const Question& question);

/// The parts of a lesson: its page is read, then goal by goal, then something is built.
enum class PartKind { read, goal, build };

struct LessonPart {
  PartKind kind = PartKind::read;
  int goal = 0;                    ///< from 1, of a goal
  bool done = false;               ///< passed over by who continues
  bool ticked = false;             ///< read, earned, or written
  std::size_t of = 0, so_far = 0;  ///< questions of a goal, and those that were revealed
  std::string help = {};           ///< "with the solution, 3 hints": what had been shown of what is built

  std::string name() const;  ///< "read", "goal 2", "build"
};

/// A goal is earned once all its questions were revealed and, after the last answer that was not right, as
/// many right ones in a row to something new as were wrong, at most two. Runs to make are no duty; a right
/// one counts.
struct GoalState {
  std::size_t of = 0, revealed = 0;
  bool earned = false;
  bool waits = false;  ///< numbers are provisional until runs of this machine can be trusted
  std::vector<std::string> again =
      {};  ///< ids of its revealed questions that can be asked with something new
};

struct LessonProgress {
  std::string lesson;
  std::vector<LessonPart> parts;
  std::vector<GoalState> goals;     ///< in the order of lesson.toml
  std::optional<std::size_t> next;  ///< index of the first part that is not done

  std::size_t earned() const;
  /// Questions to try again, of all goals that are not earned though all was revealed.
  std::size_t to_try_again() const;
};

/// The questions of a goal: predictions, then what breaks.
std::vector<Question> questions_of(const std::vector<Question>& questions, int goal);

/// Rounds of two to four questions: predictions, then what breaks, then runs to make.
std::vector<std::vector<Question>> rounds_of(const std::vector<Question>& of_goal);

/// `builds`: the lesson has an exercise; one without is passed over.
LessonProgress lesson_progress(const std::string& lesson, const std::vector<Question>& questions,
                               std::size_t goals, bool builds, const CourseProgress& progress);

}  // namespace isobar
