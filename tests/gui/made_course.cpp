#include "gui/made_course.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "config/load.h"
#include "core/machine.h"
#include "record/json_line.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

std::string environment(const std::string& started) {
  return fmt::format(
      "[environment]\nstarted = \"{}\"\nhost = \"{}\"\ncpu = \"{}\"\ndevice = \"cpu\"\nthreads = 1\n"
      "commit = \"none\"\ncommand = \"made up\"\n",
      started, host_name(), cpu_name());
}

std::string stream_of_rank(const NeededRun& wanted, const Config& config, double step_us, int rank) {
  const std::int64_t steps = config.train.steps;
  const std::int64_t samples = config.train.global_batch / config.run.ranks;
  JsonLine head("run");
  head.add("schema", 1).add("lesson", wanted.lesson).add("preset", wanted.preset).add("rank", rank);
  head.add("world", config.run.ranks).add("pid", 1).add("host", host_name()).add("device", "cpu");
  head.add("measure", "none").add("precision", "none").add("wanted_steps", steps);
  head.add("from_samples", 0).add("from_wall_us", 0).add("started", "2026-11-20T10:00:00Z");
  std::string text = head.text() + JsonLine("note").add("text", "plan").add("steps_per_epoch", 16).text();
  const auto loss = [](std::int64_t step) { return 0.2 + 0.8 / (1 + static_cast<double>(step)); };
  for (std::int64_t step = 0; step < steps; ++step) {
    JsonLine line("step");
    line.add("step", step).add("t_us", step_us * static_cast<double>(step + 1)).add("samples", samples);
    line.add("load_us", step_us * 0.2).add("copy_us", 0).add("forward_us", step_us * 0.25);
    line.add("backward_us", step_us * 0.4).add("comm_us", 0).add("optimize_us", step_us * 0.1);
    text += line.add("step_us", step_us).add("loss", loss(step)).text();
    if (rank > 0 || step % 16 != 15) continue;
    JsonLine eval("eval");
    eval.add("step", step + 1).add("t_us", step_us * static_cast<double>(step + 1)).add("samples", 64);
    text +=
        eval.add("loss", loss(step)).add("rmse_u10m", loss(step)).add("persistence_rmse_u10m", 0.4).text();
  }
  JsonLine summary("summary");
  summary.add("steps", steps)
      .add("samples", steps * samples)
      .add("wall_us", step_us * static_cast<double>(steps));
  summary.add("step_us", step_us).add("samples_per_s", static_cast<double>(samples) * 1e6 / step_us);
  const std::string status = wanted.fails.empty() ? "done" : "failed";
  return text + summary.text() + JsonLine("end").add("status", status).add("reason", "").text();
}

/// Ranges such as "12-14" as well.
bool accepts(const Truth& truth, const std::string& answer) {
  return std::any_of(truth.accepted.begin(), truth.accepted.end(), [&](const std::string& one) {
    const std::size_t dash = one.find('-', 1);
    if (dash == std::string::npos || one.find_first_not_of("0123456789-") != std::string::npos)
      return one == answer;
    const int line = std::stoi(answer);
    return line >= std::stoi(one) && line <= std::stoi(one.substr(dash + 1));
  });
}

}  // namespace

CourseFolder::CourseFolder(const std::string& questions) {
  const fs::path home = folder / "home";
  fs::create_directories(home / "lessons");
  const fs::path from = project_home() / "lessons";
  for (const char* const part : {"01_baseline", "02_workers", "presets", "base.toml", "glossary.md"})
    fs::copy(from / part, home / "lessons" / part, fs::copy_options::recursive);
  for (const char* const lesson : {"01_baseline", "02_workers"}) {
    fs::remove(home / "lessons" / lesson / "questions.toml");
    fs::remove(home / "lessons" / lesson / "reveal.md");
  }
  if (questions.empty()) return;
  write_file_whole(home / "lessons/01_baseline/questions.toml", std::string_view(questions));
  write_file_whole(home / "lessons/02_workers/questions.toml",
                   std::string_view("opens_with = [\"01.forward_ms\"]\n"));
}

AppOptions CourseFolder::options() const {
  AppOptions out = options_in(folder);
  out.home = folder / "home";
  return out;
}

