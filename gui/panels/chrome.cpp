#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/text.h"
#include "draw/colour.h"
#include "panels/parts.h"
#include "panels/views.h"

namespace isobar {
namespace {

struct HelpLine {
  const char* keys;
  const char* words;
};

constexpr std::array<HelpLine, 18> kHelp = {{
    {"Space", "run the chosen lesson; again: stop it"},
    {"1 .. 9", "choose a lesson"},
    {"V  Shift V  Ctrl Tab", "next view; with Shift the one before"},
    {"Tab, Shift Tab", "move the focus; Enter or Space uses what is focused"},
    {"/", "filter the runs"},
    {"G", "compare the chosen run with the newest baseline"},
    {"F", "over a plot: fit"},
    {"L", "over a plot: logarithmic y"},
    {"Ctrl wheel", "over a plot: zoom at the mouse; over its y axis: zoom y"},
    {"drag", "move along; with Shift: zoom into the rectangle"},
    {"double click", "fit again"},
    {"right click", "menu: logarithms, save as SVG, PNG, CSV"},
    {"click a legend", "hide a line; double click: show it alone"},
    {"D", "dark or light"},
    {"Ctrl +  Ctrl -  Ctrl 0", "larger, smaller, as at first"},
    {"C", "fold the console out and in"},
    {"?  F1", "this sheet"},
    {"Esc", "close it"},
}};

std::string status_text(const RunEntry& run) {
  const RunSummary& summary = run.view.summary;
  std::string out = "step " + human_count(summary.steps);
  if (summary.wanted_steps > 0)
    out += "/" + human_count(summary.wanted_steps);  // another program does not say
  if (run.view.state == RunState::running && summary.step_us > 0) {
    out += "   " +
           human_seconds(static_cast<double>(summary.wanted_steps - summary.steps) * summary.step_us * 1e-6) +
           " left";
  }
  double peak_bytes = static_cast<double>(summary.peak_bytes);  // of the end, where there is one
  if (peak_bytes == 0 && run.detail) {
    if (const CurveRef memory = run.detail->series.find("train/peak_bytes"))
      peak_bytes = memory.curve->y.back();
  }
  if (peak_bytes > 0) out += "   " + human_bytes(static_cast<std::uint64_t>(peak_bytes)) + " peak";
  return out;
}

int live_runs(const Data& data) {
  return static_cast<int>(std::ranges::count_if(
      data.feed.runs->runs, [](auto& run) { return run->view.state == RunState::running && !run->gone; }));
}

void centre_line(float height) { ImGui::SetCursorPosY((height - ImGui::GetFrameHeight()) / 2); }

/// The chosen run if it is live, else "".
std::string live_choice(const Data& data, const AppState& state) {
  const auto run = data.feed.runs->find(state.run);
  return run && run->view.state == RunState::running && !run->gone ? run->id : "";
}

/// The chosen run if it ended before it was done, and this program can run its lesson; else null.
std::shared_ptr<const RunEntry> ended_choice(const Data& data, const AppState& state) {
  const auto run = data.feed.runs->find(state.run);
  if (!run || run->gone || run->foreign || !run->view.is_measured_here()) return nullptr;
  const RunState how = run->view.state;
  const bool ended = how == RunState::stopped || how == RunState::failed || how == RunState::died;
  const LessonCard* const card = data.project.find(run->view.lesson);
  return ended && card != nullptr && card->cannot_run.empty() ? run : nullptr;
}

/// All three always, each in its place: a double click on Run must not stop what it started.
void draw_run_buttons(Ui& ui, const Data& data, AppState& state, const LessonCard* card, Requests& ask) {
  const bool live = data.starting || !live_choice(data, state).empty();
  const bool can = card != nullptr && card->cannot_run.empty() && state.form().problem.empty();
  if (ui.button("Run", ButtonKind::primary, can && !live)) ask.start = request_of(state.form());
  ui.tip(live                        ? "A run goes on"
         : can                       ? command_text(request_of(state.form())) + "  (Space)"
         : card == nullptr           ? "Choose a lesson"
         : !card->cannot_run.empty() ? card->cannot_run
                                     : state.form().problem);
  ImGui::SameLine(0, ui.px(8));
  const auto ended = live ? nullptr : ended_choice(data, state);
  if (ui.button("Resume", ButtonKind::plain, ended != nullptr)) ask.resume = ended->id;
  ui.tip(ended ? "Go on from its newest checkpoint, in the same run" : "For a run that ended early");
  if (ui.beside(24).button("Stop run", ButtonKind::danger, live)) ask_to_stop(data, state, ask);
  ui.tip("Like Ctrl-C in a terminal (Space)");
}

}  // namespace

bool ask_to_stop(const Data& data, const AppState& state, Requests& ask) {
  const std::string live = live_choice(data, state);
  ask.stop_started = data.starting && (live.empty() || live == data.started_run);
  if (!ask.stop_started) ask.stop_run = live;
  return data.starting || !live.empty();
}

void draw_bar(Ui& ui, const Data& data, AppState& state, Requests& ask) {
  const float height = ui.px(kBarHeight);
  const LessonCard* const card = data.project.find(state.lesson);
  ImGuiCanvas canvas = ui.canvas();
  const ImVec2 at = ImGui::GetWindowPos();
  canvas.text(at.x + ui.px(16), at.y + (height - canvas.line_height(Face::title)) / 2, "Isobar", Face::title,
              ui.theme().text);
  ImGui::SetCursorPosX(ui.px(100));
  centre_line(height);
  draw_run_buttons(ui, data, state, card, ask);
  ImGui::AlignTextToFramePadding();
  const float width = ImGui::GetWindowWidth();
  if (card != nullptr) {
    ImGui::SameLine(0, ui.px(20));
    const float room = width - ImGui::GetCursorPosX() - ui.px(250);
    ui.text(canvas.fitted(card->number + "  " + card->info.title, Face::text, std::max(ui.px(80), room)),
            Face::text, ui.theme().dim);
  }
  const std::string running = fmt::format("{} run{} live", live_runs(data), live_runs(data) == 1 ? "" : "s");
  const float right = canvas.text_width(running, Face::small) + ui.px(150);
  ui.at_x(std::max(ImGui::GetCursorPosX(), width - right))
      .framed()
      .text(running, Face::small,
            live_runs(data) > 0 ? readable(ui.theme().accent, ui.theme().ground, 4.5) : ui.theme().dim);
  if (ui.at_x(width - ui.px(124)).button(state.settings.dark ? "Light" : "Dark", ButtonKind::quiet))
    ask.toggle_theme = true;
  ui.tip("Dark or light (D)");
  if (ui.beside(4).button("?", ButtonKind::quiet)) ask.help = true;
  ui.tip("Keys (?)");
}

void draw_console(Ui& ui, const Data& data, AppState& state) {
  const auto& lines = data.feed.console;
  const bool open = state.settings.console_height > 0;
  const float bar = ui.px(kConsoleBar);
  const Area place = ui.area("console", {ImGui::GetContentRegionAvail().x, bar});
  const ImVec2 at = least_of(place.box);
  const float width = place.box.width();
  if (place.clicked) state.settings.console_height = open ? 0 : 220;
  ui.tip(open ? "Fold the console (C)" : "Show what the run says (C)");
  ImGuiCanvas canvas = ui.canvas();
  const Theme& theme = ui.theme();
  if (place.hovered) canvas.fill(place.box, theme.hover);
  const float y = at.y + (bar - canvas.line_height(Face::small)) / 2;
  const auto run = data.feed.runs->find(state.run);
  const std::string status = run ? status_text(*run) : "";
  const float status_width = canvas.text_width(status, Face::small);
  paint_chevron(canvas, {at.x + ui.px(14), at.y + bar / 2}, ui.px(4), open ? Way::down : Way::up, theme.dim,
                ui.px(1.5F));
  const std::string last =
      lines && !lines->empty() ? lines->back() : "The console is empty: it shows what a run says.";
  paint_fitted(canvas, at.x + ui.px(28), y, width - status_width - ui.px(70), open ? "Console" : last,
               open ? Face::small : Face::mono_small, theme.dim);
  canvas.text(at.x + width - ui.px(14), y, status, Face::small, theme.dim, 1);
  if (!open) return;
  ImGui::BeginChild("console lines", {0, 0}, false, ImGuiWindowFlags_HorizontalScrollbar);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {ui.px(8), ui.px(3)});
  if (lines) {
    ImGui::PushFont(ui.fonts().of(Face::mono_small));
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(lines->size()));
    while (clipper.Step()) {
      for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
        ImGui::SetCursorPosX(ui.px(14));
        const std::string& line = (*lines)[static_cast<std::size_t>(i)];
        const bool wrong = line.find("error:") != std::string::npos;
        ui.text(line, Face::mono_small, wrong ? theme.bad : theme.text);
        ui.readable(line, Face::mono_small);
      }
    }
    ImGui::PopFont();
  }
  ImGui::PopStyleVar();
  const float bottom = ImGui::GetCursorPosY();
  if (bottom != state.console_bottom) ui.ask_frame();  // ImGui scrolls in the frame after this one
  state.console_bottom = bottom;
  if (ImGui::GetScrollY() >= ImGui::GetScrollMaxY() - ui.px(4) || ImGui::IsWindowAppearing())
    ImGui::SetScrollHereY(1);
  ImGui::EndChild();
}

