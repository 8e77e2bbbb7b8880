#include "cli/lesson_options.h"

#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "config/command_line.h"
#include "config/lesson.h"
#include "core/error.h"
#include "core/files.h"
#include "core/nvidia.h"
#include "core/text.h"

namespace isobar {

void add_lesson(OptionParser& app, std::string& lesson, Settings& settings) {
  app.add("LESSON", lesson, "such as 01_baseline; ./isobar ladder --list names them");
  add_settings(app, settings, project_home());
  app.footer("Every key, its default and what it means: lessons/base.toml");
}

LessonInfo named_lesson(const std::string& name, const std::string& usage) {
  if (!name.empty()) return find_lesson(project_home(), name);
  throw Error("which lesson?", usage, "lessons: " + joined(lesson_names(project_home())));
}

LoadedConfig load_here(const LessonInfo& lesson, const Settings& settings) {
  return load_config(project_home(), lesson, settings, preset_device_kind(settings, likely_device_kind));
}

std::vector<std::string> words_of(const Settings& settings) {
  std::vector<std::string> out;
  if (!settings.preset.empty()) out = {"--preset", settings.preset};
  for (const auto& file : settings.config_files) out.insert(out.end(), {"--config", file.string()});
  for (const std::string& set : settings.sets) out.insert(out.end(), {"--set", set});
  return out;
}

std::string hint_for_setting(const std::string& word) {
  const bool is_setting = word.find('=') != std::string::npos && word.rfind('-', 0) != 0;
  return is_setting ? "a setting is: --set " + printable(word, 80) : "";
}

bool can_ask() { return isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1; }

bool agrees(const std::string& question) {
  std::printf("%s [y/N] ", question.c_str());
  std::fflush(stdout);
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

}  // namespace isobar
