#pragma once
// One question at a terminal: asked, stored, run, revealed. `quiz` and `learn` are made of these.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "course/course.h"
#include "course/needed_runs.h"
#include "course/question.h"

namespace isobar {

/// Where lessons, runs and what a learner did are.
struct Learner {
  std::filesystem::path home;
  std::filesystem::path runs = "runs";
  std::filesystem::path progress;
};
Learner this_learner();

enum class Asked { answered, skipped, left };

/// What was typed, without the end of its line; nothing at the end of input.
std::optional<std::string> typed_line(const std::string& prompt);

/// From what was typed; of a `make`, runs as `show` takes them. Error (exit code 2) for what is no answer.
Answer typed_answer(const Question& question, const std::string& typed, const Learner& learner);
/// From runs as `show` takes them. Error (exit code 2) for another kind of question too.
Answer answer_with(const Question& question, const std::vector<std::string>& runs, const Learner& learner);

/// Prints the question and asks until an answer is stored; another word is refused, and it asks again.
Asked ask_and_store(const Question& question, const Learner& learner);

struct RunsOffered {
  Asked said = Asked::answered;
  int code = 0;          ///< exit code of the runs
  bool is_busy = false;  ///< runs for times were left out: other programs use the processors
};

/// Says what the missing runs cost, and makes them: after Enter where `ask`, else at once.
RunsOffered offer_runs(const std::vector<FoundRuns>& missing, const Learner& learner, bool ask, bool quiet);

/// Prints a sentence over as many lines as it takes.
void say(const std::string& text);
/// Prints what is wrong and what to do about it, behind `head`.
void say_error(const std::string& head, const Error& error);

/// Its section of reveal.md, or why that cannot be read.
std::string page_if_read(const Question& question, const Learner& learner);

/// Reveals the stored answer and prints it: as text, or as one JSON object.
Revealed reveal_and_tell(const Question& question, const Learner& learner, bool json, bool is_busy = false);

/// The rates of this machine where they were measured and can be read.
std::optional<MachineRates> rates_if_kept();

/// What is missing below runs/, with the rates of this machine where they are kept.
std::vector<FoundRuns> missing_runs(const std::vector<Question>& questions,
                                    const std::filesystem::path& home);

/// Makes them below runs/, in turn; predictions first, which cost nothing. The exit code: 0, that of the
/// first run that failed, or 130 or 143 where a signal asked to stop. Once other programs disturbed one for
/// times, others for times are left out. `quiet`: no progress is shown.
RunsOffered make_runs(const std::vector<FoundRuns>& found, const std::filesystem::path& home, bool quiet);

}  // namespace isobar
