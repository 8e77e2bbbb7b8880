#include "sent.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "analyse/run_prediction.h"
#include "core/text.h"
#include "formula/memory_plan.h"
#include "formula/model_shape.h"
#include "plot/bars.h"
#include "plot/memory_picture.h"

namespace isobar::lesson_16 {
namespace {

struct SentCase {
  std::string label;
  ContextStep step;
  double counted = 0;  ///< cp_wire_bytes of rank 0; 0 = not known
};

std::optional<SentCase> sent_case(const std::filesystem::path& run, const std::string& label,
                                  const RunView& view, std::optional<double> counted) {
  const std::optional<ContextStep> step = context_of(run, view);
  if (!step) return std::nullopt;
  return SentCase{label, *step, counted.value_or(0)};
}

StackedBar sent_bar(const Theme& theme, const SentCase& one, double most) {
  StackedBar out{.title = one.label, .axis = "MB a step", .unit = 1e6, .most = most};
  const auto words = [](double bytes) { return human_bytes(static_cast<std::uint64_t>(bytes)); };
  const double ends = one.step.share_bytes + one.step.unite_bytes;
  for (const auto& [name, bytes, series, hatch] :
       {std::tuple{"attention of all blocks", one.step.blocks.bytes(), 1, Hatch::none},
        std::tuple{"cut and union", ends, 2, Hatch::rising},
        std::tuple{"sum of gradients", one.step.sum_bytes, 0, Hatch::falling}})
    out.parts.push_back({name, bytes, words(bytes), theme.series[static_cast<std::size_t>(series)], hatch});
  out.total = words(one.step.bytes()) + " by formula";
  if (one.counted > 0) {
    out.total += fmt::format(", {} counted", words(one.counted));
    out.mark = one.counted;
  }
  return out;
}

float paint_sent(Sketch& sketch, const std::vector<SentCase>& cases, PlotPoint at, float width) {
  double most = 0;
  for (const SentCase& one : cases) most = std::max({most, one.step.bytes(), one.counted});
  std::vector<StackedBar> bars;
  for (const SentCase& one : cases) bars.push_back(sent_bar(sketch.theme(), one, most));
  at.y = paint_stacked_bars(sketch, std::move(bars), at, width);
  return sketch.words(at, width, "The upright line is what was counted.", {.colour = sketch.theme().dim});
}

Drawing sent_drawing(const std::vector<SentCase>& cases, const std::string& note = "") {
  Drawing out{.title = "What rank 0 sends in a step", .note = note, .alt = "", .body = {}};
  if (cases.empty()) return out;
  for (const SentCase& one : cases) {
    const StackedBar bar = sent_bar(theme_of(true), one, 0);
    std::vector<std::string> parts;
    for (const StackPart& part : bar.parts) parts.push_back(part.name + " " + part.words);
    out.alt += fmt::format("{}{}: {}: {}.", out.alt.empty() ? "" : " ", one.label, bar.total, joined(parts));
  }
  out.body = [cases](Sketch& sketch, PlotPoint at, float width) {
    return paint_sent(sketch, cases, at, width);
  };
  return out;
}

}  // namespace

std::optional<ContextStep> context_of(const std::filesystem::path& run, const RunView& view) {
  const std::optional<KnownSettings> known = settings_of(run, view.lesson);
  if (!known || known->config.mesh.cp < 2) return std::nullopt;
  const std::int64_t value_bytes = memory_facts(known->config, view.device != "cpu").value_bytes;
  return context_step(vit_shape(known->config), context_form(known->config, value_bytes), 0);
}

OwnPicture own_sent(const OwnRun& run) {
  const std::optional<SentCase> found =
      sent_case(run.folder, "This run", run.view(), run.steady.mean("cp_wire_bytes"));
  if (found) return {sent_drawing({*found}, run.note)};
  return nothing_to_draw("ranks of the run share no tokens", "--ranks 2 --set mesh.cp=2");
}

Drawing runs_together(std::string_view rule, const std::vector<ShownRun>& runs) {
  if (rule == "ratio") return memory_together(runs);
  if (rule != "cp_wire" && rule != "made") return {};
  std::vector<SentCase> cases;
  for (const ShownRun& run : runs) {
    const std::optional<double> counted =
        run.run->repeats.empty() ? std::nullopt : run.run->repeats.front().mean("cp_wire_bytes");
    if (auto one = sent_case(run.run->folder, run.label, run.run->view(), counted))
      cases.push_back(std::move(*one));
  }
  return sent_drawing(cases);
}

}  // namespace isobar::lesson_16
