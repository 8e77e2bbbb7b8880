// Questions of the lessons: predict first, then see.
#include <fmt/format.h>

#include <cstdio>

#include "cli/ask_question.h"
#include "cli/commands.h"
#include "cli/course_text.h"
#include "cli/quiet_machine.h"
#include "cli/shared_options.h"
#include "core/named_file.h"
#include "course/variant.h"

namespace isobar {

namespace {

struct Looked {
  const Learner& learner;
  const CourseProgress& progress;
  const std::vector<KnownRun> known;
  const std::optional<MachineRates> rates;
  bool briefly;  ///< without what is asked
};

Json runs_json(const std::vector<FoundRuns>& found) {
  return json_list(found, [](const FoundRuns& one) {
    const Json folders = json_list(one.folders, [](const auto& folder) { return folder.string(); });
    return ISOBAR_NAMED(one.wanted.name, one.missing, one.cost_s, one.cannot, one.command, folders);
  });
}

/// "right", "stored, not revealed", or what it costs.
std::string question_standing(const Question& question, QuestionState state, const Looked& looked,
                              const std::vector<FoundRuns>& found) {
  if (state == QuestionState::revealed) return printable(looked.progress.reveal(question.id)->outcome, 40);
  for (const FoundRuns& one : found) {
    if (!one.cannot.empty()) return "cannot be answered here: " + one.cannot;
  }
  const std::string cost = question.kind == AnswerKind::make ? "with runs of yours" : cost_text(found);
  return cost + (state == QuestionState::committed ? "; your prediction is stored" : "");
}

void add_question(Report& out, Json& all, const Question& question, QuestionState state, const Looked& looked,
                  std::size_t columns) {
  std::vector<FoundRuns> found;
  std::string stands;
  try {
    found = find_runs(question, looked.learner.home, looked.known, looked.rates ? &*looked.rates : nullptr);
    stands = question_standing(question, state, looked, found);
  } catch (const Error& error) {
    stands = "! " + printable(error.what(), 400) + ", " + printable(error.where(), 400);
  }
  out.line("  " + question.id + "  (" + stands + ")");
  if (!looked.briefly) out.wrapped("    ", question.ask, columns + 2);
  Json json = question_report(question, columns).json;
  json["state"] = state_name(state);
  json["outcome"] =
      state == QuestionState::revealed ? Json(looked.progress.reveal(question.id)->outcome) : Json();
  json["cost_s"] = cost_s(found);
  json["cost"] = stands;
  json["runs"] = runs_json(found);
  all.push_back(std::move(json));
}

/// The questions of a lesson, "" = of all: those that are open with what their runs cost, or `all` with what
/// became of them.
Report quiz_list(const Learner& learner, const std::string& lesson, bool all) {
  const CourseProgress progress = read_progress(learner.progress);
  const Looked looked = {learner, progress, known_runs(learner.runs), rates_if_kept(), lesson.empty()};
  const CourseQuestions asked = lesson.empty()
                                    ? all_questions(learner.home)
                                    : CourseQuestions{read_questions(learner.home, lesson), {}, {}};
  Report out;
  add_problems(out, progress, asked.problems);
  Json questions = Json::array();
  std::string before;
  std::size_t answered = 0, there = 0;
  for (const Question& form : asked.questions) {
    ++there;
    const Question question = as_asked(form, progress, /*again=*/false);
    const QuestionState state = state_of(question, progress);
    if (state == QuestionState::revealed) ++answered;
    if (state == QuestionState::revealed && !all) continue;
    if (question.lesson != before) out.line(question.lesson);
    before = question.lesson;
    add_question(out, questions, question, state, looked, text_columns());
  }
  out.wrapped(fmt::format("{} of {} answered and revealed.", answered,
                          counted(static_cast<std::int64_t>(there), "question")));
  add_scores(out, calibrate(progress));
  out.wrapped(
      "./isobar quiz QUESTION asks one of them, ./isobar quiz LESSON those of a lesson, one after the "
      "other.");
  out.json = {{"questions", questions}, {"answered", answered}, {"of", there}};
  return out;
}

constexpr const char* kQuiz = "./isobar quiz";

constexpr std::int64_t kMostWait_min = 7 * 24 * 60;

struct QuizArguments {
  std::string what;  ///< a lesson, a question, or ""
  std::string answer;
  std::vector<std::string> runs;
  std::filesystem::path csv;
  bool replace = false;  ///< write over `csv`
  bool yes = false, json = false, hint = false, again = false, list = false, runs_only = false;
  bool when_quiet = false, record = false;
  std::int64_t wait_min = 60;

