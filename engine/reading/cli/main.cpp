#include "cli/commands.h"

using namespace isobar;

namespace {

constexpr Command kCommands[] = {
    {"run", run_any_command},     {"data", data_command},         {"show", show_command},
    {"runs", runs_command},       {"compare", compare_command},   {"report", report_command},
    {"import", import_command},   {"verdict", verdict_command},   {"demo", demo_command},
    {"quartet", quartet_command}, {"sweep", sweep_command},       {"scale", scale_command},
    {"predict", predict_command}, {"record", record_command},     {"ladder", ladder_command},
    {"submit", submit_command},   {"explain", explain_command},   {"quiz", quiz_command},
    {"learn", learn_command},     {"exercise", exercise_command}, {"check", check_exercise_command},
    {"step", step_command},       {"tour", tour_command}};

}  // namespace

int main(int argc, char** argv) { return run_program(kCommands, argc, argv); }
