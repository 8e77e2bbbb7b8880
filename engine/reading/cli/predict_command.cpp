#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/commands.h"
#include "cli/lesson_options.h"
#include "cli/predict_text.h"
#include "cli/predicted_run.h"
#include "cli/start.h"
#include "config/resume.h"
#include "core/error.h"
#include "core/files.h"
#include "core/processors.h"
#include "core/text.h"
#include "formula/memory_plan.h"

namespace isobar {

namespace {

constexpr const char* kPredict = "./isobar predict";
constexpr const char* kRatesProgram = "isobar-rates";
constexpr const char* kUsualDevice = "H200";

struct PredictArguments {
  std::string lesson;
  std::string device;
  Settings settings;
  std::filesystem::path run_dir;
  int ranks = 1;
  bool measure = false;
  bool json = false;
};

std::optional<PredictArguments> parse_predict(const Words& words) {
  PredictArguments out;
  std::vector<std::string> devices = {"here"};
  for (const DeviceRates& rates : device_rates()) devices.push_back(rates.name);
  OptionParser app(
      "The step of a lesson from formulas: on this machine, whose rates are measured once and kept, "
      "or on a device that need not be here",
      kPredict);
  add_lesson(app, out.lesson, out.settings);
  app.add("--device", out.device,
          "one of " + joined(devices) + "; default here, or " + kUsualDevice + " where a lesson needs a GPU");
  const auto ranks =
      app.add("--ranks", out.ranks, "so many processes that train together, as of ./isobar run").at_least(1);
  app.flag("--measure", out.measure, "measure the rates of this machine again, in about half a minute");
  app.add("--run-dir", out.run_dir, "write the prediction as a run into this new folder");
  app.flag("--json", out.json, "one JSON object instead of the text");
  if (!app.parse(words)) return std::nullopt;
  if (ranks.given()) out.settings.sets.push_back("run.ranks=" + std::to_string(out.ranks));
  return out;
}

/// The command that makes it again; where it went is seen from where it lies.
std::string command_text(const PredictArguments& arguments, const std::string& lesson) {
  Words words = {lesson};
  if (!arguments.device.empty()) words.insert(words.end(), {"--device", arguments.device});
  for (const std::string& word : words_of(arguments.settings)) words.push_back(word);
  std::string out = kPredict;
  for (const std::string& word : words) out += " " + shell_quoted(word);
  return printable(out, 1000);
}

/// Those that are kept; else they are measured, which is said where nothing else is to be printed there.
MachineRates rates_here(const PredictArguments& arguments) {
  if (!arguments.measure) {
    if (std::optional<MachineRates> kept = kept_machine_rates()) return *kept;
  }
  const std::filesystem::path program = program_folder() / kRatesProgram;
  if (!std::filesystem::exists(program))
    throw Error("the program that measures this machine is not built", program.string(),
                std::string(kPredict) + " LESSON --measure builds it", Exit::failed);
  const Ended ended = supervise({program.string()}, {.quiet = arguments.json});
  if (const std::optional<Error> killed = killed_error(ended, kRatesProgram)) throw *killed;
  if (ended.code != 0)
    throw Error("this machine's rates were not measured",
                ended.errors.empty() ? program.string() : printable_lines(ended.errors),
                std::string(kPredict) + " --measure tries again", Exit::failed);
  return read_machine_rates(machine_rates_file());
}

Prediction predict_here(const LessonInfo& lesson, const PredictArguments& arguments) {
  Prediction out = begin_prediction(lesson, arguments.settings, command_text(arguments, lesson.name),
                                    /*on_cuda=*/false);
  const MachineRates rates = rates_here(arguments);
  const Processors here = processors_here();
  out.device = device_rates_of(rates, out.form.shape, out.form.batch, out.form.precision,
                               threads_a_rank(out.config, here));
  out.time = predict_step(out.form, out.device);
  out.here = PredictedHere{predict_stages(lesson, out.config, rates, here), rates};
  return out;
}

}  // namespace

int predict_command(const Words& words) {
  std::optional<PredictArguments> arguments = parse_predict(words);
  if (!arguments) return 0;
  const LessonInfo lesson = named_lesson(arguments->lesson, std::string(kPredict) + " LESSON");
  if (take_resume_key(arguments->settings))
    throw Error("a prediction resumes nothing", "train.resume", "leave it out");
  const bool is_usual = arguments->device.empty();
  if (lesson.stands_alone)
    throw Error("the formulas are about the weather model, which " + lesson.name + " does not train",
                kPredict, "./isobar run " + lesson.name + " takes no more than a moment");
  const bool is_here = is_usual ? lesson.needs.empty() : arguments->device == "here";
  if (!is_here && arguments->measure)
    throw Error("only this machine is measured", "--measure", "leave out --device");
  if (is_here && lesson.needs == "cuda")
    throw Error(lesson.name + " needs a GPU, and what is predicted here are processors", "--device here",
                std::string("--device ") + kUsualDevice);
  const Prediction prediction =
      is_here ? predict_here(lesson, *arguments)
              : predict_on_device(lesson, arguments->settings, is_usual ? kUsualDevice : arguments->device,
                                  command_text(*arguments, lesson.name));
  if (!arguments->run_dir.empty()) write_predicted_run(prediction, arguments->run_dir);
  Report report = is_here ? here_report(prediction, newest_run_like(lesson.name, prediction.config, "runs"))
                          : device_report(prediction, lesson);
  if (!arguments->run_dir.empty()) report.line("  run          " + arguments->run_dir.string());
  report.print(arguments->json);
  return 0;
}

}  // namespace isobar
