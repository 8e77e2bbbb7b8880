#include "cli/ask_question.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <set>
#include <utility>

#include "analyse/predicted_run.h"
#include "analyse/run_case.h"
#include "cli/case_text.h"
#include "cli/course_text.h"
#include "cli/measured_runs.h"
#include "config/lesson.h"
#include "core/files.h"
#include "core/number_text.h"
#include "core/processors.h"
#include "core/text.h"
#include "course/units.h"
#include "page/reveal_drawing.h"
#include "plot/bars.h"
#include "record/run_folder.h"
#include "record/run_tree.h"

namespace isobar {

namespace fs = std::filesystem;

void say(const std::string& text) {
  Report out;
  out.wrapped("", text);
  out.print(/*as_json=*/false);
}

namespace {

constexpr const char* kRunsFolder = "runs";

bool is_to_be_run(const FoundRuns& found) {
  return found.missing > 0 && found.cannot.empty() && found.wanted.predicted.empty();
}

void make_prediction(const FoundRuns& found, const fs::path& home) {
  const NeededRun& wanted = found.wanted;
  const Prediction prediction = predict_on_device(read_lesson(home, wanted.lesson), run_settings(wanted),
                                                  wanted.predicted, found.command);
  write_predicted_run(prediction, reserve_run_folder(kRunsFolder, "predicted-" + wanted.lesson));
}

MeasuredPoint point_of(const FoundRuns& found, const fs::path& home) {
  const NeededRun& wanted = found.wanted;
  const Settings settings = run_settings(wanted);
  MeasuredPoint out{.name = wanted.name, .sets = settings.sets, .lesson = read_lesson(home, wanted.lesson)};
  out.preset = settings.preset;
  out.times = found.missing;
  out.for_times = found.is_timed;
  if (wanted.ranks > 1) out.sets.push_back("run.ranks=" + std::to_string(wanted.ranks));
  if (!wanted.fails.empty()) out.fails = number_of<int>(wanted.fails).value_or(1);
  return out;
}

}  // namespace

std::optional<MachineRates> rates_if_kept() {
  try {
    return kept_machine_rates();
  } catch (const Error&) {  // a file that is damaged; predict reports it
    return std::nullopt;
  }
}

std::vector<FoundRuns> missing_runs(const std::vector<Question>& questions, const fs::path& home) {
  const std::optional<MachineRates> rates = rates_if_kept();
  return missing_runs(questions, home, known_runs(kRunsFolder), rates ? &*rates : nullptr);
}

RunsOffered make_runs(const std::vector<FoundRuns>& found, const fs::path& home, bool quiet) {
  std::vector<MeasuredPoint> points;
  for (const FoundRuns& one : found) {
    if (one.missing > 0 && one.cannot.empty() && !one.wanted.predicted.empty()) make_prediction(one, home);
    if (is_to_be_run(one)) points.push_back(point_of(one, home));
  }
  if (points.empty()) return {};
  MeasureArguments arguments;
  arguments.lesson = *points.front().lesson;
  arguments.repeats = 1;
  arguments.whole = true;
  arguments.json = quiet;
  MeasuredRuns runs({.command = "quiz", .arguments = arguments}, std::move(points));
  const int code = runs.run();
  if (runs.was_disturbed() && !quiet)
    say("Other programs use the processors: further runs for times would not count, and were left out.");
  return {.code = code, .is_busy = runs.was_disturbed()};
}

namespace {

constexpr std::uint64_t kMostSourceBytes = 4'000'000;

/// Lines of the code that a find is about; none for another question.
std::vector<std::string> code_of(const Question& question, const fs::path& home) {
  const fs::path page = home / "lessons" / question.lesson / "main.cpp";
  std::error_code code;
  if (question.kind != AnswerKind::find || !fs::exists(page, code)) return {};
  std::vector<std::string> out = split(read_text_file(page, kMostSourceBytes), '\n');
  if (!out.empty() && out.back().empty()) out.pop_back();
  return out;
}

void list_code(const std::vector<std::string>& code) {
  Report out;
  for (std::size_t i = 0; i < code.size(); ++i) out.line(fmt::format("{:4}  {}", i + 1, code[i]));
  out.print(/*as_json=*/false);
}

/// The number of the only line that holds this text, as it would be typed; the text itself where none does.
/// Error (exit code 2) where several do.
std::string line_with(const std::vector<std::string>& code, const std::string& text,
                      const Question& question) {
  const bool is_number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  if (text.empty() || is_number || text.starts_with("main.cpp")) return text;
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code[i].find(text) != std::string::npos) lines.push_back(std::to_string(i + 1));
  }
  if (lines.size() > 1)
    throw Error("\"" + printable(text, 60) + "\" stands in lines " + joined(lines), question.id,
                "more of the line, or its number");
  return lines.empty() ? text : lines.front();
}

constexpr std::size_t kMostThought = 400;

