// Where things are in the window, and which keys work everywhere.
#include <fmt/format.h>

#include <algorithm>

#include "app.h"
#include "panels/parts.h"
#include "panels/views.h"

namespace isobar {
namespace {

constexpr float kNarrow = 1100;  // below it the right column becomes tabs of the centre
constexpr double kLeastSide = 260, kMostSide = 900;
constexpr ImGuiWindowFlags kPadded = ImGuiWindowFlags_AlwaysUseWindowPadding;
constexpr ImGuiWindowFlags kFixed = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                                    ImGuiWindowFlags_NoSavedSettings |
                                    ImGuiWindowFlags_NoBringToFrontOnFocus | ImGuiWindowFlags_NoNavFocus;

/// As it was dragged; before that, as much as a page is read well in.
double side_width_of(const WindowSettings& settings, double window) {
  if (settings.right_width > 0) return std::clamp(settings.right_width, kLeastSide, kMostSide);
  return std::clamp(0.27 * window, 360.0, 620.0);
}

}  // namespace

void App::splitter(const char* name, double& size, float sign) {
  ImGui::SameLine(0, 0);
  const Area place = ui_.area(name, {ui_.px(8), ImGui::GetContentRegionAvail().y});
  if (place.hovered || place.active) ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeEW);
  if (place.active) size += static_cast<double>(sign * ImGui::GetIO().MouseDelta.x / ui_.fonts().scale);
  ImGui::SameLine(0, 0);
}

void App::draw_left(const Data& data, Requests& ask) {
  ImGui::BeginChild("left", {ui_.px(static_cast<float>(state_.settings.left_width)), 0}, false,
                    ImGuiWindowFlags_NoScrollbar);
  const float room = ImGui::GetContentRegionAvail().y;
  const float ladder = std::min(
      room * 0.5F, ui_.px(42 + 84 * static_cast<float>(std::max<std::size_t>(1, project_.lessons.size()))));
  ImGui::BeginChild("ladder", {0, ladder}, true, kPadded);
  draw_ladder(ui_, data, state_, ask);
  ImGui::EndChild();
  ui_.gap(0);
  ImGui::BeginChild("runs", {0, 0}, true, kPadded);
  draw_runs(ui_, data, state_, ask);
  ImGui::EndChild();
  ImGui::EndChild();
}

void App::draw_view(const Data& data, View view, Requests& ask) {
  static constexpr DrawPanel* kDraws[kViews] = {
      draw_watch, draw_scene,  draw_compare, draw_playground, draw_timeline,    draw_pipeline,
      draw_mesh,  draw_memory, draw_maps,    draw_code,       draw_lesson_page, draw_run_form};
  kDraws[static_cast<std::size_t>(view)](ui_, data, state_, ask);
}

void App::draw_centre(const Data& data, float width, Requests& ask) {
  const bool narrow = ImGui::GetIO().DisplaySize.x < ui_.px(kNarrow);
  if (!narrow && (state_.view == View::lesson || state_.view == View::run)) {
    state_.side = state_.view;
    state_.view = View::watch;
  }
  ImGui::PushStyleColor(ImGuiCol_ChildBg, ui_.theme().ground);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {ui_.px(4), 0});
  ImGui::BeginChild("centre", {width, 0}, true, kPadded);
  ImGui::PopStyleVar();
  ImGui::PopStyleColor();
  const LessonCard* const card = project_.find(state_.lesson);
  for (int i = 0; i < (narrow ? kViews : kViews - 2); ++i) {
    const auto view = static_cast<View>(i);
    if (card != nullptr && !suits(view, card->info) && state_.view != view) continue;
    if (i > 0) ImGui::SameLine(0, ui_.px(2));
    const std::string title = view == View::compare && !state_.compared.empty()
                                  ? fmt::format("Compare {}", state_.compared.size())
                                  : view_title(view, card == nullptr ? nullptr : &card->info);
    if (ui_.choice(title, state_.view == view)) state_.view = view;
  }
  ui_.gap(0);
  draw_view(data, state_.view, ask);
  ImGui::EndChild();
}

void App::draw_side(const Data& data, Requests& ask) {
  ImGui::BeginChild("side", {0, 0}, true, kPadded);
  if (ui_.choice("Lesson", state_.side == View::lesson)) state_.side = View::lesson;
  if (ui_.beside(2).choice("Settings", state_.side == View::run)) state_.side = View::run;
  ImGui::BeginChild(state_.side == View::run ? "run side" : "lesson side");
  draw_view(data, state_.side, ask);
  ImGui::EndChild();
  ImGui::EndChild();
}

