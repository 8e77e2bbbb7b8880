#include "state/playground.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "config/load.h"
#include "core/error.h"
#include "core/processors.h"
#include "core/text.h"

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

}  // namespace

void add_place(Knob& knob, double place) {
  const bool falls = knob.places.size() > 2 && knob.places[1] > knob.places[2];
  const auto at = std::find_if(knob.places.begin(), knob.places.end(), [&](double other) {
    return other == place || (other > 0 && place > 0 && (falls ? other < place : other > place));
  });
  if (at == knob.places.end() || *at != place) knob.places.insert(at, place);
}

std::vector<Knob> knobs_of(const LessonInfo& lesson, const std::map<std::string, std::string>& values) {
  std::vector<Knob> out;
  for (Knob knob : all_knobs()) {
    const auto value = values.find(knob.key);
    if (!honours(lesson, knob.key) || value == values.end()) continue;
    add_place(knob, std::strtod(value->second.c_str(), nullptr));
    out.push_back(std::move(knob));
  }
  return out;
}

std::string knob_text(double place) { return fmt::format("{:g}", place); }

std::string knob_words(const Knob& knob, double place) {
  if (place == 0 && !knob.zero.empty()) return knob.zero;
  return knob_text(place) + (knob.unit.empty() ? "" : " " + knob.unit);
}

double PlayedStep::samples_per_s() const {
  return static_cast<double>(config.train.global_batch) / stages.step_us() * 1e6;
}

std::pair<std::string, double> PlayedStep::largest() const {
  const auto named = stages.named();
  const auto most =
      std::max_element(named.begin(), named.end(), [](auto& a, auto& b) { return a.second < b.second; });
  return {most->first, most->second / stages.step_us()};
}

PlayedStep play(const Project& project, const LessonInfo& lesson, const std::string& preset,
                const std::vector<std::string>& sets, const MachineRates& rates) {
  PlayedStep out;
  try {
    Settings settings;
    settings.preset = preset;
    settings.sets = sets;
    out.config = load_config(project.home, lesson, settings, "cpu").config;
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
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace isobar
