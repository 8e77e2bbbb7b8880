#include "cli/verdict_text.h"

#include <fmt/format.h>

#include "analyse/run_prediction.h"
#include "config/lesson.h"
#include "core/cpu_instructions.h"
#include "core/files.h"
#include "core/nvidia.h"
#include "core/text.h"
#include "formula/model_shape.h"

namespace isobar {

RunFacts facts_of(const RunCase& run) {
  RunFacts out;
  const std::filesystem::path home = project_home();
  const bool has_gpu = has_nvidia_driver();
  for (const std::string& name : lesson_names(home)) {
    if (has_gpu || read_lesson(home, name).needs != "cuda") out.lessons.push_back(name);
  }
  out.computes_16_bit = has_gpu || cpu_instructions().multiplies_bf16();
  if (const std::optional<KnownSettings> settings = settings_of(run.folder, run.view().lesson)) {
    out.honours = settings->lesson.honours;
    out.attention_flops = 3 * count_forward_flops(vit_shape(settings->config)).attention;
    if (const std::optional<MachineRates> rates = rates_behind(run.config))
      out.memory_bytes_per_s = memory_rate(run.config, *rates);
  }
  return out;
}

Report verdict_report(const RunCase& run, const RunVerdict& verdict, std::size_t columns) {
  Report out;
  const RunView& view = run.view();
  const auto runs = static_cast<std::int64_t>(run.repeats.size());
  out.line(fmt::format("{}  {}{}", printable(run.folder.filename().string()), state_name(view.state),
                       runs > 1 ? ", with " + counted(runs - 1, "repeat") : ""));
  for (const std::string& warning : verdict.warnings) out.headed("!", warning, columns);
  out.headed("verdict", verdict_sentence(verdict), columns);
  if (verdict.is_known && verdict.verdict.bound != Bound::compute) {  // which says it itself
    const double step_us = means(run.repeats, "step_us").median();
    out.headed("a step", fmt::format("{:.1f} ms: {}", step_us * 1e-3, verdict.parts.text(7)), columns);
  }
  if (verdict.of_quartet) out.headed("", "(by its quartet)", columns);
  for (const std::string& line : verdict.verdict.evidence) out.headed("", line, columns);
  out.headed("notice", verdict.notice, columns);
  if (!verdict.next.empty()) out.line("  try        " + verdict.next);

  out.json = {{"run", run.folder.string()},
              {"state", state_name(view.state)},
              {"repeats", runs - 1},
              {"warnings", verdict.warnings},
              {"bound", verdict.is_known ? Json(bound_name(verdict.verdict.bound)) : Json()},
              {"share", number_or_null(verdict.share)},
              {"by_quartet", verdict.of_quartet},
              {"straggler", verdict.verdict.straggler < 0 ? Json() : Json(verdict.verdict.straggler)},
              {"sentence", verdict_sentence(verdict)},
              {"evidence", verdict.verdict.evidence}};
  Json parts = Json::object();
  for (std::size_t i = 0; i < kPartNames.size(); ++i) parts[kPartNames[i]] = verdict.parts.shares[i];
  out.json["parts"] = verdict.is_known ? parts : Json();
  const Roofline& roofline = verdict.roofline;
  out.json["roofline"] = {{"flops", number_or_null(roofline.flops)},
                          {"attention_share", number_or_null(roofline.attention_share)},
                          {"arithmetic_us", number_or_null(roofline.arithmetic_us)},
                          {"moved_bytes", number_or_null(roofline.moved_bytes)},
                          {"memory_us", number_or_null(roofline.memory_us)},
                          {"computing_us", number_or_null(roofline.computing_us)}};
  out.json["processor_wait"] = view.summary.processor_wait < 0 ? Json() : Json(view.summary.processor_wait);
  out.json["notice"] = verdict.notice;
  out.json["next"] = verdict.next;
  return out;
}

}  // namespace isobar
