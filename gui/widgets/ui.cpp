#include "widgets/ui.h"

#include <imgui_internal.h>
#include <imgui_stdlib.h>

#include <algorithm>

#include "text/line_break.h"

namespace isobar {
namespace {

/// ImGui ends a label at "##" and takes the rest as its id; words of foreign files must not.
std::string label_of(std::string_view words) {
  std::string out(words);
  for (std::size_t at = out.find("##"); at != std::string::npos; at = out.find("##", at))
    out.replace(at, 2, "# ");
  return out;
}

struct ButtonColours {
  Colour ground, hover, text;
};

ButtonColours colours_of(const Theme& t, ButtonKind kind, bool enabled) {
  const Colour off = kind == ButtonKind::quiet ? with_alpha(t.panel, 0) : t.raised;
  if (!enabled) return {off, off, mixed(t.panel, t.dim, 0.6F)};
  switch (kind) {
    case ButtonKind::primary: {
      const Colour blue = rgb(0x2563eb);
      return {blue, mixed(blue, IM_COL32_WHITE, 0.12F), t.on_accent};
    }
    case ButtonKind::danger: {
      const Colour red = rgb(0xc22f35);
      return {red, mixed(red, IM_COL32_WHITE, 0.12F), t.on_accent};
    }
    case ButtonKind::quiet:
      return {with_alpha(t.panel, 0), t.hover, t.dim};
    case ButtonKind::plain:
      break;
  }
  return {t.raised, t.hover, t.text};
}

}  // namespace

void Ui::set_look(bool dark, float scale) {
  theme_ = &theme_of(dark);
  if (fonts_.of(Face::text) == nullptr || fonts_.scale != scale) fonts_ = build_fonts(scale);
  apply_style(*theme_, scale);
  ImGui::GetIO().FontDefault = fonts_.of(Face::text);
}

float Ui::ease() const {
  constexpr float kEase_s = 0.15F;
  return slow_ ? 1 : std::clamp(2.5F * ImGui::GetIO().DeltaTime / kEase_s, 0.0F, 1.0F);
}

/// ImGui 1.86 has its own ways of Tab (inputs only) and Ctrl+Tab (its windows); ours take their place.
void Ui::silence_imgui_keys() {
  ImGuiContext& g = *ImGui::GetCurrentContext();
  if (g.NavTabbingDir != 0 || g.NavTabbingCounter != 0) {
    g.NavTabbingDir = g.NavTabbingCounter = 0;
    ImGui::NavMoveRequestCancel();
  }
  g.NavWindowingTarget = g.NavWindowingTargetAnim = nullptr;
}

void Ui::begin_frame() {
  silence_imgui_keys();
  if (deaf_frames_ > 0) --deaf_frames_;
  items_.clear();
  rows_.clear();
  rows_bytes_ = 0;
  moving_ = false;
  was_at_field_ = at_field_;
  at_field_ = false;
}

void Ui::end_frame() {
  const ImGuiIO& io = ImGui::GetIO();
  if (ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup)) rows_.clear();  // it lies over them
  const ImGuiContext& g = *ImGui::GetCurrentContext();
  for (const UiItem& item : items_) {
    if (item.id == 0 || item.id != g.NavId || g.NavDisableHighlight) continue;
    const float out = px(2);
    ImGui::GetForegroundDrawList()->AddRect({item.box.x0 - out, item.box.y0 - out},
                                            {item.box.x1 + out, item.box.y1 + out}, theme().accent, px(5), 0,
                                            px(2));
    break;
  }
  if (ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_Tab)) && !io.KeyCtrl) focus_next(io.KeyShift ? -1 : 1);
}

bool Ui::has_input_left() {
#if IMGUI_VERSION_NUM >= 18700
  return !ImGui::GetCurrentContext()->InputEventsQueue.empty();
#else
  return false;
#endif
}

void Ui::focus_here() {
  ImGui::SetKeyboardFocusHere();
#if IMGUI_VERSION_NUM >= 19010 && IMGUI_VERSION_NUM < 19020
  // 1.90.1 looks for it in the scope that had the keyboard before (imgui issue 7226).
  ImGuiContext& g = *ImGui::GetCurrentContext();
  g.NavFocusScopeId = g.CurrentFocusScopeId;
#endif
}

