#include "state/presets.h"

#include <algorithm>
#include <tuple>

#include "config/load.h"
#include "core/error.h"
#include "core/text.h"
#include "formula/memory_plan.h"
#include "formula/model_shape.h"
#include "state/project.h"

namespace isobar {
namespace {

PresetFact fact_of(const Project& project, const LessonInfo& lesson, const std::string& name,
                   const MemoryState& memory) {
  PresetFact out;
  out.name = name;
  const bool on_cuda = project.device_kind == "cuda";
  try {
    Settings settings;
    settings.preset = name;
    const Config config = load_config(project.home, lesson, settings, project.device_kind).config;
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

std::vector<PresetFact> preset_facts(const Project& project, const LessonInfo& lesson,
                                     const MemoryState& memory) {
  std::vector<PresetFact> out;
  for (const std::string& name : project.presets) out.push_back(fact_of(project, lesson, name, memory));
  const auto order = [](const PresetFact& one) {
    return std::tuple(!one.fits, one.parameters == 0, one.rows * one.columns, one.parameters, one.bytes);
  };
  std::stable_sort(out.begin(), out.end(), [&](auto& a, auto& b) { return order(a) < order(b); });
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

}  // namespace isobar
