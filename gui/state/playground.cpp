#include "state/playground.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <tuple>

#include "config/load.h"
#include "core/error.h"
#include "core/find.h"
#include "core/processors.h"
#include "core/text.h"
#include "formula/model_shape.h"

namespace isobar {
namespace {

const std::vector<Knob>& all_knobs() {
  static const std::vector<Knob> kKnobs = {
      {"data.throttle_mb_per_s",
       "Disk",
       "MB/s",
       "as fast as it goes",
       {0, 1000, 500, 290, 200, 100, 50, 20, 10, 5}},
      {"data.workers", "Workers", "threads that read ahead", "none: the loop reads", {0, 1, 2, 3, 4, 8}},
      {"train.global_batch", "Batch", "samples a step", "", {1, 2, 4, 8, 16, 32, 64}},
      {"run.ranks", "Ranks", "", "", {1, 2, 4, 8}},
      {"comm.link.gbit_per_s", "Link", "Gb/s", "the machine's own", {0, 10, 5, 2, 1, 0.5, 0.2, 0.1}}};
  return kKnobs;
}

/// A knob whose places are these values, the one without a name called `zero`.
Knob named_knob(const char* key, const char* title, std::vector<std::string> names, const char* zero = "") {
  Knob out{.key = key, .title = title, .unit = "", .zero = zero, .places = {}, .names = std::move(names)};
  for (std::size_t i = 0; i < out.names.size(); ++i) out.places.push_back(static_cast<double>(i));
  return out;
}

const std::vector<Knob>& memory_knobs() {
  static const std::vector<Knob> kKnobs = {
      named_knob("run.memory_cap", "Cap", {"", "1GiB", "4GiB", "8GiB", "16GiB", "24GiB", "40GiB", "80GiB"},
                 "none"),
      {"train.global_batch", "Batch", "samples a step", "", {1, 2, 4, 8, 16, 32, 64}},
      {"train.accumulate", "Passes a step", "", "", {1, 2, 4, 8, 16}},
      named_knob("model.checkpoint", "Checkpointing", {kCheckpointKinds.begin(), kCheckpointKinds.end()}),
      {"mesh.zero", "Stage of shared states", "", "none", {0, 1, 2, 3}},
      {"run.ranks", "Ranks", "", "", {1, 2, 4, 8}},
      {"mesh.tp", "Ranks a layer", "", "", {1, 2, 4, 8}},
      {"model.embed", "Width", "", "", {96, 192, 384, 768, 1024}},
      {"model.depth", "Depth", "blocks", "", {2, 4, 6, 8, 12, 24}},
      {"model.patch", "Patch", "pixels", "", {4, 8, 12, 24}}};
  return kKnobs;
}

const std::vector<Knob>& pipeline_knobs() {
  static const std::vector<Knob> kKnobs = {
      {"mesh.pp", "Ranks, p", "", "", {1, 2, 4, 8, 16}},
      {"train.accumulate", "Micro-batches, m", "", "", {1, 2, 4, 8, 16, 32}},
      {"mesh.chunks", "Stages a rank, v", "", "", {1, 2, 4}},
      named_knob("mesh.schedule", "Schedule", {"gpipe", "1f1b", "interleaved", "zb_h1", "zb_v"})};
  return kKnobs;
}

std::vector<Knob> honoured(const std::vector<Knob>& all, const LessonInfo& lesson,
                           const std::map<std::string, std::string>& values) {
  std::vector<Knob> out;
  for (Knob knob : all) {
    const std::string* const value = find_in(values, knob.key);
    if (!honours(lesson, knob.key) || value == nullptr) continue;
    knob.place_of(*value);
    out.push_back(std::move(knob));
  }
  return out;
}

PresetFact fact_of(const Project& project, const LessonInfo& lesson, const std::string& name,
                   const MemoryState& memory) {
  PresetFact out;
  out.name = name;
  const bool on_cuda = project.device_kind == "cuda";
  try {
    const Config config = load_config(project.home, lesson, {.preset = name}, project.device_kind).config;
    const VitShape shape = vit_shape(config);
    out.parameters = count_parameters(shape).total();
    out.rows = shape.height;
    out.columns = shape.width;
    out.bytes = plan_memory(lesson, config, memory_facts(config, on_cuda)).total() *
                static_cast<std::uint64_t>(std::max<std::int64_t>(1, config.run.ranks));
  } catch (const Error& error) {
    out.why_not = printable(error.what(), 200);
    return out;
  }
  if (on_cuda) {
    out.fits = true;
  } else if (out.bytes > memory.total_bytes) {
    out.why_not = memory.total_text();
  } else {
    out.fits = name.starts_with("cpu_");
    if (!out.fits) out.why_not = "made for a GPU";
  }
  return out;
}

}  // namespace

void add_place(Knob& knob, double place) {
  const bool falls = knob.places.size() > 2 && knob.places[1] > knob.places[2];
  const auto at = std::ranges::find_if(knob.places, [&](double other) {
    return other == place || (other > 0 && place > 0 && (falls ? other < place : other > place));
  });
  if (at == knob.places.end() || *at != place) knob.places.insert(at, place);
}

double Knob::place_of(const std::string& text) {
  if (names.empty()) {
    const double place = std::strtod(text.c_str(), nullptr);
    add_place(*this, place);
    return place;
  }
  auto at = std::ranges::find(names, text);
  if (at == names.end()) {
    places.push_back(static_cast<double>(names.size()));
    at = names.insert(names.end(), text);
  }
  return static_cast<double>(at - names.begin());
}

std::string Knob::text_of(double place) const {
  return names.empty() ? knob_text(place) : names[static_cast<std::size_t>(place)];
}

std::vector<Knob> knobs_of(const LessonInfo& lesson, const std::map<std::string, std::string>& values) {
  return honoured(all_knobs(), lesson, values);
}

std::vector<Knob> memory_knobs_of(const LessonInfo& lesson,
                                  const std::map<std::string, std::string>& values) {
  return honoured(memory_knobs(), lesson, values);
}

std::vector<Knob> pipeline_knobs_of(const LessonInfo& lesson,
                                    const std::map<std::string, std::string>& values) {
  return honoured(pipeline_knobs(), lesson, values);
}

std::string knob_text(double place) { return fmt::format("{:g}", place); }

std::string knob_words(const Knob& knob, double place) {
  if (place == 0 && !knob.zero.empty()) return knob.zero;
  return knob.text_of(place) + (knob.unit.empty() ? "" : " " + knob.unit);
}

double PlayedStep::samples_per_s() const {
  return static_cast<double>(config.train.global_batch) / stages.step_us() * 1e6;
}

std::pair<std::string, double> PlayedStep::largest() const {
  const auto most = std::ranges::max(stages.named(), {}, &std::pair<std::string, double>::second);
  return {most.first, most.second / stages.step_us()};
}

PlayedStep play(const Project& project, const LessonInfo& lesson, const std::string& preset,
                const std::vector<std::string>& sets, const MachineRates& rates) {
  PlayedStep out;
  try {
    out.config = load_config(project.home, lesson, {.preset = preset, .sets = sets}, "cpu").config;
    out.stages = predict_stages(lesson, out.config, rates, processors_here());
    out.memory = plan_memory(lesson, out.config, memory_facts(out.config, /*on_cuda=*/false));
  } catch (const Error& error) {
    out.problem = printable(error.what(), 300);
  }
  return out;
}

std::vector<std::pair<double, double>> play_all(const Project& project, const LessonInfo& lesson,
                                                const std::string& preset,
                                                const std::vector<std::string>& sets,
                                                const MachineRates& rates, const Knob& knob) {
  std::vector<std::pair<double, double>> out;
  for (const double place : knob.places) {
    if (place <= 0) continue;
    std::vector<std::string> turned = sets;
    turned.push_back(knob.key + "=" + knob_text(place));
    const PlayedStep step = play(project, lesson, preset, turned, rates);
    if (step.is_known()) out.emplace_back(place, step.samples_per_s());
  }
  std::ranges::sort(out);
  return out;
}

std::vector<PresetFact> preset_facts(const Project& project, const LessonInfo& lesson,
                                     const MemoryState& memory) {
  std::vector<PresetFact> out;
  for (const std::string& name : project.presets) out.push_back(fact_of(project, lesson, name, memory));
  const auto order = [](const PresetFact& one) {
    return std::tuple(!one.fits, one.parameters == 0, one.rows * one.columns, one.parameters, one.bytes);
  };
  std::ranges::stable_sort(out, [&](auto& a, auto& b) { return order(a) < order(b); });
  return out;
}

double measured_step_us(const StoreSnapshot& runs, const std::string& lesson, const std::string& preset) {
  double crowded_us = 0;
  for (const auto& run : runs.runs) {  // the newest first
    const RunView& view = run->view;
    const bool plain = !run->foreign && view.is_measured_here() && marks_of(view).empty();
    if (!plain || view.lesson != lesson || view.preset != preset || !(view.summary.step_us > 0)) continue;
    if (!view.summary.is_crowded()) return view.summary.step_us;
    if (crowded_us == 0) crowded_us = view.summary.step_us;
  }
  return crowded_us;
}

bool KeptRates::look() {
  const Stamp now = stamp_of(file_);
  if (now == stamp_) return false;
  stamp_ = now;
  rates_ = nullptr;
  problem_.clear();
  try {
    if (const std::optional<MachineRates> kept = kept_machine_rates(file_))
      rates_ = std::make_shared<const MachineRates>(*kept);
  } catch (const Error& error) {
    problem_ = printable(error.what(), 200);
  }
  return true;
}

}  // namespace isobar
