#include <fmt/format.h>

#include <algorithm>

#include "analyse/cluster_prediction.h"
#include "analyse/predicted_run.h"
#include "analyse/run_prediction.h"
#include "cli/commands.h"
#include "cli/predict_against.h"
#include "cli/predict_memory.h"
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
};

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
  app.flag(kReplace, out.cluster.svg.replace, kReplaceHelp);
  if (!app.parse(words)) return std::nullopt;
  out.cluster.json = out.json;
  check_together(app, out);
  const bool has_cap = std::ranges::any_of(
      out.settings.sets, [](const std::string& set) { return trimmed(set).starts_with("run.memory_cap"); });
  if (!out.cluster.svg.path.empty() && !out.cluster.wanted() && !has_cap)
    throw Error("the step of one device has no picture", "--svg",
                "--against FILE, --cluster NAME or --set run.memory_cap=40GiB have one");
  if (!out.cluster.svg.path.empty()) check_writable(out.cluster.svg);
  out.one_rank = out.settings;
  if (ranks.given()) out.settings.sets.push_back("run.ranks=" + std::to_string(out.ranks));
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

/// How far the formulas were off where they could be checked, with the rates of that device.
const char* known_error(const std::string& device) {
  if (device != "A100-40GB")
    return "rates are those of steps of 16 samples recorded on an H200; with 1 to 4 samples a step the "
           "device's time came out up to 26 % shorter there than recorded";
  return "on an A100 these formulas gave steps that were 5 to 23 % shorter than published ones";
}

constexpr const char* kKnownErrorHere =
    "on two cores of an AMD EPYC, steps of lessons 01, 02 and 05 came to 0.73 to 1.02 of what was measured, "
    "the "
    "smallest model to the least";

std::string pieces_text(const StepForm& form) {
  std::vector<std::string> names;
  for (const auto& [is_fused, name] : {std::pair{form.fused_adam, "adam"},
                                       {form.fused_bias_gelu, "bias_gelu"},
                                       {form.fused_residual_norm, "residual_norm"},
                                       {form.fused_qkv, "qkv"},
                                       {form.fused_head_loss, "head_loss"},
                                       {form.fused_grad_norm, "grad_norm"}}) {
    if (is_fused) names.emplace_back(name);
  }
  return names.empty() ? "nothing fused" : "fused " + joined(names);
}

std::string graph_text(const StepForm& form) {
  if (!form.graph) return "launched one by one";
  return form.graph_has_optimizer ? "graph of the whole step" : "graph without the optimiser";
}

/// What the tutorial published for this rung, side by side and in no ratio.
void add_published(Report& report, const Prediction& prediction, const LessonInfo& lesson) {
  const Published& published = lesson.published;
  const VitShape& shape = prediction.form.shape;
  const VitShape base;
  const bool same = shape.height == base.height && shape.width == base.width &&
                    shape.channels == base.channels && shape.embed == base.embed &&
                    shape.depth == base.depth && shape.heads == base.heads && shape.patch == base.patch &&
                    prediction.form.batch == 16;
  if (!same || published.device != prediction.device.name || published.years.empty()) return;
  report.labelled("published",
                  fmt::format("{:.1f} samples/s, recorded on {} ({}, {})", published.samples_per_s.back(),
                              published.device, published.years.back(), published.stacks.back()));
}

/// A time that is printed behind a label, with a remark, and its key in JSON.
void add_time(Report& out, const char* label, const char* key, double time_us,
              const std::string& words = "") {
  out.line(fmt::format("  {:<13} {:8.2f} ms{}", label, time_us * 1e-3, words.empty() ? "" : "  " + words));
  out.json[key] = time_us;
}

struct ClassPart {
  const char* name;
  const char* key;
  double time_us;
  bool is_shown = true;
};

