#pragma once
// A project with made-up questions, runs that fit questions, and learners who answer them in the window.
#include <functional>
#include <string>

#include "course/course.h"
#include "gui/headless.h"

namespace isobar {

/// Lessons 01 and 02 with these questions of lesson 01; runs, progress and the rest lie beside it.
struct CourseFolder {
  explicit CourseFolder(const std::string& questions = "");

  AppOptions options() const;
  std::filesystem::path progress() const { return folder / "progress.jsonl"; }

  TempFolder folder;
};

/// Finished runs that the question needs, as `lesson` would write them: `step_us` a step, three repeats 1 %
/// apart; runs after the first are 10 % slower each.
void write_fitting_runs(const Question& question, const std::filesystem::path& home,
                        const std::filesystem::path& runs, double step_us = 20'000);

/// More than a lesson has parts: the last one is shown, where something is built.
inline constexpr std::size_t kBuildPart = 100;

/// Puts the card of this question into the Lesson panel.
void show_card(Headless& window, const Question& question);

/// Fills the card in and commits.
void answer_card(Headless& window, const Question& question, const std::string& answer);

/// Presses Reveal; waits for what comes of it.
Outcome reveal_card(Headless& window, const Question& question);

/// An answer that this truth accepts, and one that it does not.
std::string right_answer(const Question& question, const Truth& truth);
std::string wrong_answer(const Question& question, const Truth& truth);

}  // namespace isobar
