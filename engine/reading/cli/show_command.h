#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace isobar {

/// `show RUN [--follow] [--json] [--curve FILE.svg]`: what a run says of itself, live ones too. With
/// `--timeline [--step N] [--steps K]` what ran when; `--trace FILE.json` writes that for Perfetto.
/// `--types`: the operators of each module in one step, with the types that they got and gave.
/// `--replay 20x [--into FOLDER]`: the same of a run that is over, played again as a live one.
/// `show LESSON --recorded`: the run that lies beside the lesson.
int show_command(const std::vector<std::string>& arguments);

/// What `show RUN` prints, of this folder.
void show_run(const std::filesystem::path& run);

}  // namespace isobar