std::vector<ClassPart> class_parts(const StepTime& time) {
  const ClassTimes classes = time.classes();
  return {{"attention", "attention_us", classes.attention_us},
          {"GEMM", "gemm_us", classes.gemm_us},
          {"element-wise", "element_us", classes.element_us},
          {"misc", "misc_us", classes.misc_us},
          {"small kernels", "small_us", time.small_us, time.small_us > 0},
          {"upload", "upload_us", time.upload_us, time.upload_us > 0}};
}

void add_needs(Report& report, const Prediction& prediction) {
  const double bytes_per_s = prediction.needed_bytes_per_s();
  report.labelled("data", bytes_per_s > 0 ? value_text(Quantity::byte_rate, bytes_per_s) +
                                                ", so that no step waits for its batch"
                                          : "none is read");
  report.labelled("memory", prediction.memory.text());
  report.json["needed_bytes_per_s"] = bytes_per_s;
  for (const auto& [name, bytes] : prediction.memory.categories()) report.json["memory_bytes"][name] = bytes;
}

Json head_json(const Prediction& prediction) {
  return {{"predict", prediction.lesson},
          {"preset", prediction.preset},
          {"provenance", "predicted by model for " + prediction.device.name},
          {"model", fmt::format("step_time {}", kStepTimeVersion)},
          {"device", prediction.device.name},
          {"precision", name_of(prediction.form.precision)},
          {"attention", name_of(prediction.time.attention)},
          {"batch", prediction.form.batch}};
}

std::string head_line(const Prediction& prediction) {
  return fmt::format("{}{} on {}, predicted by model (step_time {})", prediction.lesson,
                     prediction.preset.empty() ? "" : ", preset " + prediction.preset, prediction.device.name,
                     kStepTimeVersion);
}

/// Stages of the step; where `measured` is no summary, what was predicted alone.
void add_stages(Report& report, const StepStages& stages, const RunSummary* measured) {
  std::vector<Row> rows;
  const auto add = [&](const std::string& stage, double predicted_us, std::optional<double> measured_us) {
    rows.emplace_back()
        .cell("", stage)
        .cell("predicted ms", value_text(Quantity::time, predicted_us))
        .cell("measured ms", value_text(Quantity::time, measured_us));
  };
  for (const auto& [stage, time_us] : stages.named()) {
    add(stage, time_us, measured == nullptr ? std::nullopt : measured->stage_us(stage));
    report.json["stages"][stage + "_us"] = time_us;
  }
  add("step", stages.step_us(), measured == nullptr ? std::nullopt : std::optional(measured->step_us));
  report.table(table_of(rows));
}

void add_rate(Report& report, const Prediction& prediction, const char* known_error) {
  add_members(report.json,
              ISOBAR_NAMED(prediction.step_us(), prediction.samples_per_s(), prediction.mfu(), known_error));
  report.labelled("known error", known_error);
}

/// What a prediction for a device reports that need not be here.
Report device_report(const Prediction& prediction, const LessonInfo& lesson) {
  const StepTime& time = prediction.time;
  const StepForm& form = prediction.form;
  Report out;
  out.json = head_json(prediction);
  out.line(head_line(prediction));
  out.line(fmt::format("  batch {}, {}, {} attention, {}, {}", form.batch, precision_text(form.precision),
                       name_of(time.attention), pieces_text(form), graph_text(form)));
  for (const ClassPart& part : class_parts(time)) {
    out.json[part.key] = part.time_us;
    if (part.is_shown)
      add_time(out, part.name, part.key, part.time_us,
               fmt::format("{:5.1f} %", 100 * part.time_us / time.step_us()));
  }
  add_time(out, "device", "device_us", time.device_us());
  add_time(out, "host", "host_us", time.host_us,
           fmt::format("{:.0f} launches of {:.0f} to {:.0f} us ({:.2f} to {:.2f} ms) one by one",
                       time.launches, time.host_least_us / time.launches, time.host_most_us / time.launches,
                       time.host_least_us * 1e-3, time.host_most_us * 1e-3));
  add_time(out, "graph", "graph_gain_us", time.graph_gain_us(),
           fmt::format("{}: what the host needs beyond the device's time",
                       form.graph ? "saved" : "it would save"));
  add_time(out, "step", "step_us", time.step_us(),
           fmt::format("= {:.1f} samples/s, MFU {:.1f} % of {}", prediction.samples_per_s(),
                       100 * prediction.mfu(), human_flops(time.peak_flops_per_s)));
  out.labelled("bound by", time.bound());
  add_published(out, prediction, lesson);
  add_needs(out, prediction);
  out.line("  reading is not in it: batches are taken to be ready");
  add_rate(out, prediction, known_error(prediction.device.name));
  add_members(out.json, ISOBAR_NAMED(time.launches, time.element_bytes, time.graph, time.bound()));
  return out;
}

