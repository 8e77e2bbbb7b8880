#pragma once
// The commands of isobar-cli, which read runs or make several.
#include "config/lesson.h"
#include "start/commands.h"

namespace isobar {

/// Prints on standard error that the lesson cannot run here, and shows what was recorded or predicted
/// instead.
int show_instead_of_running(const LessonInfo& lesson);

// They print on their --help page what they do.
CommandFunction check_exercise_command, compare_command, demo_command, exercise_command, explain_command,
    import_command, ladder_command, learn_command, predict_command, quartet_command, quiz_command,
    record_command, report_command, runs_command, scale_command, show_command, step_command, submit_command,
    sweep_command, tour_command, verdict_command;
/// `run`, with --mine the learner's part of the lesson too.
CommandFunction run_any_command;

}  // namespace isobar