void Ui::focus_next(int direction) {
  ImGuiContext& g = *ImGui::GetCurrentContext();
  std::vector<const UiItem*> stops;
  for (const UiItem& item : items_) {
    if (item.id != 0 && item.window != nullptr) stops.push_back(&item);
  }
  if (stops.empty()) return;
  const auto found = std::ranges::find_if(stops, [&](auto* item) { return item->id == g.NavId; });
  const int count = static_cast<int>(stops.size());
  const int at = found == stops.end() || g.NavDisableHighlight ? (direction > 0 ? -1 : 0)
                                                               : static_cast<int>(found - stops.begin());
  const UiItem& next = *stops[static_cast<std::size_t>(((at + direction) % count + count) % count)];
  ImGui::ClearActiveID();
  ImGui::FocusWindow(next.window);
  const ImVec2 origin = next.window->Pos;
  ImGui::SetNavID(
      next.id, ImGuiNavLayer_Main, 0,
      ImRect(next.box.x0 - origin.x, next.box.y0 - origin.y, next.box.x1 - origin.x, next.box.y1 - origin.y));
  g.NavDisableHighlight = false;
  g.NavDisableMouseHover = true;
  ask_frame();
}

void Ui::record(std::string_view name) {
  const ImVec2 least = ImGui::GetItemRectMin();
  const ImVec2 most = ImGui::GetItemRectMax();
  items_.push_back(
      {std::string(name), {least.x, least.y, most.x, most.y}, ImGui::GetItemID(), ImGui::GetCurrentWindow()});
}

void Ui::record(std::string_view name, const Box& box) {
  items_.push_back({std::string(name), box, 0, nullptr});
}

bool Ui::button(std::string_view label, ButtonKind kind, bool enabled, std::string_view name) {
  const std::string_view id = name.empty() ? label : name;
  const ButtonColours colours = colours_of(theme(), kind, enabled);
  ImGui::PushStyleColor(ImGuiCol_Button, colours.ground);
  ImGui::PushStyleColor(ImGuiCol_ButtonHovered, colours.hover);
  ImGui::PushStyleColor(ImGuiCol_ButtonActive, colours.hover);
  ImGui::PushStyleColor(ImGuiCol_Text, colours.text);
  ImGui::BeginDisabled(!enabled);
  ImGui::PushStyleVar(ImGuiStyleVar_DisabledAlpha, 1.0F);
  ImGui::PushID(id.data(), id.data() + id.size());
  const bool clicked = ImGui::Button(label_of(label).c_str());
  if (enabled) record(id);
  ImGui::PopID();
  ImGui::PopStyleVar();
  ImGui::EndDisabled();
  ImGui::PopStyleColor(4);
  return clicked && enabled;
}

Area Ui::area(std::string_view name, ImVec2 size) {
  size = {std::max(1.0F, size.x), std::max(1.0F, size.y)};
  const ImVec2 at = ImGui::GetCursorScreenPos();
  Area out{.box = {at.x, at.y, at.x + size.x, at.y + size.y}};
  out.clicked = named(name, 0, [&] { return ImGui::InvisibleButton("area", size); });
  out.hovered = ImGui::IsItemHovered();
  out.active = ImGui::IsItemActive();
  return out;
}

bool Ui::link(std::string_view label, std::string_view name) {
  ImGuiCanvas draw = canvas();
  const Area at = area(name, {draw.text_width(label, Face::small), draw.line_height(Face::small) + px(4)});
  draw.text(at.box.x0, at.box.y0 + px(2), label, Face::small, at.hovered ? theme().text : theme().accent);
  return at.clicked;
}

float Ui::button_width(std::string_view label) {
  return canvas().text_width(label, Face::text) + 2 * ImGui::GetStyle().FramePadding.x;
}