/// A prediction for this machine, beside a run of it that measured the same where there is one.
Report here_report(const Prediction& prediction, const std::optional<RunLike>& measured) {
  const PredictedHere& here = *prediction.here;
  const std::int64_t ranks = prediction.config.run.ranks;
  Report out;
  out.json = head_json(prediction);
  out.wrapped(head_line(prediction));
  out.line(fmt::format("  batch {}{}, {}, {}", prediction.config.train.global_batch,
                       ranks > 1 ? fmt::format(" over {} ranks", ranks) : "",
                       precision_text(prediction.form.precision), pieces_text(prediction.form)));
  add_stages(out, here.stages, measured ? &measured->summary : nullptr);
  out.labelled("throughput",
               fmt::format("{:.1f} samples/s, MFU {:.1f} % of {} a rank", prediction.samples_per_s(),
                           100 * prediction.mfu(), human_flops(prediction.time.peak_flops_per_s)));
  std::vector<std::string> shares;
  for (const ClassPart& part : class_parts(prediction.time)) {
    out.json[part.key] = part.time_us;
    if (part.is_shown)
      shares.push_back(
          fmt::format("{} {:.0f} %", part.name, 100 * part.time_us / prediction.time.device_us()));
  }
  out.labelled("computing", joined(shares));
  if (ranks > 1)
    out.labelled("link", fmt::format("busy for {:.1f} ms a step, of which {:.1f} ms show; a rank sends {}",
                                     here.stages.comm_total_us * 1e-3, here.stages.comm_us * 1e-3,
                                     value_text(Quantity::bytes, here.stages.wire_bytes)));
  add_needs(out, prediction);
  out.labelled("measured", measured ? "by " + printable(measured->folder.filename().string())
                                    : "not yet with these settings: ./isobar run " + prediction.lesson);
  out.labelled("rates",
               fmt::format("measured {}, kept in {}", here.rates.measured, machine_rates_file().string()));
  if (here.rates.processor_wait > kCrowdedWait)
    out.labelled("warning",
                 fmt::format("other programs had the processors {:.0f} % of that time, so the rates "
                             "are too low: --measure, when it is quiet, measures them again",
                             100 * here.rates.processor_wait));
  add_rate(out, prediction, kKnownErrorHere);
  add_members(out.json,
              ISOBAR_NAMED(ranks, here.stages.comm_total_us, here.stages.wire_bytes, here.stages.read_us));
  out.json["rates"] = ISOBAR_NAMED(here.rates.machine, here.rates.measured, here.rates.processor_wait);
  if (measured)
    out.json["measured"] = {{"run", measured->folder.filename().string()},
                            {"step_us", measured->summary.step_us}};
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
  if (!arguments->run_dir.empty()) write_predicted_run(prediction, arguments->run_dir);
  Report report = is_here ? here_report(prediction, newest_run_like(lesson.name, prediction.config, "runs"))
                          : device_report(prediction, lesson);
  if (!arguments->run_dir.empty()) report.labelled("run", arguments->run_dir.string());
  report.print(arguments->json);
  return 0;
}

}  // namespace isobar
