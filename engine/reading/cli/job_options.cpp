#include "cli/job_options.h"

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "jobs/job_settings.h"

namespace isobar {

void JobOptions::add(OptionParser& app, const std::filesystem::path& home,
                     const std::vector<std::string>& leave_out) {
  app.group("The cluster");
  app.add("--cluster", cluster_,
          "what is known of the machine: " + joined(profile_names(home)) +
              ", or a file like submit/profiles/template.toml");
  options_ = {"--cluster", "--module", "--volume", "--env"};
  for (const JobField& field : job_fields()) {
    if (std::find(leave_out.begin(), leave_out.end(), field.key) != leave_out.end()) continue;
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
  return std::any_of(options_.begin(), options_.end(),
                     [&](const std::string& option) { return app.given(option); });
}

void check_job_device(const LessonInfo& lesson, const JobSettings& job) {
  if (lesson.needs != "cuda" || job.has_gpus()) return;
  throw Error("lesson " + lesson.name + " needs a GPU, and this job asks for none", lesson.file.string(),
              "--gpus-per-node N, or a --cluster that has some");
}

void check_job_program(const LessonInfo& lesson, const JobSettings& job,
                       const std::filesystem::path& programs) {
  const std::filesystem::path program = programs / lesson.name;
  if (job.has_container() || std::filesystem::exists(program)) return;
  throw Error("the program of " + lesson.name + " is not built", program.string(), "./isobar setup",
              Exit::failed);
}

}  // namespace isobar
