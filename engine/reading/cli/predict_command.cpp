#include <fmt/format.h>

#include <algorithm>

#include "analyse/cluster_prediction.h"
#include "analyse/predicted_run.h"
#include "analyse/run_prediction.h"
#include "cli/commands.h"
#include "cli/predict_against.h"
#include "cli/predict_groups.h"
#include "cli/predict_memory.h"
#include "cli/predict_pipeline.h"
#include "cli/predict_report.h"
#include "cli/report.h"
#include "cli/shared_options.h"
#include "config/resume.h"
#include "core/parse_bytes.h"
#include "core/processors.h"
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
  Settings one_rank;  ///< without --ranks
  std::filesystem::path run_dir;
  int ranks = 1;
  bool measure = false;
  bool json = false;
  ClusterArguments cluster;
  NamedFile csv = schedule_file();

  bool sets(std::string_view key) const {
    return std::ranges::any_of(settings.sets,
                               [&](const std::string& set) { return trimmed(set).starts_with(key); });
  }
};

constexpr const char* kHavePictures =
    "--against FILE, --cluster NAME, --set mesh.pp=4 or --set run.memory_cap=40GiB have one";

/// An option that would have no effect is refused.
void check_together(const OptionParser& app, const PredictArguments& arguments) {
  const auto refuse = [&](const std::string& with, const std::vector<std::string>& options) {
    for (const std::string& option : options)
      if (app.given(option))
        throw Error(option + " has no effect " + with, kPredict,
                    "leave it out; --help lists what goes together");
  };
  const ClusterArguments& cluster = arguments.cluster;
  if (!cluster.against.empty()) {
    refuse("beside --against",
           {"LESSON", "--cluster", "--ranks", "--device", "--measure", "--run-dir", "--law"});
  } else if (!cluster.clusters.empty()) {
    refuse("beside --cluster", {"--device", "--measure", "--run-dir"});
    if (arguments.ranks > kMostClusterRanks)
      throw Error(fmt::format("{} ranks", arguments.ranks), "--ranks",
                  fmt::format("at most {} are simulated", kMostClusterRanks));
  } else {
    refuse("without --cluster or --against", {"--term"});
    refuse("without --cluster", {"--law"});
  }
}

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
  app.group("on clusters that are not here");
  app.add("--cluster", out.cluster.clusters,
          "profiles with a table [machine], with commas between them: up to --ranks GPUs of each");
  app.add("--law", out.cluster.law, "weak (each rank has the lesson's batch) or strong (all together)")
      .one_of({"weak", "strong"});
  app.add(
      "--against", out.cluster.against,
      "no lesson, but published points of this file, each from its anchor: lessons/published_scaling.toml");
  app.add("--term", out.cluster.terms,
          "another value of a term: jitter=0.03, way=ring, busbw=constant; more than once");
  app.add("--svg", out.cluster.svg.path, "write the picture to this file");
  app.add("--csv", out.csv.path,
          "write the schedule of a pipeline (mesh.pp) to this file, as PyTorch reads it");
  app.flag(kReplace, out.cluster.svg.replace, kReplaceHelp);
  if (!app.parse(words)) return std::nullopt;
  out.cluster.json = out.json;
  check_together(app, out);
  out.csv.replace = out.cluster.svg.replace;
  const bool is_pipeline = out.sets("mesh.pp") || !out.settings.config_files.empty();
  if (!out.cluster.svg.path.empty() && !out.cluster.wanted() && !out.sets("run.memory_cap") && !is_pipeline)
    throw Error("the step of one device has no picture", "--svg", kHavePictures);
  if (!out.csv.path.empty() && (out.cluster.wanted() || out.sets("run.memory_cap") || !is_pipeline))
    throw Error("only the step of a pipeline has a schedule", "--csv", "--set mesh.pp=4");
  for (const NamedFile& file : {out.cluster.svg, out.csv})
    if (!file.path.empty()) check_writable(file);
  out.one_rank = out.settings;
  if (ranks.given())
    out.settings.sets.push_back("run.ranks=" + std::to_string(out.ranks));
  else if (!out.cluster.wanted())
    add_ranks_of_model(out.settings);
  return out;
}

