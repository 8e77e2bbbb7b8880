#include "cli/ask_question.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <utility>

#include "analyse/predicted_run.h"
#include "analyse/run_case.h"
#include "cli/case_text.h"
#include "cli/course_text.h"
#include "cli/measured_runs.h"
#include "config/lesson.h"
#include "core/files.h"
#include "core/number_text.h"
#include "core/text.h"
#include "page/reveal_drawing.h"
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

int make_runs(const std::vector<FoundRuns>& found, const fs::path& home, bool quiet) {
  std::vector<MeasuredPoint> points;
  for (const FoundRuns& one : found) {
    if (one.missing > 0 && one.cannot.empty() && !one.wanted.predicted.empty()) make_prediction(one, home);
    if (is_to_be_run(one)) points.push_back(point_of(one, home));
  }
  if (points.empty()) return 0;
  MeasureArguments arguments;
  arguments.lesson = *points.front().lesson;
  arguments.repeats = 1;
  arguments.whole = true;
  arguments.json = quiet;
  MeasuredRuns runs({.command = "quiz", .arguments = arguments}, std::move(points));
  return runs.run();
}

namespace {

constexpr std::uint64_t kMostSourceBytes = 4'000'000;

std::int64_t lines_of_page(const Question& question, const fs::path& home) {
  const fs::path page = home / "lessons" / question.lesson / "main.cpp";
  std::error_code code;
  if (question.kind != AnswerKind::find || !fs::exists(page, code)) return 0;
  const std::string text = read_text_file(page, kMostSourceBytes);
  return std::ranges::count(text, '\n');
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

void add_verdict(Report& out, const RunCase& run, std::size_t columns) {
  const RunVerdict verdict = verdict_of(run);
  const std::string notice = verdict.notice.empty() ? verdict_sentence(verdict) : verdict.notice;
  out.line("");
  add_remark(out, notice, verdict.next, columns);
  out.json["notice"] = notice;
  out.json["next"] = verdict.next;
}

/// The verdict of the newest run.
void notice_run(Report& out, const std::string& folder, std::size_t columns) {
  const RunCase run = std::move(read_cases({folder}).front());
  if (!run.view().is_measured_here()) return;
  if (!read_lesson(project_home(), run.view().lesson).stands_alone) add_verdict(out, run, columns);
}

/// The question's runs as a picture.
void add_picture(Report& out, const Question& question, const Revealed& revealed) {
  const std::optional<Drawing> drawing = question.kind == AnswerKind::make
                                             ? reveal_drawing(question, revealed.made)
                                             : reveal_drawing(question, revealed.cases);
  if (!drawing) return;
  out.line("");
  out.lines(drawing_lines(*drawing, terminal_style()));
}

/// The reveal is stored by now: what lies beside it must not keep it from being printed.
void add_notice(Report& out, const Question& question, const Revealed& revealed, bool json) {
  if (revealed.runs.empty() || !is_run_folder(revealed.runs.front())) return;
  try {
    if (!json) add_picture(out, question, revealed);
    notice_run(out, revealed.runs.front(), text_columns());
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
  Answer answer = parse_answer(question, typed, lines_of_page(question, learner.home));
  return question.kind == AnswerKind::make ? answer_with(question, answer.runs, learner) : answer;
}

Asked ask_and_store(const Question& question, const Learner& learner) {
  std::puts("");
  question_report(question, text_columns()).print(/*as_json=*/false);
  const std::string prompt = "  " + answers_text(question) + " (? = hint, skip = skip, q = quit): ";
  const std::size_t seen = read_progress(learner.progress).answer_line(question.id);
  for (std::size_t told = 0;;) {
    const std::optional<std::string> typed = typed_line(prompt);
    if (!typed || *typed == "q" || *typed == "quit") return Asked::left;
    if (*typed == "skip") return Asked::skipped;
    if (*typed == "?") {
      told = tell_hint(question, told);
      continue;
    }
    try {
      const Answer answer = typed_answer(question, *typed, learner);
      say("Understood as " + printable(answer_words(question, answer)) + ".");
      ProgressWriter(learner.progress).commit(question, answer, seen);
      return Asked::answered;
    } catch (const Error& error) {
      if (error.code() != Exit::bad_input) throw;
      say_error("", error);
    }
  }
}

RunsOffered offer_runs(const std::vector<FoundRuns>& missing, const Learner& learner, bool ask, bool quiet) {
  for (const FoundRuns& found : missing) {
    if (!found.cannot.empty() && !quiet)
      say(found.wanted.name + " cannot be run here: " + found.cannot + ".");
  }
  const bool can = std::ranges::any_of(
      missing, [](const FoundRuns& found) { return found.missing > 0 && found.cannot.empty(); });
  if (!can) return {};
  const std::string cost = "This needs " + cost_text(missing) + (cost_s(missing) > 0 ? " here." : ".");
  if (ask) {
    const Asked said = may_start(cost);
    if (said != Asked::answered) return {.said = said};
  } else if (!quiet) {
    say(cost);
  }
  std::fflush(stdout);
  return {.said = Asked::answered, .code = make_runs(missing, learner.home, quiet)};
}

Revealed reveal_and_tell(const Question& question, const Learner& learner, bool json) {
  Revealed revealed = reveal_question(question, learner.home, learner.runs, learner.progress);
  const bool cannot = revealed.graded.outcome == Outcome::cannot_answer;
  Report out =
      reveal_report(question, revealed, cannot ? "" : page_if_read(question, learner), text_columns());
  const Calibration calibration = calibrate(read_progress(learner.progress));
  if (!cannot) {
    add_notice(out, question, revealed, json);
    out.line("");
    add_scores(out, calibration);
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
