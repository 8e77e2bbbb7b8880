#pragma once
// What most command lines share: a lesson with its settings; and questions to who typed them.
#include <string>
#include <vector>

#include "config/load.h"
#include "config/option_parser.h"

namespace isobar {

/// LESSON, --preset, --config and --set.
void add_lesson(OptionParser& app, std::string& lesson, Settings& settings);

/// Error (exit code 2) of `usage` ("./isobar predict LESSON") for "", and for none that is here.
LessonInfo named_lesson(const std::string& name, const std::string& usage);

/// The settings of a lesson, with the preset for the device that is here. Error (exit code 2) for what the
/// lesson refuses.
LoadedConfig load_here(const LessonInfo& lesson, const Settings& settings);

/// Settings as they would be typed for a lesson's program.
std::vector<std::string> words_of(const Settings& settings);

/// "a setting is: --set key=value" for such a word, else "".
std::string hint_for_setting(const std::string& word);

/// Whether a person sits in front of it.
bool can_ask();
/// Asks that person; false for anything but yes.
bool agrees(const std::string& question);

}  // namespace isobar
