#pragma once
// One question from prediction to reveal, and the beats of a lesson: what terminal and window both do.
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
};

/// Grades the stored answer with the runs that are there, and writes the reveal down. Error: no prediction is
/// stored (exit code 2), or another one was stored while this one was graded (1). What cannot be answered is
/// not written as a reveal: it stays committed.
Revealed reveal_question(const Question& question, const std::filesystem::path& home,
                         const std::filesystem::path& runs, const std::filesystem::path& progress_file);

/// A reveal made again with the runs that are there now. nullopt where their figures no longer are those
/// that were written down: StoredReveal is all that is left of it.
std::optional<Revealed> recalled(const Question& question, const CourseProgress& progress,
                                 const std::filesystem::path& home, const std::vector<FoundRuns>& found);

/// The section of reveal.md for this question ("## best_workers"), as Markdown; "" where there is none.
std::string reveal_page(const std::filesystem::path& home, const Question& question);

enum class Beat { read, predict, run, reveal, breaking, build };
inline constexpr int kBeats = 6;
const char* beat_name(Beat beat);

struct BeatState {
  Beat beat = Beat::read;
  bool done = false;
  std::size_t of = 0, so_far = 0;  ///< questions; of the last, exercises

  /// With a tick. A beat that asks nothing is passed over, never done.
  bool is_done() const { return done && (of > 0 || beat == Beat::read || beat == Beat::run); }
};

struct LessonProgress {
  std::string lesson;
  std::vector<BeatState> beats;
  std::vector<bool> goals;   ///< for each goal of lesson.toml: all its questions were answered right at last
  std::optional<Beat> next;  ///< nothing: all are done
};

/// `builds`: the lesson has an exercise; one without is passed over.
LessonProgress lesson_progress(const std::string& lesson, const std::vector<Question>& questions,
                               std::size_t goals, bool builds, const CourseProgress& progress);

}  // namespace isobar
