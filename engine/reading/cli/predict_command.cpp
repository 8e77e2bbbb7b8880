#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/lesson_options.h"
#include "cli/predicted_run.h"
#include "cli/report.h"
#include "config/lesson.h"
#include "config/resume.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "formula/memory_plan.h"
#include "formula/model_shape.h"

namespace isobar {

namespace {

/// What the predictions were worth where they could be checked.
constexpr const char* kKnownError =
    "on an A100 these formulas gave steps that were 5 to 23 % shorter than published ones";

std::string pieces_text(const StepForm& form) {
  std::vector<std::string> names;
  const auto add = [&](bool is_fused, const char* name) {
    if (is_fused) names.emplace_back(name);
  };
  add(form.fused_adam, "adam");
  add(form.fused_bias_gelu, "bias_gelu");
  add(form.fused_residual_norm, "residual_norm");
  add(form.fused_qkv, "qkv");
  add(form.fused_head_loss, "head_loss");
  add(form.fused_grad_norm, "grad_norm");
  return names.empty() ? "nothing fused" : "fused " + join(names, ", ");
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
  report.line(fmt::format("  published    {:.1f} samples/s, recorded on {} ({}, {})",
                          published.samples_per_s.back(), published.device, published.years.back(),
                          published.stacks.back()));
}

/// Where the device's time goes.
void add_classes(Report& report, const StepTime& time) {
  struct Part {
    const char* name;
    const char* key;
    double time_us;
    bool always = true;
  };
  const ClassTimes classes = time.classes();
  for (const Part& part :
       {Part{"attention", "attention_us", classes.attention_us}, Part{"GEMM", "gemm_us", classes.gemm_us},
        Part{"element-wise", "element_us", classes.element_us}, Part{"misc", "misc_us", classes.misc_us},
        Part{"small kernels", "small_us", time.small_us, time.small_us > 0},
        Part{"upload", "upload_us", time.upload_us, time.upload_us > 0}}) {
    if (part.always)
      report.line(fmt::format("  {:<13} {:8.2f} ms  {:5.1f} %", part.name, part.time_us * 1e-3,
                              100 * part.time_us / time.step_us()));
    report.json[part.key] = part.time_us;
  }
}

Report report_of(const Prediction& prediction, const LessonInfo& lesson) {
  const StepTime& time = prediction.time;
  const StepForm& form = prediction.form;
  const double rate = prediction.samples_per_s();
  const double mfu = rate * prediction.flops_per_sample() / time.peak_flops_per_s;
  Report out;
  out.json = {{"predict", prediction.lesson},
              {"preset", prediction.preset},
              {"provenance", "predicted by model for " + prediction.device.name},
              {"model", fmt::format("step_time {}", kStepTimeVersion)},
              {"device", prediction.device.name},
              {"precision", name_of(form.precision)},
              {"attention", name_of(time.attention)},
              {"batch", form.batch}};
  out.line(fmt::format("{}{} on {}, predicted by model (step_time {})", prediction.lesson,
                       prediction.preset.empty() ? "" : ", preset " + prediction.preset,
                       prediction.device.name, kStepTimeVersion));
  out.line(fmt::format("  batch {}, {}, {} attention, {}, {}", form.batch, precision_text(form.precision),
                       name_of(time.attention), pieces_text(form), graph_text(form)));
  add_classes(out, time);
  out.line(fmt::format("  device       {:9.2f} ms", time.device_us() * 1e-3));
  out.line(fmt::format(
      "  host         {:9.2f} ms  {:.0f} launches of {:.0f} to {:.0f} us ({:.2f} to {:.2f} ms) one by one",
      time.host_us * 1e-3, time.launches, time.host_least_us / time.launches,
      time.host_most_us / time.launches, time.host_least_us * 1e-3, time.host_most_us * 1e-3));
  out.line(fmt::format("  graph        {:9.2f} ms  {}: what the host needs beyond the device's time",
                       time.graph_gain_us() * 1e-3, form.graph ? "saved" : "it would save"));
  out.line(fmt::format("  step         {:9.2f} ms  = {:.1f} samples/s, MFU {:.1f} % of {}",
                       time.step_us() * 1e-3, rate, 100 * mfu, human_flops(time.peak_flops_per_s)));
  out.line("  bound by     " + time.bound());
  add_published(out, prediction, lesson);
  out.line("  reading is not in it: batches are taken to be ready");
  out.line(std::string("  known error  ") + kKnownError);
  out.json["device_us"] = time.device_us();
  out.json["launches"] = time.launches;
  out.json["element_bytes"] = time.element_bytes;
  out.json["host_us"] = time.host_us;
  out.json["graph"] = time.graph;
  out.json["graph_gain_us"] = time.graph_gain_us();
  out.json["step_us"] = time.step_us();
  out.json["samples_per_s"] = rate;
  out.json["mfu"] = mfu;
  out.json["bound"] = time.bound();
  out.json["known_error"] = kKnownError;
  return out;
}

/// The command that makes it again; where it went is seen from where it lies.
std::string command_text(const std::string& lesson, const std::string& device, const Settings& settings) {
  Words words = {lesson};
  if (!device.empty()) words.insert(words.end(), {"--device", device});
  for (const std::string& word : words_of(settings)) words.push_back(word);
  std::string out = "./isobar predict";
  for (const std::string& word : words) out += " " + shell_quoted(word);
  return printable(out, 1000);
}

/// The step that a lesson's page runs with this configuration on a CUDA device: a key that the lesson does
/// not honour leaves its piece plain.
StepForm form_of(const LessonInfo& lesson, const Config& config) {
  const auto fused = [&](const char* key, bool value) { return value && honours(lesson, key); };
  StepForm out;
  out.shape = vit_shape(config);
  out.batch = config.train.global_batch;
  const AmpMode mode = config.amp.mode;  // as on a CUDA device
  out.precision = mode == AmpMode::automatic ? AmpMode::tf32 : mode == AmpMode::mixed ? AmpMode::bf16 : mode;
  out.attention = config.model.attention;
  out.fused_adam = fused("fusion.adam", config.fusion.adam);
  out.fused_bias_gelu = fused("fusion.bias_gelu", config.fusion.bias_gelu);
  out.fused_residual_norm = fused("fusion.residual_norm", config.fusion.residual_norm);
  out.fused_qkv = fused("fusion.qkv", config.fusion.qkv);
  out.fused_head_loss = fused("fusion.head_loss", config.fusion.head_loss);
  out.fused_grad_norm = fused("fusion.grad_norm", config.fusion.grad_norm);
  out.uploads_beside = config.loader.kind == LoaderKind::gpu && config.loader.copy_stream;
  out.graph = fused("graph.enabled", config.graph.enabled);
  out.graph_has_optimizer = config.graph.scope == GraphScope::step;
  return out;
}

Prediction predict(const LessonInfo& lesson, const Settings& settings, const std::string& device) {
  const LoadedConfig loaded = load_config(project_home(), lesson, settings,
                                          preset_device_kind(settings, [] { return std::string("cuda"); }));
  if (loaded.config.run.ranks > 1)
    throw Error("predict knows the step of one device, not what ranks tell each other",
                fmt::format("run.ranks = {}", loaded.config.run.ranks),
                "run.ranks=1 with the samples of one of them; ./isobar scale measures several");
  Prediction out;
  out.lesson = lesson.name;
  out.preset = loaded.preset;
  out.point = join(settings.sets, " ");
  out.config = loaded.config;
  out.form = form_of(lesson, loaded.config);
  out.device = rates_of(device);
  check_memory(lesson, loaded.config, memory_facts(loaded.config, /*on_cuda=*/true), out.device.memory_bytes,
               "an " + out.device.name);
  out.time = predict_step(out.form, out.device);
  return out;
}

}  // namespace

int predict_command(const Words& words) {
  std::string name, device;
  Settings settings;
  std::filesystem::path run_dir;
  bool json = false;
  std::vector<std::string> devices;
  for (const DeviceRates& rates : device_rates()) devices.push_back(rates.name);
  OptionParser app("The step of a lesson on a device that need not be here, from formulas",
                   "./isobar predict");
  add_lesson(app, name, settings);
  app.add("--device", device, "one of " + join(devices, ", ") + "; default H200");
  app.add("--run-dir", run_dir, "write the prediction as a run into this new folder");
  app.flag("--json", json, "one JSON object instead of the text");
  if (!app.parse(words)) return 0;
  const LessonInfo lesson = named_lesson(name, "./isobar predict LESSON");
  if (take_resume_key(settings)) throw Error("a prediction resumes nothing", "train.resume", "leave it out");
  Prediction prediction = predict(lesson, settings, device.empty() ? "H200" : device);
  prediction.command = command_text(lesson.name, device, settings);
  if (!run_dir.empty()) write_predicted_run(prediction, run_dir);
  Report report = report_of(prediction, lesson);
  if (!run_dir.empty()) report.line("  run          " + run_dir.string());
  report.print(json);
  return 0;
}

}  // namespace isobar
