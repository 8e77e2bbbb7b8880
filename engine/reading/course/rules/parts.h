#pragma once
// What rules share: runs that are fit to be asked, values in units, figures as texts, and a way to say why
// something cannot be told.
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/figure.h"
#include "analyse/spread.h"
#include "config/config.h"
#include "config/lesson.h"
#include "core/error.h"
#include "course/rules.h"
#include "record/memory_timeline.h"

namespace isobar {

/// Thrown by a rule that cannot tell; Rule::find makes a Truth of it.
struct Cannot {
  std::string why;
  std::string missing = "";
};

/// A run with the name that sentences call it by.
struct NamedRun {
  std::string name;
  const RunCase* run = nullptr;

  const RunView& view() const { return run->view(); }
};

/// A run of the question that is there, and of the lesson that was asked for. Error (exit code 2) for a name
/// that is none of its runs.
NamedRun run_of(const RuleInput& input, const std::string& name);
/// One that ended well.
NamedRun ended_run(const RuleInput& input, const std::string& name);
/// One that ended well, has enough steady steps, and had the processors to itself.
NamedRun timed_run(const RuleInput& input, const std::string& name);

/// The runs that the arguments `base` and `other` name, of one source. Cannot as of each of them.
struct TwoNamedRuns {
  NamedRun base, other;
};
TwoNamedRuns ended_pair(const RuleInput& input);
TwoNamedRuns timed_pair(const RuleInput& input);

[[noreturn]] void cannot_read(const NamedRun& run, const char* what, const Error& error);
/// What `read` gives of a run. Cannot where it throws an Error: "the path of `a` cannot be read: ..." with
/// `what`, the error with its hint without (null).
template <class Read>
auto read_for(const NamedRun& run, const char* what, const Read& read) {
  try {
    return read();
  } catch (const Error& error) {
    cannot_read(run, what, error);
  }
}

/// What a rank recorded in `folder`, that of the run or of a repeat. Cannot where it recorded nothing.
MemoryTimeline memory_of(const NamedRun& run, const std::filesystem::path& folder, int rank = 0);

/// The largest distance of any rank from rank 0 by step, from the notes with this text: "replicas" (weights),
/// "buffers".
std::map<std::int64_t, double> distances_between(const NamedRun& run, std::string_view note);

/// Cannot where a run that the learner named did not end well, or its times cannot be trusted.
void check_ended(const NamedRun& run);
void check_timed(const NamedRun& run);

/// Cannot where a run that the learner named is of another lesson, was not measured here, or has a fault.
void check_made(const RuleInput& input, const NamedRun& run);

/// The runs that the learner named, each with its repeats. Cannot for other than so many (1, 2; 0: any)
/// settings.
std::vector<NamedRun> made_runs(const RuleInput& input, std::size_t settings);
/// Keys in which two runs differ, but for labels and what another number of ranks changes by itself.
std::vector<std::string> keys_apart(const NamedRun& one, const NamedRun& other);

/// Names of the question's runs that an argument lists; all of them without it.
std::vector<std::string> names_of_runs(const RuleInput& input, std::string_view argument);

/// "measured here", "recorded on ...", "predicted by model ...".
std::string source_of(const NamedRun& run);
/// Cannot where the two are of different sources.
void check_one_source(const NamedRun& base, const NamedRun& other);

/// samples/s, or any other figure, of the repeats of a run. A prediction made again is the same: it counts as
/// repeated as often as it takes.
Spread rates_of(const NamedRun& run);
Spread figures_of(const NamedRun& run, const FigureOf& figure);
/// The sum of the means of fields of the steps; a field that no step has counts as 0.
double sum_of(const SteadyFigures& run, const std::vector<std::string>& fields);
/// The sum of the means of fields of the steps. Cannot for a field that no step has, unless it is of a stage.
Spread sums_of(const NamedRun& run, const std::vector<std::string>& fields);

/// Losses of two runs beside each other. Cannot where they have none at the same steps.
LossesCompared losses_between(const NamedRun& base, const NamedRun& other);

/// compare() of `other` over `base`. Cannot where it cannot tell: too few repeats, no values, two sources.
Compared compare_runs(const NamedRun& base, const Spread& of_base, const NamedRun& other,
                      const Spread& of_other);

/// The lesson and configuration that arguments name: `lesson` (that of the question), `preset`, `set`, and
/// the `device` whose preset it is where none is named.
struct LessonSettings {
  LessonInfo lesson;
  Config config;
};
LessonSettings settings_in(const RuleInput& input);

/// A value (us, bytes, bytes/s, samples/s, a share of 1, a ratio, a count) in the unit of the question, or in
/// the usual one (ms, GiB, MB/s, samples/s, %, x) where it asks for no number. Error (exit code 2) for a
/// question whose unit is of something else.
double in_unit(const Question& question, Quantity quantity, double value);
/// For Rule::check: the unit of a number is one of this quantity.
template <Quantity quantity>
void check_unit(const Question& question) {
  in_unit(question, quantity, 0);
}
/// For Rule::is_timed.
inline bool always_timed(const Question&) { return true; }

/// `number` is right, and what lies between `low` and `high`; but a factor of 1.5 away at most, so that runs
/// that differ much do not make all answers right.
void set_interval(Truth& out, double number, double low, double high);
/// What is right lies between the least and the most of the repeats, and the median stands for them.
Truth truth_of(const Question& question, Quantity quantity, const Spread& values);

/// Three digits or more: "0.0123", "1.23", "12.3", "1234".
std::string figure_text(double value);
std::string ms_text(double us);
std::string percent_text(double share);
std::string gib_text(double bytes);
/// "12.5" of 12,500 us: in the unit that texts have, without and with it.
std::string number_text(Quantity quantity, double value);
std::string with_unit(Quantity quantity, double value);

/// Zeros as values above them, which compare() takes.
Spread above_zero(const Spread& values);

/// The argument as a number. Error (exit code 2) where it is none, or is not there.
double number_argument(const RuleInput& input, std::string_view name);
double number_argument(const RuleInput& input, std::string_view name, double otherwise);
/// A whole number from `least` to `most`. Error (exit code 2) for any other text; without the argument, for
/// `otherwise`.
int whole_argument(const Question& question, std::string_view name, int least,
                   int most = std::numeric_limits<int>::max(), const std::string& otherwise = "");
/// The value of "2 * (8 - 1) * 100 / 8": numbers, + - * / ( ), sqrt, log2, ceil, floor, min and max. Error
/// (exit code 2) for what cannot be worked out, at the question.
double calculated(const Question& question, const std::string& text);
/// What each text of an argument gives, in their order: "chunk_mb 100 / 8" is a key with a formula.
struct KeyedValue {
  std::string key;
  double value = 0;
};
std::vector<KeyedValue> keyed_values(const Question& question, std::string_view argument);
/// For what is wrong in the question: its place is said.
[[noreturn]] void wrong_question(const Question& question, const std::string& what, const std::string& hint);
[[noreturn]] void wrong_question(const RuleInput& input, const std::string& what, const std::string& hint);

/// Each choice has one of these keys and, with `all`, each of them is some choice's. Error (exit code 2)
/// otherwise.
void check_choice_keys(const Question& question, const std::vector<std::string>& keys, bool all = false);
/// "less_less", "less_same", ...: keys of choices that answer two questions with these words.
std::vector<std::string> pairs_of(const std::vector<std::string>& words);
/// The words of the choice with this key; the key where there is none.
std::string text_of_choice(const Question& question, const std::string& key);

/// "up", "down" or "same".
std::string direction_word(const Compared& compared);
/// "same" where the two lie within `band` of each other, else `fewer` or `more`.
std::string word_between(double before, double after, double band, const char* fewer = "less",
                         const char* more = "more");

}  // namespace isobar
