#include <fmt/format.h>

#include <algorithm>

#include "analyse/run_prediction.h"
#include "config/keys.h"
#include "config/load.h"
#include "core/error.h"
#include "core/find.h"
#include "core/memory.h"
#include "core/text.h"
#include "draw/axis.h"
#include "draw/colour.h"
#include "panels/parts.h"
#include "panels/views.h"

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

void draw_group(Ui& ui, const char* words, bool first) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::Dummy({ui.px(kWidth), ui.px(kRow)});
  draw_cells(ui, ui.canvas(), at, words,
             first ? Numbers{"parameters", "grid", "memory", "step here"} : Numbers{}, Face::small,
             ui.theme().dim, ui.theme().dim);
}

/// True when another one was picked, which `preset` then names.
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
        draw_group(ui, fact.fits ? "FITS HERE" : "OTHERS", before == nullptr);
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

std::string value_text(const KeyPlace& place) {
  if (const auto* const text = std::get_if<std::string*>(&place)) return **text;
  if (const auto* const choice = std::get_if<ChoicePlace>(&place)) return choice->name();
  return toml_value(place);
}

std::map<std::string, std::string> values_of(Config config) {
  std::map<std::string, std::string> out;
  for (const Key& key : keys_of(config)) out[key.name] = value_text(key.place);
  return out;
}

/// The key that an error of the configuration is about: "--set KEY=..." stands in `where`.
std::string key_of_error(const Error& error) {
  constexpr std::string_view kBefore = "--set ";
  if (!error.where().starts_with(kBefore)) return "";
  return split(error.where().substr(kBefore.size()), '=').front();
}

std::string preset_of(const Project& project, const LessonCard& card, const FormState& form) {
  if (!form.preset.empty()) return form.preset;
  const std::string* const own = find_in(card.info.presets, project.device_kind);
  return own == nullptr ? "" : *own;
}

/// The field of one key. The value of the preset is what an empty change means.
void draw_value(Ui& ui, const Key& key, FormState& form, float width) {
  std::string value = form.text(key.name);
  bool touched = false;
  if (std::holds_alternative<bool*>(key.place)) {
    bool on = value == "true";
    touched = ui.checkbox("set " + key.name, &on, "");
    value = on ? "true" : "false";
    ui.beside().text(value, Face::mono_small, ui.theme().dim);
  } else if (const auto* const choice = std::get_if<ChoicePlace>(&key.place); choice != nullptr) {
    touched = ui.combo("set " + key.name, {choice->names.begin(), choice->names.end()}, value, width);
  } else {
    touched = ui.input("set " + key.name, value, "", width, form.problem_key != key.name);
  }
  if (touched) form.set(key.name, value);
}

void draw_key(Ui& ui, const Data& data, const Key& key, FormState& form) {
  const bool changed = form.changed.count(key.name) != 0;
  const float width = ImGui::GetContentRegionAvail().x;
  const float field = std::min(ui.px(170), width * 0.45F);
  ImGui::PushID(key.name.c_str());
  ImGui::AlignTextToFramePadding();
  const std::string name = key.name.substr(key.name.find('.') + 1);
  ui.text(ui.canvas().fitted(name, Face::mono_small, width - field - ui.px(34)), Face::mono_small,
          changed ? ui.theme().text : ui.theme().dim);
  const std::string* const comment = find_in(data.project.comments, key.name);
  if (comment != nullptr) ui.tip(key.name + ": " + *comment);
  ImGui::SameLine(width - field - ui.px(30));  // a change puts its x there, and nothing moves
  draw_value(ui, key, form, field);
  if (changed) {
    ImGui::PushFont(ui.fonts().of(Face::small));
    if (ui.at_x(width - ui.px(22)).button("x", ButtonKind::quiet, true, "reset " + key.name))
      form.set(key.name, form.values[key.name]);
    ImGui::PopFont();
    ui.tip("Back to the preset's " + form.values[key.name]);
  }
  const bool wrong = form.problem_key == key.name;
  if (wrong || comment != nullptr) ImGui::SetCursorPosY(ImGui::GetCursorPosY() - ui.px(4));
  if (wrong) {
    ui.problem(form.problem);
  } else if (comment != nullptr) {
    ui.note(*comment);
  }
  ImGui::PopID();
}

