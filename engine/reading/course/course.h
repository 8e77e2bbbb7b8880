#pragma once
// One question from prediction to reveal, and the beats of a lesson: what terminal and window both do.
#include <filesystem>
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

/// Grades the stored answer with the runs that are there, and writes the reveal down. Error (exit code 2): no
/// prediction is stored. What cannot be answered is not written as a reveal: it stays committed.
struct Revealed {
  Graded graded;
  Truth truth;
  std::vector<std::string> runs;  ///< folders that it rests on
  std::string command;            ///< that makes the first missing run; "" = none is missing
};
Revealed reveal_question(const Question& question, const std::filesystem::path& home,
                         const std::filesystem::path& runs, const std::filesystem::path& progress_file,
                         const std::vector<std::filesystem::path>& made = {});

/// The section of reveal.md for this question ("## best_workers"), as Markdown; "" where there is none.
std::string reveal_page(const std::filesystem::path& home, const Question& question);

enum class Beat { read, predict, run, reveal, breaking, build };
inline constexpr int kBeats = 5;  ///< build comes with the exercises
const char* beat_name(Beat beat);

struct BeatState {
  Beat beat = Beat::read;
  bool done = false;
  std::size_t of = 0, so_far = 0;  ///< questions
};

struct LessonProgress {
  std::string lesson;
  std::vector<BeatState> beats;
  std::vector<bool> goals;   ///< of lesson.toml: it has questions, and all were answered right at last
  std::optional<Beat> next;  ///< nothing: all are done
  double left_s = 0;         ///< that the runs still to be made take; `lesson_progress` leaves it 0
};

LessonProgress lesson_progress(const std::string& lesson, const std::vector<Question>& questions,
                               std::size_t goals, const CourseProgress& progress);

/// Seconds that the runs take which the questions not yet revealed still lack; runs that they share count
/// once.
double left_s(const std::vector<Question>& questions, const CourseProgress& progress,
              const std::filesystem::path& home, const std::filesystem::path& runs,
              const MachineRates* rates);

}  // namespace isobar