  bool has_answer() const { return !answer.empty() || !runs.empty(); }
};

std::optional<QuizArguments> parse_quiz(const Words& words) {
  QuizArguments out;
  OptionParser app(
      "Questions of the lessons: your prediction is stored, then the runs that decide are made or found, "
      "then "
      "you see. Without an argument: the open ones, with what each costs",
      kQuiz);
  app.add("LESSON|QUESTION", out.what,
          "a lesson, such as 02: its open questions, one after the other; or one: 02.best_workers");
  app.add("--answer", out.answer, "the prediction, in place of a prompt");
  app.add("--with", out.runs, "where runs are the answer: one of them; again for each");
  app.flag("--yes", out.yes, "make the missing runs without asking");
  app.flag("--hint", out.hint, "the hints of a question; at its prompt, ? gives them one by one");
  app.flag("--again", out.again, "ask again what was answered before");
  app.flag("--runs-only", out.runs_only, "make the runs that the question needs, and nothing else");
  app.flag(
      "--when-quiet", out.when_quiet,
      "grade numbers that wait for runs of this machine, as soon as no other program uses its processors");
  app.add("--wait", out.wait_min, "minutes that --when-quiet waits at most (60); 0 tries once, at once");
  app.flag("--record", out.record,
           "of a lesson: make the runs, and keep what they show for learners with a busy machine");
  app.flag("--list", out.list, "all questions, of the lesson where one is named, with what became of them");
  app.add("--export", out.csv, "write all answers and what became of them into this file, as CSV");
  app.flag(kReplace, out.replace, kReplaceHelp);
  app.flag("--json", out.json, "one JSON object instead of the text; asks nothing");
  if (!app.parse(words, {.where = kQuiz, .example = "02.best_workers --answer 4"})) return std::nullopt;
  if (out.wait_min < 0 || out.wait_min > kMostWait_min)
    throw Error("--wait takes minutes from 0 to " + std::to_string(kMostWait_min), kCommandLine, "--wait 60");
  if (!out.answer.empty() && !out.runs.empty())
    throw Error("give the answer with --answer or with --with, not both", kCommandLine, "leave one out");
  return out;
}

int stopped(const Question& question, int code) {
  say("Your prediction is stored; ./isobar quiz " + question.id + " continues from here.");
  return code;
}

/// From a stored prediction to its reveal. The exit code.
int go_on(const Question& question, const Learner& learner, const QuizArguments& arguments) {
  const bool ask = can_ask() && !arguments.yes && !arguments.json;
  const std::vector<FoundRuns> missing = missing_runs({question}, learner.home);
  bool is_busy = false;
  if (ask || arguments.yes || cost_s(missing) == 0) {  // predictions cost nothing
    const RunsOffered offered = offer_runs(missing, learner, ask, arguments.json);
    if (offered.code != 0) return arguments.json ? offered.code : stopped(question, offered.code);
    if (offered.said == Asked::left) return stopped(question, 0);
    is_busy = offered.is_busy;
  } else if (!arguments.json) {
    say("This needs " + cost_text(missing) + " here; --yes makes them.");
  }
  const Revealed revealed = reveal_and_tell(question, learner, arguments.json, is_busy);
  if (arguments.json || revealed.graded.outcome == Outcome::cannot_answer) return 0;
  Report out;
  add_scores(out, calibrate(read_progress(learner.progress)));
  out.print(/*as_json=*/false);
  return 0;
}

void tell_stored(const Question& question, const StoredAnswer& answer) {
  say(question.id + ": you said " + printable(answer_words(question, answer)) + " (" +
      printable(answer.time, 40) + ").");
}

[[noreturn]] void nobody_answers(const Question& question) {
  question_report(question, text_columns()).print(/*as_json=*/false);
  std::fflush(stdout);
  const std::string option = question.kind == AnswerKind::make ? " --with RUN" : " --answer ...";
  throw Error("there is no terminal to type the answer into", question.id,
              std::string(kQuiz) + " " + question.id + option + " --yes, with " + answers_text(question));
}

/// Refuses an answer beside one that is stored; a prediction is made once.
void check_unanswered(const Question& question, QuestionState state, const QuizArguments& arguments) {
  if (state == QuestionState::open || arguments.again || !arguments.has_answer()) return;
  throw Error(state == QuestionState::committed ? "a prediction is stored already"
                                                : "this question has already been answered and revealed",
              question.id,
              state == QuestionState::committed
                  ? "leave out --answer to make its runs and reveal it; --again stores a new answer"
                  : "--again asks it again");
}

void tell_problems(const CourseProgress& progress) {
  Report out;
  add_problems(out, progress);
  out.print(/*as_json=*/false);
}

/// A reveal of before, with all that its runs still show.
Report told_again(const Question& question, const CourseProgress& progress, const Learner& learner) {
  const StoredReveal& reveal = *progress.reveal(question.id);
  const std::string page = page_if_read(question, learner);
  std::optional<Revealed> again;
  try {
    again =
        recalled(question, progress, learner.home, find_runs(question, learner.home, learner.runs, nullptr));
  } catch (const Error&) {  // its runs cannot be looked for: what was written down then is printed
  }
  Report out = again ? reveal_report(question, *again, page, text_columns())
                     : stored_report(question, reveal, *progress.answer(question.id), page, text_columns());
  out.json["revealed"] = reveal.time;
  out.wrapped("Revealed " + printable(reveal.time, 40) + "; ./isobar quiz " + question.id +
              " --again asks it again.");
  return out;
}

/// A prediction is there: one of before, that of the command line, or one that is typed now.
Asked predict(const Question& question, const CourseProgress& progress, const Learner& learner,
              const QuizArguments& arguments) {
  if (state_of(question, progress) == QuestionState::committed && !arguments.again) {
    if (!arguments.json) tell_stored(question, *progress.answer(question.id));
    return Asked::answered;
  }
  if (!arguments.has_answer()) return ask_and_store(question, learner);
  const Answer given = arguments.runs.empty() ? typed_answer(question, arguments.answer, learner)
                                              : answer_with(question, arguments.runs, learner);
  ProgressWriter(learner.progress).commit(question, given, progress.answer_line(question.id));
  return Asked::answered;
}

int ask_one(const Question& form, const Learner& learner, const QuizArguments& arguments) {
  const CourseProgress progress = read_progress(learner.progress);
  const Question question = as_asked(form, progress, arguments.again);
  const QuestionState state = state_of(question, progress);
  if (!arguments.json) tell_problems(progress);
  check_unanswered(question, state, arguments);
  if (state == QuestionState::revealed && !arguments.again) {
    told_again(question, progress, learner).print(arguments.json);
    return 0;
  }
  if (!arguments.has_answer() && (state != QuestionState::committed || arguments.again)) {
    if (arguments.json) {
      question_report(question, text_columns()).print(/*as_json=*/true);
      return 0;
    }
    if (!can_ask()) nobody_answers(question);
  }
  const Asked asked = predict(question, progress, learner, arguments);
  return asked == Asked::answered ? go_on(question, learner, arguments) : 0;
}

enum class Went { on, past, out };  ///< past: the question stays open

/// One of those of a lesson; `code` is that of its runs.
Went ask_next(const Question& form, const Learner& learner, const QuizArguments& arguments, int& code) {
  const Question question = as_asked(form, read_progress(learner.progress), arguments.again);
  const auto is_revealed = [&](const CourseProgress& progress) {
    return state_of(question, progress) == QuestionState::revealed;
  };
  const CourseProgress progress = read_progress(learner.progress);
  if (is_revealed(progress) && !arguments.again) return Went::on;
  const Asked asked = predict(question, progress, learner, arguments);
  if (asked != Asked::answered) return asked == Asked::left ? Went::out : Went::past;
  code = go_on(question, learner, arguments);
  if (code != 0) return Went::out;
  return is_revealed(read_progress(learner.progress)) ? Went::on : Went::past;
}

int ask_all(const std::string& lesson, const Learner& learner, const QuizArguments& arguments) {
  tell_problems(read_progress(learner.progress));
  std::int64_t open = 0;
  for (const Question& question : read_questions(learner.home, lesson)) {
    int code = 0;
    Went went = Went::past;
    try {
      went = ask_next(question, learner, arguments, code);
    } catch (const Error& error) {  // in this question; the others can be asked
      say_error(question.id + ": ", error);
    }
    if (went == Went::out) return code;
    if (went == Went::past) ++open;
  }
  if (open > 0) {
    std::printf("%s of %s still open\n", counted(open, "question").c_str(), lesson.c_str());
  } else {
    std::printf("no question of %s is open; ./isobar quiz %s --again asks them again\n", lesson.c_str(),
                lesson.c_str());
  }
  return 0;
}

int make_runs_of(const Question& question, const Learner& learner, bool json) {
  const std::vector<FoundRuns> missing = missing_runs({question}, learner.home);
  const int code = offer_runs(missing, learner, /*ask=*/false, json).code;
  if (json) std::puts(Json{{"id", question.id}, {"code", code}}.text().c_str());
  return code;
}

int tell_hints(const Question& question, bool json) {
  Report out;
  out.json = {{"id", question.id}, {"hints", question.hints}};
  if (question.hints.empty()) out.line("there is no hint for " + question.id);
  for (const std::string& hint : question.hints) out.wrapped("- ", hint);
  out.print(json);
  return 0;
}

int export_answers(const Learner& learner, const QuizArguments& arguments) {
  std::error_code code;
  if (std::filesystem::equivalent(arguments.csv, learner.progress, code))
    throw Error("--export would overwrite the progress file", arguments.csv.string(), "name another file");
  const CourseProgress progress = read_progress(learner.progress);
  const std::string head = progress_csv({});
  write_named_file({.path = arguments.csv,
                    .option = "--export",
                    .kind = "table of answers",
                    .mark = head,
                    .replace = arguments.replace},
                   progress_csv(progress));
  Report out;
  out.line(arguments.csv.string());
  out.json = {{"file", arguments.csv.string()}, {"answers", progress.answers.size()}};
  out.print(arguments.json);
  return 0;
}

void check_needs_question(const QuizArguments& arguments) {
  const char* const option = !arguments.answer.empty() ? "--answer"
                             : !arguments.runs.empty() ? "--with"
                             : arguments.hint          ? "--hint"
                             : arguments.runs_only     ? "--runs-only"
                                                       : nullptr;
  if (option != nullptr)
    throw Error(std::string(option) + " needs the name of a question", kCommandLine,
                std::string(kQuiz) + " 02.best_workers " + option + "; --list names them");
}

}  // namespace

int quiz_command(const Words& words) {
  const std::optional<QuizArguments> arguments = parse_quiz(words);
  if (!arguments) return 0;
  const Learner learner = this_learner();
  if (!arguments->csv.empty()) {
    return export_answers(learner, *arguments);
  }
  if (arguments->when_quiet) return grade_when_quiet(learner, arguments->wait_min, arguments->json);
  const std::vector<std::string> lessons = lessons_like(lesson_names(learner.home), arguments->what);
  if (arguments->what.empty() || !lessons.empty()) {
    check_needs_question(*arguments);
    const std::string lesson = lessons.empty() ? "" : find_lesson(learner.home, arguments->what).name;
    if (arguments->record) {
      if (lesson.empty())
        throw Error("--record needs a lesson", kCommandLine, std::string(kQuiz) + " 02 --record");
      return record_truths(lesson, learner, arguments->json);
    }
    if (!lesson.empty() && can_ask() && !arguments->json && !arguments->list)
      return ask_all(lesson, learner, *arguments);
    quiz_list(learner, lesson, arguments->list).print(arguments->json);
    return 0;
  }
  const Question question = find_question(learner.home, arguments->what);
  const auto asked = [&] { return as_asked(question, read_progress(learner.progress), arguments->again); };
  if (arguments->list)
    throw Error("--list lists the questions of a lesson", kCommandLine,
                std::string(kQuiz) + " " + question.lesson + " --list");
  if (arguments->record)
    throw Error("--record makes the runs of a lesson", kCommandLine,
                std::string(kQuiz) + " " + question.lesson + " --record");
  if (arguments->hint) return tell_hints(asked(), arguments->json);
  if (arguments->runs_only) return make_runs_of(asked(), learner, arguments->json);
  return ask_one(question, learner, *arguments);
}

}  // namespace isobar
