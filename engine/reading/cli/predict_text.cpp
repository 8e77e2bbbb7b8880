#include "cli/predict_text.h"

#include <fmt/format.h>

#include <array>
#include <utility>
#include <vector>

#include "core/text.h"
#include "formula/model_shape.h"

namespace isobar {

namespace {

/// What the predictions were worth where they could be checked.
/// Of the formulas with the rates of that device.
const char* known_error(const std::string& device) {
  if (device != "A100-40GB")
    return "rates are those of steps of 16 samples recorded on an H200; with 1 to 4 samples a step the "
           "device's "
           "time came out up to 26 % shorter there than recorded";
  return "on an A100 these formulas gave steps that were 5 to 23 % shorter than published ones";
}

constexpr const char* kKnownErrorHere =
    "on two cores of an AMD EPYC, steps of lessons 01, 02 and 05 came to 0.73 to 1.02 of what was measured, "
    "the "
    "smallest model to the least";

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
  report.line(fmt::format("  published    {:.1f} samples/s, recorded on {} ({}, {})",
                          published.samples_per_s.back(), published.device, published.years.back(),
                          published.stacks.back()));
}

/// Where the device's time goes.
struct ClassPart {
  const char* name;
  const char* key;
  double time_us;
  bool always = true;
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

void add_classes_json(Json& json, const StepTime& time) {
  for (const ClassPart& part : class_parts(time)) json[part.key] = part.time_us;
}

void add_classes(Report& report, const StepTime& time) {
  for (const ClassPart& part : class_parts(time)) {
    if (part.always)
      report.line(fmt::format("  {:<13} {:8.2f} ms  {:5.1f} %", part.name, part.time_us * 1e-3,
                              100 * part.time_us / time.step_us()));
  }
  add_classes_json(report.json, time);
}

/// "attention 12 %, GEMM 55 %, ..." of what computes.
std::string classes_text(const StepTime& time) {
  std::vector<std::string> parts;
  for (const ClassPart& part : class_parts(time)) {
    if (part.always)
      parts.push_back(fmt::format("{} {:.0f} %", part.name, 100 * part.time_us / time.device_us()));
  }
  return joined(parts);
}

/// What the step needs beside time.
void add_needs(Report& report, const Prediction& prediction) {
  const double bytes_per_s = prediction.needed_bytes_per_s();
  report.line(fmt::format("  data         {}", bytes_per_s > 0
                                                   ? human_bytes(static_cast<std::uint64_t>(bytes_per_s)) +
                                                         "/s, so that no step waits for its batch"
                                                   : "none is read"));
  report.labelled("  memory       " + prediction.memory.text());
  Json memory;
  for (const auto& [name, bytes] : prediction.memory.categories()) memory[name] = bytes;
  report.json["needed_bytes_per_s"] = bytes_per_s;
  report.json["memory_bytes"] = memory;
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
  std::vector<TableRow> rows = {{"", "predicted ms"}};
  if (measured != nullptr) rows.front().push_back("measured ms");
  for (const auto& [stage, time_us] : stages.named()) {
    rows.push_back({stage, known_text(Quantity::time, time_us)});
    if (measured != nullptr) rows.back().push_back(known_text(Quantity::time, measured->stage_us(stage)));
    report.json["stages"][stage + "_us"] = time_us;
  }
  rows.push_back({"step", known_text(Quantity::time, stages.step_us())});
  if (measured != nullptr) rows.back().push_back(known_text(Quantity::time, measured->step_us));
  report.table(rows, 1);
}

}  // namespace

Report device_report(const Prediction& prediction, const LessonInfo& lesson) {
  const StepTime& time = prediction.time;
  const StepForm& form = prediction.form;
  const double rate = prediction.samples_per_s();
  Report out;
  out.json = head_json(prediction);
  out.line(head_line(prediction));
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
                       time.step_us() * 1e-3, rate, 100 * prediction.mfu(),
                       human_flops(time.peak_flops_per_s)));
  out.line("  bound by     " + time.bound());
  add_published(out, prediction, lesson);
  add_needs(out, prediction);
  out.line("  reading is not in it: batches are taken to be ready");
  out.line(std::string("  known error  ") + known_error(prediction.device.name));
  out.json["device_us"] = time.device_us();
  out.json["launches"] = time.launches;
  out.json["element_bytes"] = time.element_bytes;
  out.json["host_us"] = time.host_us;
  out.json["graph"] = time.graph;
  out.json["graph_gain_us"] = time.graph_gain_us();
  out.json["step_us"] = time.step_us();
  out.json["samples_per_s"] = rate;
  out.json["mfu"] = prediction.mfu();
  out.json["bound"] = time.bound();
  out.json["known_error"] = known_error(prediction.device.name);
  return out;
}

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
  out.line(fmt::format("  throughput   {:.1f} samples/s, MFU {:.1f} % of {} a rank",
                       prediction.samples_per_s(), 100 * prediction.mfu(),
                       human_flops(prediction.time.peak_flops_per_s)));
  out.line("  computing    " + classes_text(prediction.time));
  if (ranks > 1)
    out.line(fmt::format("  link         busy for {:.1f} ms a step, of which {:.1f} ms show; a rank sends {}",
                         here.stages.comm_total_us * 1e-3, here.stages.comm_us * 1e-3,
                         human_bytes(static_cast<std::uint64_t>(here.stages.wire_bytes))));
  add_needs(out, prediction);
  out.labelled(measured ? "  measured     by " + printable(measured->folder.filename().string())
                        : "  measured     not yet with these settings: ./isobar run " + prediction.lesson);
  out.labelled(fmt::format("  rates        measured {}, kept in {}", here.rates.measured,
                           machine_rates_file().string()));
  if (here.rates.processor_wait > kCrowdedWait)
    out.labelled(fmt::format(
        "  warning      other programs had the processors {:.0f} % of that time, so the rates are "
        "too low: --measure, when it is quiet, measures them again",
        100 * here.rates.processor_wait));
  out.labelled(std::string("  known error  ") + kKnownErrorHere);
  out.json["known_error"] = kKnownErrorHere;
  add_classes_json(out.json, prediction.time);
  out.json["ranks"] = ranks;
  out.json["comm_total_us"] = here.stages.comm_total_us;
  out.json["wire_bytes"] = here.stages.wire_bytes;
  out.json["read_us"] = here.stages.read_us;
  out.json["step_us"] = prediction.step_us();
  out.json["samples_per_s"] = prediction.samples_per_s();
  out.json["mfu"] = prediction.mfu();
  out.json["rates"] = {{"machine", here.rates.machine},
                       {"measured", here.rates.measured},
                       {"processor_wait", here.rates.processor_wait}};
  if (measured)
    out.json["measured"] = {{"run", measured->folder.filename().string()},
                            {"step_us", measured->summary.step_us}};
  return out;
}

}  // namespace isobar