/// Splits "b because it is smaller" into the answer and the reason; "" without one.
std::string take_thought(std::string& typed) {
  constexpr std::string_view kBecause = " because ";
  const std::size_t at = typed.find(kBecause);
  if (at == std::string::npos) return "";
  const std::string out(trimmed(std::string_view(typed).substr(at + kBecause.size())));
  typed = std::string(trimmed(std::string_view(typed).substr(0, at)));
  return out.substr(0, kMostThought);
}

/// What was answered from the same idea before this.
void add_same_idea(Report& out, const CourseProgress& progress, const Revealed& revealed) {
  for (std::size_t i = progress.reveals.size(); i-- > 0;) {
    const StoredReveal& before = progress.reveals[i];
    const StoredAnswer& answer = progress.answers[before.of];
    if (revealed.graded.about.empty() || before.about != revealed.graded.about ||
        answer.line >= revealed.answer.line || before.id == revealed.answer.id)
      continue;
    out.headed(
        "as before",
        "the same idea misled you in " + before.id +
            (answer.thought.empty() ? "" : ", where you thought: " + printable(answer.thought, kMostThought)),
        text_columns());
    return;
  }
}

/// Answered: the runs may start.
Asked may_start(const std::string& cost) {
  say(cost);
  for (;;) {
    const std::optional<std::string> typed = typed_line("  start them? (Enter = yes, s = skip, q = quit): ");
    if (!typed || *typed == "q" || *typed == "quit") return Asked::left;
    if (typed->empty() || *typed == "y" || *typed == "yes") return Asked::answered;
    if (*typed == "s" || *typed == "skip" || *typed == "n" || *typed == "no") return Asked::skipped;
  }
}

/// The next hint; the last one again when there is no other.
std::size_t tell_hint(const Question& question, std::size_t told) {
  if (question.hints.empty()) {
    say("There is no hint for this one.");
    return told;
  }
  const std::size_t index = std::min(told, question.hints.size() - 1);
  say(fmt::format("Hint {} of {}: {}", index + 1, question.hints.size(), question.hints[index]));
  return index + 1;
}

/// The lines of the code that are right, between those around them.
void add_code(Report& out, const Question& question, const Truth& truth, const fs::path& home) {
  constexpr std::int64_t kAround = 2;
  const std::vector<std::string> code = code_of(question, home);
  std::set<std::int64_t> right, shown;
  for (const std::string& range : truth.accepted) {
    const std::size_t dash = range.find('-');
    const std::int64_t first = number_of<std::int64_t>(range.substr(0, dash)).value_or(1);
    const std::int64_t last =
        dash == std::string::npos ? first : number_of<std::int64_t>(range.substr(dash + 1)).value_or(first);
    for (std::int64_t line = first; line <= last; ++line) right.insert(line);
  }
  for (const std::int64_t line : right) {
    for (std::int64_t near = line - kAround; near <= line + kAround; ++near) shown.insert(near);
  }
  for (const std::int64_t line : shown) {
    if (line < 1 || line > std::ssize(code)) continue;
    out.line(fmt::format("  {} {:3}  {}", right.contains(line) ? '>' : ' ', line,
                         code[static_cast<std::size_t>(line - 1)]));
  }
}

/// The question's runs as a picture; without a run the number beside the right one, or the code. The reveal
/// is stored by now: what lies beside it must not keep it from being printed.
void add_picture(Report& out, const Question& question, const Revealed& revealed, const fs::path& home) {
  try {
    const bool has_runs = !revealed.runs.empty() && is_run_folder(revealed.runs.front());
    const std::optional<double>& number = revealed.answer.number;
    std::optional<Drawing> drawing;
    if (has_runs)
      drawing = question.kind == AnswerKind::make ? reveal_drawing(question, revealed.made)
                                                  : reveal_drawing(question, revealed.cases);
    if (!drawing && question.kind == AnswerKind::number && number)
      drawing = answer_bars(*number, answer_words(question, revealed.answer), revealed.truth.number,
                            with_unit(revealed.truth.number, question.unit), revealed.truth.low,
                            revealed.truth.high);
    out.line("");
    if (question.kind == AnswerKind::find) add_code(out, question, revealed.truth, home);
    if (drawing && drawing->body) out.drawn(drawing_lines(*drawing, terminal_style()));
  } catch (const Error&) {
  }
}

}  // namespace

std::string page_if_read(const Question& question, const Learner& learner) {
  try {
    return reveal_page(learner.home, question);
  } catch (const Error& error) {
    return printable(error.what(), 400);
  }
}

void say_error(const std::string& head, const Error& error) {
  say(head + printable(error.what(), 400) + (error.hint().empty() ? "" : "; " + error.hint()));
}

Learner this_learner() { return {.home = project_home(), .progress = progress_file()}; }

std::optional<std::string> typed_line(const std::string& prompt) {
  std::fputs(prompt.c_str(), stdout);
  std::fflush(stdout);
  std::string line;
  if (!std::getline(std::cin, line)) {
    std::fputs("\n", stdout);
    return std::nullopt;
  }
  return std::string(trimmed(line));
}

