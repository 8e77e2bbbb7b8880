#pragma once
// The commands behind ./isobar. Each gets the words behind its name and gives the exit code; --help prints
// its page.
#include <span>
#include <string>
#include <vector>

#include "config/lesson.h"

namespace isobar {

using Words = std::vector<std::string>;

struct Command {
  const char* name;
  int (*run)(const Words& words);
};

/// `main` of a program of these commands: the first word names one.
int run_program(std::span<const Command> commands, int argc, char** argv);

/// What is shown where a lesson's device is not here; the exit code.
using ShowInstead = int (*)(const LessonInfo& lesson);

/// Checks the configuration, makes the embedded data set where it is wanted and missing, and starts the
/// lesson's program.
/// `program_prefix` in front of the lesson's name names another program of it: "mine_".
int run_command(const Words& words, ShowInstead show_instead, const std::string& program_prefix = "");
/// A run, `--mine` with the learner's part of the lesson.
int run_any_command(const Words& words);
/// What happens where in a lesson's code.
int tour_command(const Words& words);
/// Puts the skeleton of a lesson's exercise in place.
int exercise_command(const Words& words);
/// Looks at what the learner wrote.
int check_exercise_command(const Words& words);
/// `make`: becomes make_fields. `check FOLDER`: looks at any data set in the tutorial's layout: files that
/// open, shapes that agree, values that are finite, statistics that fit; each finding is a line, and 2 when
/// something is wrong.
int data_command(const Words& words);
int check_data(const Words& words);

/// What a run says of itself, live ones and replays too; or its timeline, gradients, types, or curve.
int show_command(const Words& words);
/// The runs below a folder, with state, skill, throughput and size; names, notes and deletes one.
int runs_command(const Words& words);
/// Runs against the first of them: which is faster, by how much, why, and how sure that is.
int compare_command(const Words& words);
/// Runs as one HTML page that needs nothing beside it.
int report_command(const Words& words);
/// Logs of the Python tutorial and of Lightning as runs.
int import_command(const Words& words);
/// What bounds a run and by how much, one thing to notice, one to try.
int verdict_command(const Words& words);
/// Questions of the lessons: a prediction is stored, the runs that tell are made or found, then it is
/// revealed.
int quiz_command(const Words& words);
/// The course: what is done and what is next; or a lesson, beat by beat.
int learn_command(const Words& words);
/// Two lessons on the disk that is here and on a slow one, in turn, compared.
int demo_command(const Words& words);
/// A lesson with one part at a time, in turn, and what holds it back.
int quartet_command(const Words& words);
/// Every combination of some settings, measured in turn, and which is best.
int sweep_command(const Words& words);
/// The same training on more and more ranks, as a table and a picture.
int scale_command(const Words& words);
/// The step of a lesson on a device, from formulas; with --run-dir as a run folder marked predicted.
int predict_command(const Words& words);
/// Trains on the GPU that is here and keeps a small copy of the run beside the lesson, or makes one of a run
/// that is there, whatever its device.
int record_command(const Words& words);
/// Trains every lesson that this machine can run, in turn and repeatedly, and says how they compare.
int ladder_command(const Words& words);
/// Writes the script of a batch job into a run folder and submits it; shows, follows and cancels jobs.
int submit_command(const Words& words);
/// What a word that programs print means, or which are explained.
int explain_command(const Words& words);

}  // namespace isobar
