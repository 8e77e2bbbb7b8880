#include "cli/predict_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyse/cluster_prediction.h"
#include "core/text.h"
#include "formula/memory_plan.h"

namespace isobar {

namespace {

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
constexpr const char* kNoErrorOfPipelines =
    "; for idle time and messages of pipelines here none is known yet";

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

void add_rate(Report& report, const Prediction& prediction, const std::string& known_error) {
  add_members(report.json,
              ISOBAR_NAMED(prediction.step_us(), prediction.samples_per_s(), prediction.mfu(), known_error));
  report.labelled("known error", known_error);
}

}  // namespace

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
  if (here.stages.pipeline)
    out.labelled(
        "first rank",
        fmt::format("waits for {:.1f} ms a step (comm); its messages take {:.1f} ms, and it sends {}",
                    here.stages.comm_us * 1e-3, here.stages.comm_total_us * 1e-3,
                    value_text(Quantity::bytes, here.stages.wire_bytes)));
  else if (ranks > 1)
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
  const std::string none = ungraded(prediction.config);
  add_rate(out, prediction,
           kKnownErrorHere + std::string(here.stages.pipeline ? kNoErrorOfPipelines : "") +
               (none.empty() ? "" : "; " + none));
  add_members(out.json,
              ISOBAR_NAMED(ranks, here.stages.comm_total_us, here.stages.wire_bytes, here.stages.read_us));
  out.json["rates"] = ISOBAR_NAMED(here.rates.machine, here.rates.measured, here.rates.processor_wait);
  if (measured)
    out.json["measured"] = {{"run", measured->folder.filename().string()},
                            {"step_us", measured->summary.step_us}};
  return out;
}

}  // namespace isobar