/// The command that makes it again; where it went is seen from where it lies.
std::string command_text(const PredictArguments& arguments, const std::string& lesson) {
  std::string out = std::string(kPredict) + " " + shell_quoted(lesson);
  if (!arguments.device.empty()) out += " --device " + shell_quoted(arguments.device);
  for (const std::string& word : words_of(arguments.settings)) out += " " + shell_quoted(word);
  return printable(out, 1000);
}

/// The kept rates; else they are measured, with a note where nothing else is to be printed there.
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

/// What makes the step fit into `cap`. Error (exit code 2) for what is no number of bytes.
void predict_memory(const PredictArguments& arguments, const LessonInfo& lesson, const std::string& cap,
                    const std::string& device) {
  const std::uint64_t limit_bytes = parse_bytes(cap, "run.memory_cap");
  const PredictedRate rate =
      device == "here" ? rate_here(rates_here(arguments), processors_here()) : rate_on(rates_of(device));
  print_memory(lesson, arguments.settings, limit_bytes, device, rate, arguments.cluster);
}

}  // namespace

int predict_command(const Words& words) {
  std::optional<PredictArguments> arguments = parse_predict(words);
  if (!arguments) return 0;
  if (!arguments->cluster.against.empty()) {
    predict_against(arguments->cluster);
    return 0;
  }
  const LessonInfo lesson = named_lesson(arguments->lesson, std::string(kPredict) + " LESSON");
  if (take_resume_key(arguments->settings))
    throw Error("a prediction resumes nothing", "train.resume", "leave it out");
  const bool is_usual = arguments->device.empty();
  if (lesson.stands_alone)
    throw Error("the formulas are about the weather model, which " + lesson.name + " does not train",
                kPredict, "./isobar run " + lesson.name + " takes no more than a moment");
  if (!arguments->cluster.clusters.empty()) {
    if (!honours(lesson, "run.ranks"))
      throw Error(lesson.name + " trains on one rank", "--cluster", "a lesson that trains on several");
    predict_clusters(arguments->cluster, lesson, arguments->one_rank, arguments->ranks,
                     command_text(*arguments, lesson.name));
    return 0;
  }
  const bool is_here = is_usual ? lesson.needs.empty() : arguments->device == "here";
  if (!is_here && arguments->measure)
    throw Error("only this machine is measured", "--measure", "leave out --device");
  if (is_here && lesson.needs == "cuda")
    throw Error(lesson.name + " needs a GPU, and what is predicted here are processors", "--device here",
                std::string("--device ") + kUsualDevice);
  if (const std::optional<std::string> cap = take_setting(arguments->settings, "run.memory_cap")) {
    predict_memory(*arguments, lesson, *cap, is_here ? "here" : is_usual ? kUsualDevice : arguments->device);
    return 0;
  }
  const Prediction prediction =
      is_here ? predict_here(lesson, *arguments)
              : predict_on_device(lesson, arguments->settings, is_usual ? kUsualDevice : arguments->device,
                                  command_text(*arguments, lesson.name));
  const bool has_pipeline = prediction.config.mesh.pp > 1 && prediction.here;
  if (!has_pipeline && !arguments->cluster.svg.path.empty())
    throw Error("the step of one device has no picture", "--svg", kHavePictures);
  if (!has_pipeline && !arguments->csv.path.empty())
    throw Error("only the step of a pipeline has a schedule", "--csv", "--set mesh.pp=4");
  if (!arguments->run_dir.empty()) write_predicted_run(prediction, arguments->run_dir);
  Report report = is_here ? here_report(prediction, newest_run_like(lesson.name, prediction.config, "runs"))
                          : device_report(prediction, lesson);
  add_pipeline(report, prediction, arguments->cluster, arguments->csv);
  add_context(report, lesson, prediction);
  add_model_groups(report, lesson, prediction);
  if (!arguments->run_dir.empty()) report.labelled("run", arguments->run_dir.string());
  report.print(arguments->json);
  return 0;
}

}  // namespace isobar