void draw_help(Ui& ui, AppState& state) {
  if (!state.help) return;
  ImGui::OpenPopup("Keys and mouse");
  const ImVec2 screen = ImGui::GetIO().DisplaySize;
  ImGui::SetNextWindowPos({screen.x / 2, screen.y / 2}, ImGuiCond_Always, {0.5F, 0.5F});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {ui.px(24), ui.px(20)});
  if (ImGui::BeginPopupModal(
          "Keys and mouse", nullptr,
          ImGuiWindowFlags_NoTitleBar | ImGuiWindowFlags_AlwaysAutoResize | ImGuiWindowFlags_NoMove)) {
    ui.text("Keys and mouse", Face::title);
    ui.gap(4);
    for (const HelpLine& line : kHelp) {
      ui.text(line.keys, Face::mono_small, ui.theme().dim);
      ui.at_x(ui.px(220)).text(line.words, Face::text);
    }
    ui.gap(6);
    const bool escape = ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_Escape));
    if (ui.button("Close", ButtonKind::primary) || escape) {
      state.help = false;
      ImGui::CloseCurrentPopup();
    }
    ImGui::EndPopup();
  }
  ImGui::PopStyleVar();
}

void draw_toast(Ui& ui, AppState& state, Requests& ask) {
  if (state.toast.empty() || state.now_s > state.toast_until_s) return;
  const ImVec2 screen = ImGui::GetIO().DisplaySize;
  ImGui::SetNextWindowPos({screen.x - ui.px(20), screen.y - ui.px(48)}, ImGuiCond_Always, {1, 1});
  ImGui::SetNextWindowSizeConstraints({ui.px(120), 0}, {ui.px(520), screen.y});
  ImGui::PushStyleColor(ImGuiCol_WindowBg, ui.theme().raised);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, ui.px(6));
  const bool quiet = state.toast_action.empty();
  const ImGuiWindowFlags flags = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_AlwaysAutoResize |
                                 ImGuiWindowFlags_NoNav | ImGuiWindowFlags_NoFocusOnAppearing |
                                 (quiet ? ImGuiWindowFlags_NoInputs : 0);
  if (ImGui::Begin("message", nullptr, flags)) {
    ImGui::AlignTextToFramePadding();
    ImGui::PushTextWrapPos(ui.px(quiet ? 490 : 400));
    ui.text(state.toast, Face::text);
    ImGui::PopTextWrapPos();
    if (!quiet) {
      if (ui.beside(16).button(state.toast_action, ButtonKind::primary, true,
                               "message " + state.toast_action)) {
        ask = std::move(state.toast_ask);
        state.toast.clear();
      }
    }
  }
  ImGui::End();
  ImGui::PopStyleVar();
  ImGui::PopStyleColor();
}

}  // namespace isobar
