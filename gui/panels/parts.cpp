#include "panels/parts.h"

namespace isobar {

bool begin_run_view(Ui& ui, const RunEntry* run, const char* name, const std::string& title) {
  const bool chosen = run != nullptr, known = chosen && run->detail;
  if (!known) {
    ui.nothing(chosen ? "Reading the run ..." : "No run is chosen",
               chosen ? "This takes a moment." : "Choose one on the left, or press Space for a new one.");
    return false;
  }
  ui.text(title.empty() ? title_of(*run) : title, Face::title);
  ImGui::PushStyleColor(ImGuiCol_ChildBg, ui.theme().ground);
  ImGui::BeginChild(name);
  ImGui::PopStyleColor();
  return true;
}

Box paint_here(Ui& ui, const std::string& name, float width, const decltype(Drawing::body)& paint) {
  if (width == 0) width = ImGui::GetContentRegionAvail().x - ui.px(8);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGuiCanvas canvas = ui.canvas();
  Sketch sketch(canvas, ui.theme());
  const float end = paint(sketch, point_of(at), width);
  ui.area(name, {width, end - at.y});
  return {at.x, at.y, at.x + width, end};
}

void draw_in_columns(Ui& ui, std::size_t count, float below,
                     const std::function<void(std::size_t i, float width)>& draw) {
  constexpr float kBesideFrom = 860;
  const float room = ImGui::GetContentRegionAvail().x - ui.px(8), gap = ui.px(28);
  const bool beside = count > 1 && room >= ui.px(kBesideFrom);
  for (std::size_t i = 0; i < count; ++i) {
    if (beside && i % 2 == 1) ImGui::SameLine(0, gap);
    draw(i, beside ? (room - gap) / 2 : room);
    if (below > 0 && (!beside || i % 2 == 1)) ui.gap(below);
  }
}

void show_drawing(Ui& ui, const std::string& name, const Drawing& drawing,
                  const std::function<std::string()>& csv, Requests& ask) {
  ImGuiCanvas canvas = ui.canvas();
  const Box box = ui.space(drawing_height(canvas, drawing, ImGui::GetContentRegionAvail().x), name);
  const auto paint = [&](Canvas& onto, const Box& in) { paint_drawing(onto, ui.theme(), in, drawing); };
  paint(canvas, box);
  save_drawing(ui, box, name, csv, paint, ask);
}

void tip_at_mouse(Ui& ui, const std::string& words) {
  ImGui::PushTextWrapPos(ui.px(420));
  ImGui::SetTooltip("%s", words.c_str());
  ImGui::PopTextWrapPos();
}

}  // namespace isobar
