#pragma once
// What a learner did: one file of JSON lines that is only ever appended to, ~/.local/share/isobar/
// progress.jsonl; ISOBAR_PROGRESS names another. Lines, each flat, `schema` 1 in each:
//   {"schema":1,"kind":"answer","time":"2026-11-25T09:00:00Z","id":"02.best_workers",
//    "lesson":"NN_name","asked":"number","answer":"4","number":4,"unit":"workers"}
// with "drawn":"mb=60 ranks=4" where the question draws numbers, and "thought" where a reason was given;
//   {"schema":1,"kind":"reveal","time":...,"id":...,"of":1,"outcome":"right","truth":"...","number":4,
//    "source":"measured here","runs":["/..."],"formula_ms":31,"step_ms":33}
//   {"schema":1,"kind":"beat","time":...,"lesson":"NN_name","beat":"read"}
// `beat` is a part that was done: read, build, or "opening ID"; files of before have others, which are kept.
// An exercise that was not built yet has "solution", once that was shown, and "hint CHECK N".
// A reveal has "about", the name of the misconception where it has one.
// `of` is the line of the answer that was graded, from 1; the answer to a `make` has its folders as `runs`
// too.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "course/answer.h"
#include "course/grade.h"

namespace isobar {

inline constexpr int kProgressSchema = 1;
inline constexpr const char* kBuilt = "build";
inline constexpr const char* kSolutionShown = "solution";
inline constexpr const char* kHintShown = "hint ";  ///< CHECK N behind it

struct StoredAnswer {
  std::string id;
  std::string text;  ///< Answer::text
  std::optional<double> number;
  std::string unit;
  std::string time;                    ///< UTC, ISO 8601
  std::string lesson;                  ///< "NN_name"
  std::string kind;                    ///< kind_name
  std::vector<std::string> runs = {};  ///< folders, of a make
  std::size_t line = 0;                ///< line of the file, from 1: lines never move
  std::string drawn = {};              ///< drawn_text of the variant
  std::string thought = {};            ///< why, in the learner's words; "" = nothing was written
};

struct StoredReveal {
  std::string id;
  std::string outcome;  ///< outcome_name
  std::string truth;
  std::optional<double> number;  ///< the truth of a number
  std::string source;
  std::vector<std::string> runs;  ///< folders
  std::string time;
  std::size_t of = 0;  ///< index of the answer in CourseProgress::answers that it revealed
  // A step of the first of its runs that a formula predicts; nothing where none does.
  std::optional<double> formula_ms;
  std::optional<double> step_ms;
  std::string about = {};  ///< Misconception::about of the answer
};

struct CourseProgress {
  std::vector<StoredAnswer> answers;  ///< oldest first
  std::vector<StoredReveal> reveals;
  std::map<std::string, std::vector<std::string>> done;  ///< lesson -> what was done, in order, each once
  std::vector<std::string> problems;  ///< lines that cannot be read, and why; the others hold

  /// The newest answer, and what was revealed of it; null where there is none.
  const StoredAnswer* answer(const std::string& id) const;
  /// The line of that answer; 0 = there is none.
  std::size_t answer_line(const std::string& id) const;
  const StoredReveal* reveal(const std::string& id) const;
  /// The newest reveal of answers[index]; null where there is none.
  const StoredReveal* reveal_of(std::size_t index) const;
  bool has_done(const std::string& lesson, const std::string& what) const;
};

/// $ISOBAR_PROGRESS, else $XDG_DATA_HOME/isobar/progress.jsonl, else ~/.local/share/isobar/progress.jsonl.
std::filesystem::path progress_file();

/// A file that is not there is an empty progress. A damaged line is named in `problems`, never lost by what
/// is appended later; a newer schema is an Error (exit code 2) and touches nothing.
CourseProgress read_progress(const std::filesystem::path& file);

/// Throws the Error (exit code 2) of a reveal that no answer was stored for.
[[noreturn]] void refuse_reveal(const std::string& id, const std::filesystem::path& file);

/// In words, in the unit that it was stored with.
std::string answer_words(const Question& question, const StoredAnswer& answer);

/// A step of a run: by formula, and as it was measured. 0 = there is none.
struct FormulaStep {
  double predicted_ms = 0;
  double measured_ms = 0;
};

/// Each call is one write of whole lines under a lock, and on the disk when it returns; a half line that a
/// crash left is ended first. Error (exit code 1) where it cannot be written: what, where, hint.
class ProgressWriter {
 public:
  explicit ProgressWriter(std::filesystem::path file);
  /// `seen`: the line of the newest answer that the caller has seen, 0 = none. Refused (Error, exit code 1)
  /// where another one was stored since.
  void commit(const Question& question, const Answer& answer, std::optional<std::size_t> seen = {},
              const std::string& thought = "");
  /// Refused where `answer` was never stored (Error, exit code 2), or is not the newest of its question any
  /// more (exit code 1).
  void reveal(const StoredAnswer& answer, const Graded& graded, const Truth& truth,
              const std::vector<std::string>& runs, const FormulaStep& formula = {});
  void done(const std::string& lesson, const std::string& what);

 private:
  /// `check` may refuse, with what is in the file under the lock.
  void append(const std::string& line, const std::function<void(const CourseProgress&)>& check);
  std::filesystem::path file_;
};

/// One line an answer: time, id, lesson, kind, answer, unit, outcome, truth, source, runs. RFC 4180; what
/// begins like a formula of a spreadsheet is quoted with an apostrophe.
std::string progress_csv(const CourseProgress& progress);

}  // namespace isobar