bool Ui::choice(std::string_view label, bool chosen) {
  ImGuiCanvas draw = canvas();
  const Area at = area(label, {draw.text_width(label, Face::text) + px(20), ImGui::GetFrameHeight()});
  const Box& box = at.box;
  if (at.hovered && !chosen) draw.fill(box, theme().hover, px(5));
  draw.text(box.x0 + px(10), box.y0 + (box.height() - draw.line_height(Face::text)) / 2, label,
            chosen ? Face::bold : Face::text, chosen ? theme().text : theme().dim);
  if (chosen) draw.fill({box.x0 + px(8), box.y1 - px(2), box.x1 - px(8), box.y1}, theme().accent, 1);
  return at.clicked;
}

bool Ui::named(std::string_view name, float width, const std::function<bool()>& draw) {
  ImGui::PushID(name.data(), name.data() + name.size());
  if (width != 0) ImGui::SetNextItemWidth(width);
  const bool changed = draw();
  record(name);
  ImGui::PopID();
  return changed;
}

bool Ui::checkbox(std::string_view name, bool* value, std::string_view label) {
  return named(name, 0,
               [&] { return ImGui::Checkbox(label.empty() ? "##box" : label_of(label).c_str(), value); });
}

bool Ui::input(std::string_view name, std::string& words, std::string_view hint, float width, bool good) {
  if (!good) {
    ImGui::PushStyleVar(ImGuiStyleVar_FrameBorderSize, px(1.5F));
    ImGui::PushStyleColor(ImGuiCol_Border, theme().bad);
  }
  const bool changed = named(
      name, width, [&] { return ImGui::InputTextWithHint("##input", std::string(hint).c_str(), &words); });
  if (!good) {
    ImGui::PopStyleColor();
    ImGui::PopStyleVar();
  }
  items_.back().words = words;
  if (ImGui::IsItemDeactivated() && ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_Escape)))
    ImGui::GetCurrentContext()->NavId = 0;  // Esc leaves the field for good
  at_field_ = at_field_ || ImGui::IsItemActive() || ImGui::IsItemFocused();
  return changed;
}

bool Ui::combo(std::string_view name, const std::vector<std::string>& options, std::string& chosen,
               float width) {
  bool changed = false;
  ImGui::PushID(name.data(), name.data() + name.size());
  ImGui::SetNextItemWidth(width);
  const bool open = ImGui::BeginCombo("##combo", chosen.c_str(), ImGuiComboFlags_HeightLarge);
  record(name);
  if (open) {
    for (std::size_t i = 0; i < options.size(); ++i) {
      ImGui::PushID(static_cast<int>(i));
      if (ImGui::Selectable("##option", options[i] == chosen)) {
        chosen = options[i];
        changed = true;
      }
      record(options[i]);
      ImGui::SameLine(0, 0);
      ImGui::TextUnformatted(options[i].c_str());
      ImGui::PopID();
    }
    ImGui::EndCombo();
  }
  ImGui::PopID();
  return changed;
}

bool Ui::slider(std::string_view name, double* value, double least, double most, float width) {
  return named(name, width, [&] {
    return ImGui::SliderScalar("##slider", ImGuiDataType_Double, value, &least, &most, "%.2f");
  });
}

bool Ui::scrubber(std::string_view name, int* place, int count, float width) {
  ImGui::BeginDisabled(count < 2);
  const bool changed = named(
      name, width, [&] { return ImGui::SliderInt("##scrubber", place, 0, std::max(1, count - 1), ""); });
  ImGui::EndDisabled();
  return changed;
}

bool Ui::notches(std::string_view name, int* at, int count, std::string_view words, float width) {
  std::string format;  // ImGui prints the place with it
  for (const char letter : words) format += letter == '%' ? std::string("%%") : std::string(1, letter);
  const bool changed = named(name, width, [&] {
    return ImGui::SliderInt("##notches", at, 0, count - 1, format.c_str(), ImGuiSliderFlags_NoInput);
  });
  *at = std::clamp(*at, 0, count - 1);
  return changed;
}

bool Ui::row(std::string_view name, bool chosen, float height, Box* box) {
#if IMGUI_VERSION_NUM >= 18970  // what lies on the row, such as its box, is asked for the mouse first
  ImGui::SetNextItemAllowOverlap();
  const Area at = area(name, {ImGui::GetContentRegionAvail().x, height});
#else
  const Area at = area(name, {ImGui::GetContentRegionAvail().x, height});
  ImGui::SetItemAllowOverlap();
#endif
  *box = at.box;
  if (chosen || at.hovered) canvas().fill(*box, chosen ? theme().selected : theme().hover, px(5));
  return at.clicked;
}

