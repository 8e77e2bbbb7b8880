#include "cli/quiet_machine.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/course_text.h"
#include "core/clock.h"
#include "core/files.h"
#include "core/processors.h"
#include "core/text.h"
#include "core/waiting.h"
#include "course/recorded_truth.h"
#include "course/variant.h"
#include "record/console.h"

namespace isobar {
namespace {

/// False: they were not until then.
bool wait_for_quiet(std::int64_t until_us) {
  constexpr double kQuiet = 0.25;  // a part of the processors
  constexpr std::int64_t kPause_us = 5'000'000;
  Console console;
  for (;;) {
    const double at_work = processors_at_work();
    if (at_work < kQuiet * usable_cores()) return true;
    if (steady_us() >= until_us) return false;
    console.progress(fmt::format("waiting: {:.1f} processors are at work", at_work));
    sleep_us(kPause_us);
  }
}

bool is_provisional(const Question& question, const CourseProgress& progress) {
  const StoredReveal* const reveal = progress.reveal(question.id);
  return reveal != nullptr && reveal->outcome == outcome_name(Outcome::provisional);
}

}  // namespace

int grade_when_quiet(const Learner& learner, std::int64_t wait_min, bool json) {
  const std::int64_t until_us = steady_us() + wait_min * 60'000'000;
  std::int64_t graded = 0;
  for (const Question& form : all_questions(learner.home).questions) {
    const Question question = as_asked(form, read_progress(learner.progress), /*again=*/false);
    while (is_provisional(question, read_progress(learner.progress))) {
      const bool is_last = steady_us() >= until_us;
      if (wait_min == 0 || wait_for_quiet(until_us)) {
        const RunsOffered made =
            offer_runs(missing_runs({question}, learner.home), learner, /*ask=*/false, json);
        if (made.code != 0) return made.code;
        if (!made.is_busy) reveal_and_tell(question, learner, json);
      }
      const bool is_graded = !is_provisional(question, read_progress(learner.progress));
      graded += is_graded;
      if (!is_graded && (is_last || steady_us() >= until_us))
        throw Error("other programs used the processors for " + counted(wait_min, "minute"), question.id,
                    "your numbers are kept; --wait MINUTES waits longer", Exit::failed);
    }
  }
  if (!json)
    say(graded == 0 ? "No number waits for a quiet machine." : counted(graded, "number") + " graded.");
  return 0;
}

int record_truths(const std::string& lesson, const Learner& learner, bool json) {
  std::vector<Question> asked;
  for (const Question& question : read_questions(learner.home, lesson)) {
    for (std::size_t n = 0; n < std::max<std::size_t>(1, question.variants.size()); ++n)
      asked.push_back(variant(question, n));
  }
  std::erase_if(asked, [](const Question& one) {
    return one.kind == AnswerKind::make || std::ranges::all_of(one.runs, [](const NeededRun& run) {
             return !run.recorded.empty();  // known everywhere
           });
  });
  const RunsOffered made = offer_runs(missing_runs(asked, learner.home), learner, /*ask=*/false, json);
  if (made.code != 0) return made.code;
  std::string lines;
  Report out;
  for (const Question& question : asked) {
    const Truth truth = truth_of_runs(question, learner.home, learner.runs);
    out.line(question.id + ": " + (truth.cannot.empty() ? truth.text : "not recorded: " + truth.cannot));
    if (truth.cannot.empty()) lines += recorded_line(question, truth) + "\n";
  }
  const std::filesystem::path file = recorded_file(learner.home, lesson);
  if (!lines.empty()) {
    std::filesystem::create_directories(file.parent_path());
    write_file_whole(file, lines);
    out.line(file.string());
  }
  out.json = {{"file", file.string()}};
  out.print(json);
  return 0;
}

}  // namespace isobar