void write_fitting_runs(const Question& question, const fs::path& home, const fs::path& runs,
                        double step_us) {
  int number = 0;
  for (const FoundRuns& found : find_runs(question, home, runs, nullptr)) {
    const double slower = 1 + 0.1 * number++;
    if (!found.wanted.recorded.empty() || !found.wanted.predicted.empty()) continue;
    for (std::int64_t i = 0; i < found.missing; ++i) {
      const fs::path folder =
          runs / fmt::format("{}-{}-{}-{}", found.wanted.lesson, question.id, found.wanted.name, i);
      fs::create_directories(folder);
      const std::string started = fmt::format("2026-11-20T10:{:02}:{:02}Z", number % 60, i % 60);
      write_file_whole(folder / "run.toml",
                       std::string_view(to_toml(found.config.config) + "\n" + environment(started)));
      const double own_us = step_us * slower * (1 + 0.01 * static_cast<double>(i));
      for (int rank = 0; rank < found.config.config.run.ranks; ++rank) {
        write_file_whole(folder / fmt::format("rank-{:04}.jsonl", rank),
                         std::string_view(stream_of_rank(found.wanted, found.config.config, own_us, rank)));
      }
    }
  }
}

void show_card(Headless& window, const Question& question) {
  AppState& state = window.state();
  state.lesson = question.lesson;
  state.code = {};
  state.course.parts[question.lesson] = static_cast<std::size_t>(question.goal);
  state.course.shown[fmt::format("{} goal {}", question.lesson, question.goal)] = question.id;
  window.until("the card of " + question.id,
               [&] { return window.app().course()->ready && window.state().course.question == question.id; });
  window.frames(2);
}

void answer_card(Headless& window, const Question& question, const std::string& answer) {
  switch (question.kind) {
    case AnswerKind::choice:
      window.click("choice " + answer);
      break;
    case AnswerKind::direction:
      window.click("direction " + answer);
      break;
    case AnswerKind::number:
    case AnswerKind::find:
      window.type("answer", answer);
      break;
    case AnswerKind::make: {
      window.state().compared.clear();
      const auto runs = window.app().feed_state().runs;
      for (const auto& run : runs->runs) {
        if (run->name == answer) window.state().compared.insert(run->id);
      }
      window.frames(2);
      break;
    }
  }
  const std::size_t before = window.app().course()->progress.answers.size();
  window.click("Commit");
  window.until("the answer of " + question.id + " to be kept",
               [&] { return window.app().course()->progress.answers.size() > before; });
}

Outcome reveal_card(Headless& window, const Question& question) {
  window.until("Reveal", [&] { return window.has("Reveal"); });
  const std::shared_ptr<const Revealed> before = window.app().course()->of(question.id)->revealed;
  window.click("Reveal");
  window.until("the reveal of " + question.id, [&] {
    const std::shared_ptr<const CourseView> view = window.app().course();
    const AskedQuestion& asked = *view->of(question.id);
    if (!asked.problem.empty()) throw Error(asked.problem, question.id, "");
    return asked.revealed != nullptr && asked.revealed != before;
  });
  return window.app().course()->of(question.id)->revealed->graded.outcome;
}

namespace {

/// With its unit, since a bare 0.9 may be 0.9 % or 90 %; large counts are whole.
std::string typed(const Question& question, double number) {
  return fmt::format("{} {}", std::abs(number) >= 100 ? std::round(number) : number, question.unit);
}

}  // namespace

std::string right_answer(const Question& question, const Truth& truth) {
  if (std::isfinite(truth.number)) return typed(question, truth.number);
  const std::string first = truth.accepted.empty() ? "" : truth.accepted.front();
  return question.kind == AnswerKind::find ? first.substr(0, first.find('-')) : first;
}

std::string wrong_answer(const Question& question, const Truth& truth) {
  if (question.kind == AnswerKind::number) {
    if (question.unit == "%") return typed(question, truth.number > 50 ? 1 : 99);
    return typed(question, 1000 + 100 * (std::isfinite(truth.number) ? std::abs(truth.number) : 0));
  }
  std::vector<std::string> all = {"up", "same", "down"};
  if (question.kind == AnswerKind::choice) {
    all.clear();
    for (const QuestionChoice& choice : question.choices) all.push_back(choice.key);
  }
  if (question.kind == AnswerKind::find) all = {"1", "2", "3", "4", "5"};
  for (const std::string& one : all) {
    if (!accepts(truth, one)) return one;
  }
  return "";
}

}  // namespace isobar
