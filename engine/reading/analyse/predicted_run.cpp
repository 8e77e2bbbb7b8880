#include "analyse/predicted_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>
#include <vector>

#include "config/toml_text.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "formula/memory_front.h"
#include "formula/model_shape.h"
#include "record/json_line.h"
#include "record/run_folder.h"
#include "record/run_summary.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kSteps = 10;

using Stages = std::vector<std::pair<std::string, double>>;

/// The stages of the step. Where kernels are too small or the device waits for launches, that is in all of
/// them.
Stages stages_of(const Prediction& prediction) {
  if (prediction.here) return prediction.here->stages.named();
  const StepTime& time = prediction.time;
  const double forward_us = time.forward.total_us();
  const double backward_us = time.backward.total_us();
  const double longer = time.step_us() / (time.classes().total_us() + time.upload_us);
  Stages out;
  if (time.upload_us > 0) out.emplace_back("copy", time.upload_us * longer);
  if (!time.graph) {
    out.emplace_back("forward", forward_us * longer);
    out.emplace_back("backward", backward_us * longer);
    out.emplace_back("optimize", time.optimize_us * longer);
  } else if (prediction.form.graph_has_optimizer) {
    out.emplace_back("replay", (forward_us + backward_us + time.optimize_us) * longer);
  } else {
    out.emplace_back("optimize", time.optimize_us * longer);
    out.emplace_back("replay", (forward_us + backward_us) * longer);
  }
  return out;
}

RunSummary summary_of(const Prediction& prediction, const Stages& stages) {
  RunSummary out;
  out.steps = out.wanted_steps = kSteps;
  out.samples = kSteps * prediction.config.train.global_batch;
  out.step_us = prediction.step_us();
  out.wall_s = static_cast<double>(kSteps) * out.step_us * 1e-6;
  out.samples_per_s = prediction.samples_per_s();
  out.stages_us = stages;
  out.flops_per_sample = prediction.flops_per_sample();
  out.redone_flops_per_sample = prediction.redone_flops_per_sample();
  out.peak_flops_per_s = prediction.time.peak_flops_per_s;
  out.peak_of_data_sheet = !prediction.here;
  return out;
}

JsonLine step_line(const Prediction& prediction, const Stages& stages, std::int64_t index) {
  const StepTime& time = prediction.time;
  const double step_us = prediction.step_us();
  JsonLine line("step");
  line.add("step", index)
      .add("t_us", std::llround(static_cast<double>(index + 1) * step_us))
      .add("epoch", 0)
      .add("samples", prediction.config.train.global_batch);
  for (const auto& [stage, time_us] : stages) line.add(stage + "_us", std::llround(time_us));
  line.add("step_us", std::llround(step_us));
  if (prediction.here) return line;
  line.add("step_host_us", std::llround(time.graph ? 0 : time.host_us));
  line.add("idle_us", std::llround(time.step_us() - time.device_us()));
  line.add("launches", std::llround(time.graph ? 1 : time.launches));
  line.add("element_bytes", std::llround(time.element_bytes));
  return line;
}

}  // namespace

double Prediction::samples_per_s() const {
  return static_cast<double>(config.train.global_batch) / step_us() * 1e6;
}

double Prediction::flops_per_sample() const { return sample_flops(config); }

double Prediction::redone_flops_per_sample() const {
  return static_cast<double>(forecasts_of_sample(config)) * redone_flops(form.kept, form.shape);
}

double Prediction::mfu() const {
  return samples_per_s() * flops_per_sample() / time.peak_flops_per_s /
         static_cast<double>(models(config) * ranks_of_model(config));
}

double Prediction::needed_bytes_per_s() const {
  if (here) return here->stages.needed_bytes_per_s(config.run.ranks);
  return read_bytes_a_step(config) / step_us() * 1e6;
}