void App::draw_all(const Data& data, Requests& ask) {
  const ImVec2 screen = ImGui::GetIO().DisplaySize;
  const float bar = ui_.px(kBarHeight);
  WindowSettings& settings = state_.settings;
  const float console = ui_.px(kConsoleBar + static_cast<float>(settings.console_height));
  const auto begin_strip = [&](const char* name, float top, float height) {
    ImGui::SetNextWindowPos({0, top});
    ImGui::SetNextWindowSize({screen.x, height});
    ImGui::Begin(name, nullptr, kFixed);
  };
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
  begin_strip("bar", 0, bar);
  draw_bar(ui_, data, state_, ask);
  ImGui::End();
  const float body = std::max(ui_.px(80), screen.y - bar - console);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {ui_.px(8), 0});
  begin_strip("body", bar, body);
  ImGui::PopStyleVar();
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {ui_.px(12), ui_.px(10)});
  const bool narrow = screen.x < ui_.px(kNarrow);
  draw_left(data, ask);
  splitter("left splitter", settings.left_width, 1);
  double side_width = side_width_of(settings, screen.x / ui_.fonts().scale);
  const float side = narrow ? 0 : ui_.px(static_cast<float>(side_width) + 8);
  draw_centre(data, std::max(ui_.px(200), ImGui::GetContentRegionAvail().x - side), ask);
  if (!narrow) {
    const double before = side_width;
    splitter("right splitter", side_width, -1);
    if (side_width != before) settings.right_width = std::clamp(side_width, kLeastSide, kMostSide);
    draw_side(data, ask);
  }
  ImGui::PopStyleVar();
  ImGui::End();
  begin_strip("console window", bar + body, console);
  ImGui::PushStyleColor(ImGuiCol_ChildBg, ui_.theme().ground);
  draw_console(ui_, data, state_);
  ImGui::PopStyleColor();
  ImGui::End();
  ImGui::PopStyleVar();
  settings.left_width = std::clamp(settings.left_width, 200.0, 600.0);
  draw_help(ui_, state_);
  draw_toast(ui_, state_, ask);
}

/// To the next view that has something to show, or to the one before.
void App::turn_view(int direction) {
  const int views = ImGui::GetIO().DisplaySize.x < ui_.px(kNarrow) ? kViews : kViews - 2;
  const LessonCard* const card = project_.find(state_.lesson);
  do {
    state_.view = static_cast<View>((static_cast<int>(state_.view) + direction + views) % views);
  } while (card != nullptr && !suits(state_.view, card->info));
}

void App::take_keys(const Data& data, Requests& ask) {
  ImGuiIO& io = ImGui::GetIO();
  if (!io.WantTextInput) {
    for (const ImWchar letter : io.InputQueueCharacters) {
      if (letter == '?') ask.help = true;
      if (letter == '/') state_.focus_filter = true;
    }
    if (state_.focus_filter) {
      io.InputQueueCharacters.resize(0);
      ui_.ignore_hotkeys();
    }
  }
  if (ui_.pressed(Hotkey::f1)) ask.help = true;
  if (state_.help) return;
  if (io.KeyCtrl) {
    if (ui_.pressed(Hotkey::equal)) ask.zoom_by = 1.1;
    if (ui_.pressed(Hotkey::minus)) ask.zoom_by = 1 / 1.1;
    if (ui_.pressed(Hotkey::zero)) ask.zoom_by = 1 / state_.settings.zoom;
    if (ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_Tab), false)) turn_view(1);
    return;
  }
  if (io.KeyAlt || io.KeySuper) return;
  if (ui_.pressed('V')) turn_view(io.KeyShift ? -1 : 1);  // Ctrl Tab is the browser's where it has the window
  if (ui_.pressed('D')) ask.toggle_theme = true;
  if (ui_.pressed('C')) state_.settings.console_height = state_.settings.console_height > 0 ? 0 : 220;
  // A number that is meant for a field does not choose a lesson, though the field was just left.
  for (const LessonCard& card : project_.lessons) {
    const std::string& name = card.info.name;
    if (!ui_.was_at_field() && name.starts_with("0") && name.size() > 1 && ui_.pressed(name[1]))
      ask.show_lesson = name;
  }
  if (ui_.pressed('G') && !state_.run.empty()) {
    state_.compared.insert(state_.run);
    const LessonCard* const first = find_where(project_.lessons, [](const LessonCard& card) {
      return card.info.previous.empty() && !card.info.stands_alone;
    });
    for (const auto& run : data.feed.runs->runs) {
      if (first == nullptr || run->view.lesson != first->info.name || run->view.state != RunState::done ||
          run->id == state_.run)
        continue;
      state_.compared.insert(run->id);
      break;
    }
    ask.view = View::compare;
  }
  // A focus that is shown takes Space for itself.
  if (ui_.pressed(Hotkey::space) && !io.NavVisible) {
    if (ask_to_stop(data, state_, ask)) {
      // what runs is being stopped
    } else if (state_.form().problem.empty()) {
      ask.start = request_of(state_.form());
    } else {
      ask.say = state_.form().problem;
    }
  }
}

}  // namespace isobar