/// Each in a place of its own, used or not: what starts a run is never under the pointer what stops it.
void draw_buttons(Ui& ui, const Data& data, const LessonCard& card, AppState& state, Requests& ask) {
  FormState& form = state.form();
  const bool good = form.problem.empty() && card.cannot_run.empty();
  const RunRequest request = request_of(form);
  const float right = ImGui::GetContentRegionMax().x;
  if (ui.button("Start", ButtonKind::primary, good && !data.starting)) ask.start = request;
  ImGui::SameLine();
  const bool roomy = right > ui.px(290);
  if (ui.button(roomy ? "Restart with these" : "Restart", ButtonKind::plain, good && data.starting,
                "Restart with these"))
    ask.restart = request;
  if (ui.at_x(right - ui.button_width("Stop")).button("Stop", ButtonKind::danger, data.starting))
    ask.stop_started = true;
  if (ui.button("Copy command")) ask.copy = command_text(request);
  if (ui.beside().button("Reset", ButtonKind::quiet, !form.changed.empty())) reset_form(form, ask);
  const auto run = data.feed.runs->find(state.run);
  const bool fits = run && run->detail && run->view.lesson == state.lesson && !run->detail->config.empty();
  if (ui.button("Take the settings of the chosen run", ButtonKind::plain, fits)) {
    ask.say = "the settings of " + run->name + " were taken";
    if (!form.changed.empty()) ask.undo = form;
    fill_form(data.project, form, *run);
  }
}

/// The command as the fields make it, and what keeps it from running, in a place that does not grow.
void draw_command(Ui& ui, const FormState& form) {
  constexpr float kLines = 4;
  ImGui::BeginChild("command", {0, kLines * ui.canvas().line_height(Face::mono_small)});
  if (!form.problem.empty() && form.problem_key.empty()) ui.problem(form.problem);
  ui.wrapped_readable(command_text(request_of(form)), Face::mono_small, ui.theme().dim);
  ImGui::EndChild();
}

}  // namespace

RunRequest request_of(const FormState& form) {
  RunRequest request{form.lesson, form.preset, {}};
  for (const auto& [key, value] : form.changed) request.sets.push_back(key + "=" + value);
  return request;
}

void check_form(const Project& project, FormState& form) {
  form.stale = false;
  form.problem.clear();
  form.problem_key.clear();
  const LessonCard* const card = project.find(form.lesson);
  if (card == nullptr) return;
  try {
    const auto load = [&](const std::vector<std::string>& sets) {
      return load_config(project.home, card->info, {.preset = form.preset, .sets = sets},
                         project.device_kind);
    };
    form.values = values_of(load({}).config);
    load(request_of(form).sets);
  } catch (const Error& error) {
    form.problem = printable(error.what(), 300) +
                   (error.hint().empty() ? "" : " (" + printable(error.hint(), 200) + ")");
    form.problem_key = key_of_error(error);
  }
}

void follow_preset(const Project& project, FormState& form, const RunEntry& run) {
  const RunView& view = run.view;
  if (form.picked || !form.changed.empty() || view.lesson != form.lesson || view.preset == form.preset)
    return;
  if (!holds(project.presets, view.preset) || run.foreign || !view.is_measured_here()) return;
  form.preset = view.preset;
  form.stale = true;
}

void fill_form(const Project& project, FormState& form, const RunEntry& run) {
  const LessonCard* const card = project.find(run.view.lesson);
  if (card == nullptr || !run.detail) return;
  form.lesson = run.view.lesson;
  form.preset = holds(project.presets, run.view.preset) ? run.view.preset : "";
  form.picked = true;
  form.changed.clear();
  check_form(project, form);
  for (const auto& [key, value] : run.detail->config) {
    // What the run found out by itself ("auto", 0 threads) stays free.
    const std::string* const own = find_in(form.values, key);
    if (honours(card->info, key) && own != nullptr && !is_left_open(key, *own) && *own != value)
      form.changed[key] = value;
  }
  check_form(project, form);
}

void draw_run_form(Ui& ui, const Data& data, AppState& state, Requests& ask) {
  FormState& form = state.form();
  const LessonCard* const card = data.project.find(state.lesson);
  if (card == nullptr) return ui.nothing("No lesson", "Choose one on the left.");
  if (form.stale) check_form(data.project, form);
  ui.text(card->info.title, Face::bold);
  ui.framed().text("preset", Face::mono_small, ui.theme().dim);
  ImGui::SameLine();
  std::string preset = preset_of(data.project, *card, form);
  if (draw_preset_menu(ui, data, *card, form, preset)) {
    form.preset = preset;
    form.picked = true;
    form.stale = true;
  }
  draw_buttons(ui, data, *card, state, ask);
  if (!card->cannot_run.empty()) ui.warning("This lesson " + card->cannot_run);
  draw_command(ui, form);
  ui.input("filter keys", form.filter, "Filter keys", -1);
  ImGui::BeginChild("keys");
  Config config;
  std::string section;
  for (const Key& key : keys_of(config)) {
    if (!honours(card->info, key.name)) continue;
    if (!form.filter.empty() && key.name.find(form.filter) == std::string::npos) continue;
    const std::string in = key.name.substr(0, key.name.find('.'));
    if (in != section) {
      ui.gap(2);
      ui.text(in, Face::bold);
    }
    section = in;
    draw_key(ui, data, key, form);
  }
  if (section.empty() && !form.filter.empty()) ui.note("No setting of this lesson has that in its name.");
  ImGui::EndChild();
}

}  // namespace isobar