void Ui::text(std::string_view words, Face face, Colour colour) {
  ImGui::PushFont(fonts_.of(face));
  ImGui::PushStyleColor(ImGuiCol_Text, colour);
  ImGui::TextUnformatted(words.data(), words.data() + words.size());
  ImGui::PopStyleColor();
  ImGui::PopFont();
}

void Ui::fitted(std::string_view words, Face face, Colour colour, float less) {
  text(canvas().fitted(words, face, ImGui::GetContentRegionAvail().x - px(less)), face, colour);
}

/// ImGui itself breaks lines behind a point too, which tears numbers and names of files apart.
std::string Ui::lines_of(std::string_view words, Face face) {
  const float room = std::max(px(40), ImGui::GetContentRegionAvail().x);
  return in_lines(words, room, [&](std::string_view part) { return canvas().text_width(part, face); });
}

void Ui::wrapped(std::string_view words, Face face, Colour colour) {
  text(lines_of(words, face), face, colour);
}

Ui& Ui::beside(float gap) {
  ImGui::SameLine(0, gap < 0 ? -1 : px(gap));
  return *this;
}

Ui& Ui::at_x(float x) {
  ImGui::SameLine(x);
  return *this;
}

Ui& Ui::framed() {
  ImGui::AlignTextToFramePadding();
  return *this;
}

void Ui::label(std::string_view words, float gap) {
  framed().dim(words);
  beside(gap);
}

Box Ui::space(float height, std::string_view name) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const Box out = {at.x, at.y, at.x + ImGui::GetContentRegionAvail().x, at.y + height};
  ImGui::Dummy({out.width(), height});
  if (!name.empty()) record(name, out);
  return out;
}

Box Ui::panel(float height, std::string_view name) {
  const Box out = space(height, name);
  canvas().fill(out, theme().panel, px(6));
  return out;
}

bool Ui::empty_state(std::string_view title, std::string_view words, std::string_view action) {
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float width = std::min(room.x - px(24), px(460));
  const float left = ImGui::GetCursorPosX() + std::max(0.0F, (room.x - width) / 2);
  ImGui::SetCursorPosY(ImGui::GetCursorPosY() + std::max(0.0F, room.y * 0.32F));
  ImGui::SetCursorPosX(left);
  ImGui::BeginGroup();
  ImGui::PushTextWrapPos(ImGui::GetCursorPosX() + width);
  text(title, Face::title);
  gap(2);
  text(words, Face::text, theme().dim);
  ImGui::PopTextWrapPos();
  gap(4);
  const bool clicked = !action.empty() && button(action, ButtonKind::primary);
  ImGui::EndGroup();
  return clicked;
}

void Ui::tip(std::string_view words) {
  if (!ImGui::IsItemHovered(ImGuiHoveredFlags_AllowWhenDisabled)) return;
  const ImVec2 least = ImGui::GetItemRectMin();
  const ImVec2 most = ImGui::GetItemRectMax();
  const ImVec2 screen = ImGui::GetIO().DisplaySize;
  if (most.x - least.x < px(300) && most.y - least.y < px(40)) {  // a button: its neighbours stay free
    const bool right = least.x > screen.x / 2;
    const bool low = most.y > screen.y - px(120);
    ImGui::SetNextWindowPos({right ? most.x : least.x, low ? least.y - px(6) : most.y + px(6)},
                            ImGuiCond_Always, {right ? 1.0F : 0.0F, low ? 1.0F : 0.0F});
  }
  ImGui::BeginTooltip();
  ImGui::PushTextWrapPos(px(360));
  text(words, Face::small);
  ImGui::PopTextWrapPos();
  ImGui::EndTooltip();
}

bool Ui::pressed(int key) const {
  return deaf_frames_ == 0 && !ImGui::GetIO().WantTextInput &&
         ImGui::IsKeyPressed(static_cast<ImGuiKey>(key), false);
}

}  // namespace isobar