bool add_ranks_of_model(Settings& settings) {
  constexpr std::int64_t kMost = 1'000'000;
  std::int64_t product = 1, groups = 1;
  bool has_ranks = false;
  for (const std::string& set : settings.sets) {
    const std::vector<std::string> words = split(set, '=');
    const std::string_view key = trimmed(words.front());
    if (words.size() != 2) continue;
    const std::int64_t value = std::clamp<std::int64_t>(std::strtol(words[1].c_str(), nullptr, 10), 1, kMost);
    if (is_one_of(key, {"mesh.pp", "mesh.cp", "mesh.tp"})) product = std::min(kMost, product * value);
    if (is_one_of(key, {"mesh.gpus_per_model", "mesh.gpus_per_ensemble"})) groups = std::max(groups, value);
    has_ranks = has_ranks || key == "run.ranks";
  }
  const std::int64_t ranks = std::max(product, groups);
  if (ranks > 1 && !has_ranks) settings.sets.push_back(fmt::format("run.ranks={}", ranks));
  return ranks > 1;
}

Prediction begin_prediction(const LessonInfo& lesson, const Settings& settings, const std::string& command,
                            bool on_cuda) {
  const LoadedConfig loaded =
      load_config(project_home(), lesson, settings,
                  preset_device_kind(settings, [&] { return std::string(on_cuda ? "cuda" : "cpu"); }));
  Prediction out;
  out.lesson = lesson.name;
  out.preset = loaded.preset;
  out.point = joined(settings.sets, " ");
  out.command = command;
  out.config = loaded.config;
  out.form = step_form(lesson, loaded.config, on_cuda);
  const MemoryFacts facts = memory_facts(loaded.config, on_cuda);
  out.memory = plan_memory(lesson, loaded.config, facts);
  if (loaded.config.mesh.pp > 1) out.memory_by_rank = plans_of_pipeline(lesson, loaded.config, facts);
  return out;
}

Prediction predict_on_device(const LessonInfo& lesson, const Settings& settings, const std::string& device,
                             const std::string& command) {
  Prediction out = begin_prediction(lesson, settings, command, /*on_cuda=*/true);
  if (out.config.run.ranks > 1)
    throw Error("the step of one device is known, not the communication of ranks on several",
                fmt::format("run.ranks = {}", out.config.run.ranks),
                "run.ranks=1 with the samples of one of them; ./isobar scale measures several");
  out.device = rates_of(device);
  check_memory(lesson, out.config, memory_facts(out.config, /*on_cuda=*/true), out.device.memory_bytes,
               "an " + out.device.name);
  out.time = predict_step(out.form, out.device);
  return out;
}

void write_predicted_run(const Prediction& prediction, const fs::path& folder) {
  const RunFolder run = take_run_folder(folder);
  fs::remove(run.path / "fields");  // nothing was forecast
  const std::string model = fmt::format("step_time {}", kStepTimeVersion);
  const Stages stages = stages_of(prediction);
  JsonLine head("run");
  head.add("schema", 1).add("lesson", prediction.lesson).add("preset", prediction.preset);
  head.add("provenance", "predicted").add("device", prediction.device.name).add("model", model);
  head.add("precision", name_of(prediction.form.precision)).add("point", prediction.point);
  head.add("wanted_steps", kSteps).add("flops_per_sample", prediction.flops_per_sample());
  if (const double redone = prediction.redone_flops_per_sample(); redone > 0)
    head.add("redone_flops_per_sample", redone);
  std::string stream = head.add("started", wall_iso()).text();
  stream += JsonLine("note").add("text", "plan").add("steps_per_epoch", 1).text();
  for (std::int64_t step = 0; step < kSteps; ++step) stream += step_line(prediction, stages, step).text();
  stream += summary_event(summary_of(prediction, stages)).text();
  stream += JsonLine("end").add("status", "done").add("reason", "").text();
  write_file_whole(
      run.config_file(),
      fmt::format("# Predicted by model for {}; nobody ran it. Made by: {}\n{}\n"
                  "[environment]  # what it was predicted with\ndevice = {}\nmodel = {}\n",
                  prediction.device.name, printable(prediction.command, std::string::npos),
                  to_toml(prediction.config), toml_string(prediction.device.name), toml_string(model)));
  write_file_whole(run.stream_file(0), std::string_view(stream));
}

}  // namespace isobar
