#include "cli/commands.h"
#include "cli/recorded_view.h"

using namespace isobar;

namespace {

int run_here(const Words& words) { return run_command(words, show_instead_of_running); }

constexpr Command kCommands[] = {
    {"run", run_here},          {"data", data_command},       {"show", show_command},
    {"runs", runs_command},     {"compare", compare_command}, {"verdict", verdict_command},
    {"demo", demo_command},     {"quartet", quartet_command}, {"sweep", sweep_command},
    {"scale", scale_command},   {"predict", predict_command}, {"record", record_command},
    {"ladder", ladder_command}, {"submit", submit_command},   {"explain", explain_command},
    {"quiz", quiz_command},     {"learn", learn_command}};

}  // namespace

int main(int argc, char** argv) { return run_program(kCommands, argc, argv); }
