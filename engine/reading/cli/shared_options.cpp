#include "cli/shared_options.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "cli/commands.h"
#include "config/command_line.h"
#include "core/find.h"
#include "core/nvidia.h"
#include "jobs/job_settings.h"

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

void JobOptions::add(OptionParser& app, const std::filesystem::path& home,
                     const std::vector<std::string>& leave_out) {
  app.group("The cluster");
  app.add("--cluster", cluster_,
          "what is known of the machine: " + joined(profile_names(home)) +
              ", or a file like submit/profiles/template.toml");
  options_ = {"--cluster", "--module", "--volume", "--env"};
  for (const JobField& field : job_fields()) {
    if (holds(leave_out, field.key)) continue;
    app.add(field.option(), fields_[field.key], field.help);
    options_.push_back(field.option());
  }
  app.add("--module", modules_, "an environment module to load; again for more");
  app.add("--volume", volumes_, "FOLDER:FOLDER that the container sees; again for more");
  app.add("--env", variables_, "NAME=VALUE of the environment; again for more");
}

JobSettings JobOptions::take(const OptionParser& app, const std::filesystem::path& home) const {
  JobSettings out;
  if (app.given("--cluster")) out = read_profile(home, cluster_);
  for (const auto& [key, value] : fields_) {
    const std::string option = job_field(key).option();
    if (app.given(option)) out.set(key, value, {option, kCommandLine});
  }
  for (const std::string& module : modules_) out.add_module(module, {"--module", kCommandLine});
  for (const std::string& volume : volumes_) out.add_volume(volume, {"--volume", kCommandLine});
  for (const std::string& variable : variables_) {
    const std::size_t equals = variable.find('=');
    if (equals == std::string::npos)
      throw Error("--env cannot be \"" + printable(variable, 40) + "\"", kCommandLine, "NAME=VALUE");
    out.add_variable(variable.substr(0, equals), variable.substr(equals + 1), {"--env", kCommandLine});
  }
  return out;
}

bool JobOptions::given(const OptionParser& app) const {
  return std::ranges::any_of(options_, [&](const std::string& option) { return app.given(option); });
}

void check_job_device(const LessonInfo& lesson, const JobSettings& job) {
  if (lesson.needs != "cuda" || job.has_gpus()) return;
  throw Error("lesson " + lesson.name + " needs a GPU, and this job asks for none", lesson.file.string(),
              "--gpus-per-node N, or a --cluster that has some");
}

void check_job_program(const LessonInfo& lesson, const JobSettings& job,
                       const std::filesystem::path& programs) {
  const std::filesystem::path program = programs / lesson.name;
  if (!job.has_container() && !std::filesystem::exists(program)) throw not_built(lesson.name, program);
}

}  // namespace isobar