Answer answer_with(const Question& question, const std::vector<std::string>& runs, const Learner& learner) {
  if (question.kind != AnswerKind::make)
    throw Error("--with names runs, and no run is the answer", question.id,
                "--answer ..., with " + answers_text(question));
  std::vector<fs::path> folders;
  for (const std::string& run : runs) {  // "last" is another one later
    folders.push_back(find_run(run, learner.runs));
    check_run_folder(folders.back());
  }
  return answer_of_runs(question, folders);
}

Answer typed_answer(const Question& question, const std::string& typed, const Learner& learner) {
  const std::vector<std::string> code = code_of(question, learner.home);
  const std::string line = code.empty() ? typed : line_with(code, typed, question);
  Answer answer = parse_answer(question, line, std::ssize(code));
  return question.kind == AnswerKind::make ? answer_with(question, answer.runs, learner) : answer;
}

Asked ask_and_store(const Question& question, const Learner& learner) {
  std::puts("");
  question_report(question, text_columns()).print(/*as_json=*/false);
  std::string prompt = "  (? = hint, skip, q = quit): ";
  const std::string answers = answers_text(question);
  if (answers.size() + prompt.size() < terminal_columns()) {
    prompt = "  " + answers + prompt.substr(1);
  } else {
    say(answers);
  }
  const std::size_t seen = read_progress(learner.progress).answer_line(question.id);
  const std::vector<std::string> code = code_of(question, learner.home);
  for (std::size_t told = 0;;) {
    std::optional<std::string> typed = typed_line(prompt);
    if (!typed || *typed == "q" || *typed == "quit") return Asked::left;
    if (*typed == "skip") {
      if (question.kind == AnswerKind::make)
        say("Left for later: ./isobar quiz " + question.id + " --with RUN hands it in.");
      return Asked::skipped;
    }
    if (*typed == "l" && question.kind == AnswerKind::find) {
      list_code(code);
      continue;
    }
    if (*typed == "?") {
      told = tell_hint(question, told);
      continue;
    }
    try {
      const std::string thought = take_thought(*typed);
      const Answer answer = typed_answer(question, *typed, learner);
      const bool is_line = answer.line > 0 && answer.line <= std::ssize(code);
      const std::string line =
          is_line ? ": " + std::string(trimmed(code[static_cast<std::size_t>(answer.line - 1)])) : "";
      say("Understood as " + printable(answer_words(question, answer)) + printable(line) + ".");
      ProgressWriter(learner.progress).commit(question, answer, seen, thought);
      return Asked::answered;
    } catch (const Error& error) {
      if (error.code() != Exit::bad_input) throw;
      say_error("", error);
    }
  }
}

namespace {

/// What they cost while others use processors too.
std::vector<FoundRuns> on_busy_machine(std::vector<FoundRuns> missing) {
  if (cost_s(missing) == 0) return missing;
  const double slower = 1 + std::min(1.0, processors_at_work() / usable_cores());
  for (FoundRuns& one : missing) one.cost_s *= slower;
  return missing;
}

}  // namespace

RunsOffered offer_runs(const std::vector<FoundRuns>& missing, const Learner& learner, bool ask, bool quiet) {
  for (const FoundRuns& found : missing) {
    if (!found.cannot.empty() && !quiet)
      say(found.wanted.name + " cannot be run here: " + found.cannot + ".");
  }
  const bool can = std::ranges::any_of(
      missing, [](const FoundRuns& found) { return found.missing > 0 && found.cannot.empty(); });
  if (!can) return {};
  const auto cost = [&] {  // it looks at the processors for a while
    return "This needs " + cost_text(on_busy_machine(missing)) + (cost_s(missing) > 0 ? " here." : ".");
  };
  if (ask) {
    const Asked said = may_start(cost());
    if (said != Asked::answered) return {.said = said};
  } else if (!quiet) {
    say(cost());
  }
  std::fflush(stdout);
  return make_runs(missing, learner.home, quiet);
}

Revealed reveal_and_tell(const Question& question, const Learner& learner, bool json, bool is_busy) {
  Revealed revealed = reveal_question(question, learner.home, learner.runs, learner.progress, is_busy);
  const bool cannot = revealed.graded.outcome == Outcome::cannot_answer;
  const std::string page =
      json && !cannot ? page_if_read(question, learner) : "";  // else it comes on request
  Report out = reveal_report(question, revealed, page, text_columns());
  const CourseProgress progress = read_progress(learner.progress);
  const Calibration calibration = calibrate(progress);
  if (!cannot) {
    add_same_idea(out, progress, revealed);
    if (!json) add_picture(out, question, revealed, learner.home);
  }
  out.json["calibration"] = {{"asked", calibration.asked},
                             {"right", calibration.right},
                             {"numbers", calibration.you.size()},
                             {"factor_you", calibration.typical_factor_you()},
                             {"factor_formulas", calibration.typical_factor_formulas()}};
  if (!json) std::puts("");
  out.print(json);
  return revealed;
}

}  // namespace isobar
