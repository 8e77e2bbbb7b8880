#include "panels/preset_menu.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/memory.h"
#include "core/text.h"
#include "draw/axis.h"
#include "draw/colour.h"

namespace isobar {
namespace {

constexpr float kRow = 24;  // height
constexpr float kWidth = 480;
constexpr float kRights[] = {200, 286, 360, 436};  // where the columns of numbers end

using Numbers = std::vector<std::string>;

void draw_cells(const Ui& ui, ImGuiCanvas canvas, ImVec2 at, const std::string& name, const Numbers& cells,
                Face face, Colour colour, Colour dim) {
  const float y = at.y + (ui.px(kRow) - canvas.line_height(face)) / 2;
  canvas.text(at.x + ui.px(8), y, name, face, colour);
  for (std::size_t i = 0; i < cells.size(); ++i)
    canvas.text(at.x + ui.px(kRights[i]), y, cells[i], Face::small, dim, 1);
}

Numbers cells_of(const PresetFact& fact, double step_us) {
  if (fact.parameters == 0) return {};
  return {engineering(static_cast<double>(fact.parameters), 3),
          fmt::format("{} x {}", fact.rows, fact.columns), human_bytes(fact.bytes),
          step_us > 0             ? fmt::format("{:.3g} ms", step_us * 1e-3)
          : fact.predicted_us > 0 ? fmt::format("~{:.3g} ms", fact.predicted_us * 1e-3)
                                  : "-"};
}

/// With what the formulas say of those that fit, where this machine's rates are known.
std::vector<PresetFact> facts_of(const Data& data, const LessonInfo& lesson) {
  std::vector<PresetFact> out = preset_facts(data.project, lesson, memory_state());
  for (PresetFact& fact : out) {
    if (!data.rates || !fact.fits || data.project.device_kind == "cuda") continue;
    const PlayedStep step = play(data.project, lesson, fact.name, {}, *data.rates);
    if (step.is_known()) fact.predicted_us = step.stages.step_us();
  }
  return out;
}

bool draw_row(Ui& ui, const PresetFact& fact, double step_us, bool chosen) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::PushID(fact.name.c_str());
  const bool picked = ImGui::Selectable("##preset", chosen, 0, {0, ui.px(kRow)});
  ui.record(fact.name);
  if (!fact.why_not.empty()) {
    ui.tip(fact.name + ": " + fact.why_not);
  } else if (!(step_us > 0) && fact.predicted_us > 0) {
    ui.tip(fact.name + ": its step is predicted from this machine's rates");
  }
  ImGui::PopID();
  const Theme& theme = ui.theme();
  draw_cells(ui, ui.canvas(), at, fact.name, cells_of(fact, step_us), chosen ? Face::bold : Face::text,
             fact.fits ? theme.text : theme.dim, theme.dim);
  return picked;
}

void draw_heading(Ui& ui, const char* words, bool first) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::Dummy({ui.px(kWidth), ui.px(kRow)});
  draw_cells(ui, ui.canvas(), at, words,
             first ? Numbers{"parameters", "grid", "memory", "step here"} : Numbers{}, Face::small,
             ui.theme().dim, ui.theme().dim);
}

}  // namespace

bool draw_preset_menu(Ui& ui, const Data& data, const LessonCard& card, FormState& form,
                      std::string& preset) {
  bool picked = false;
  ImGui::PushID("preset");
  ImGui::SetNextItemWidth(ui.px(180));
  const float most = std::min(ui.px(640), ImGui::GetIO().DisplaySize.y * 0.7F);
  ImGui::SetNextWindowSizeConstraints({ui.px(kWidth), 0}, {ui.px(kWidth), most});
  const bool open = ImGui::BeginCombo("##combo", preset.c_str(), ImGuiComboFlags_HeightLargest);
  ui.record("preset");
  if (open) {
    if (form.presets.empty() || ImGui::IsWindowAppearing()) form.presets = facts_of(data, card.info);
    const PresetFact* before = nullptr;
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
    for (const PresetFact& fact : form.presets) {
      if (before == nullptr || before->fits != fact.fits)
        draw_heading(ui, fact.fits ? "FITS HERE" : "OTHERS", before == nullptr);
      before = &fact;
      const double step_us = measured_step_us(*data.feed.runs, card.info.name, fact.name);
      if (!draw_row(ui, fact, step_us, fact.name == preset)) continue;
      preset = fact.name;
      picked = true;
    }
    ImGui::PopStyleVar();
    ImGui::EndCombo();
  } else {
    form.presets.clear();  // with the next look files may say something else
  }
  ImGui::PopID();
  return picked;
}

}  // namespace isobar
