#include "tab/keys.h"

#include <imgui.h>

#include <algorithm>
#include <iterator>

namespace isobar {
namespace {

#if IMGUI_VERSION_NUM >= 18900
constexpr ImGuiKey kPadEnter = ImGuiKey_KeypadEnter;
#else
constexpr ImGuiKey kPadEnter = ImGuiKey_KeyPadEnter;
#endif

struct Key {
  ImGuiKey key;
  int code;
};

constexpr Key kKeys[] = {{ImGuiKey_Tab, 258},      {ImGuiKey_LeftArrow, 263}, {ImGuiKey_RightArrow, 262},
                         {ImGuiKey_UpArrow, 265},  {ImGuiKey_DownArrow, 264}, {ImGuiKey_PageUp, 266},
                         {ImGuiKey_PageDown, 267}, {ImGuiKey_Home, 268},      {ImGuiKey_End, 269},
                         {ImGuiKey_Insert, 260},   {ImGuiKey_Delete, 261},    {ImGuiKey_Backspace, 259},
                         {ImGuiKey_Space, 32},     {ImGuiKey_Enter, 257},     {ImGuiKey_Escape, 256},
                         {kPadEnter, 335},         {ImGuiKey_A, 'A'},         {ImGuiKey_C, 'C'},
                         {ImGuiKey_V, 'V'},        {ImGuiKey_X, 'X'},         {ImGuiKey_Y, 'Y'},
                         {ImGuiKey_Z, 'Z'}};

}  // namespace

#if IMGUI_VERSION_NUM >= 18900
// ImGui 1.87 turned the arrays that a backend filled into a queue of events.
void map_keys() { ImGui::GetIO().ConfigInputTrickleEventQueue = false; }
void place_mouse(float x, float y) { ImGui::GetIO().AddMousePosEvent(x, y); }
void press_button(int button, bool down) { ImGui::GetIO().AddMouseButtonEvent(button, down); }
void turn_wheel(float across, float down) { ImGui::GetIO().AddMouseWheelEvent(across, down); }
void hold_modifiers(bool control, bool shift, bool alt) {
  ImGui::GetIO().AddKeyEvent(ImGuiMod_Ctrl, control);
  ImGui::GetIO().AddKeyEvent(ImGuiMod_Shift, shift);
  ImGui::GetIO().AddKeyEvent(ImGuiMod_Alt, alt);
}
void press_key(int code, bool down) {
  ImGuiKey key = ImGuiKey_None;  // it numbers letters, digits and F keys one after the other
  if (code >= 'A' && code <= 'Z') key = static_cast<ImGuiKey>(ImGuiKey_A + code - 'A');
  if (code >= '0' && code <= '9') key = static_cast<ImGuiKey>(ImGuiKey_0 + code - '0');
  if (code >= 290 && code <= 301) key = static_cast<ImGuiKey>(ImGuiKey_F1 + code - 290);
  if (code == '=') key = ImGuiKey_Equal;
  if (code == '-') key = ImGuiKey_Minus;
  if (code == '/') key = ImGuiKey_Slash;
  const auto* const at =
      std::find_if(std::begin(kKeys), std::end(kKeys), [&](auto& one) { return one.code == code; });
  if (key == ImGuiKey_None && at != std::end(kKeys)) key = at->key;
  if (key == ImGuiKey_None) return;
  ImGui::GetIO().AddKeyEvent(key, down);
  ImGui::GetIO().SetKeyEventNativeData(key, code, 0, code);
}
void release_keys() { ImGui::GetIO().ClearInputKeys(); }
#else
void map_keys() {
  for (const auto& [key, code] : kKeys) ImGui::GetIO().KeyMap[key] = code;
}
void place_mouse(float x, float y) { ImGui::GetIO().MousePos = {x, y}; }
void press_button(int button, bool down) { ImGui::GetIO().MouseDown[button] = down; }
void turn_wheel(float across, float down) {
  ImGui::GetIO().MouseWheelH += across;
  ImGui::GetIO().MouseWheel += down;
}
void hold_modifiers(bool control, bool shift, bool alt) {
  ImGuiIO& io = ImGui::GetIO();
  io.KeyCtrl = control;
  io.KeyShift = shift;
  io.KeyAlt = alt;
}
void press_key(int code, bool down) {
  if (code > 0 && code < 512) ImGui::GetIO().KeysDown[code] = down;
}
void release_keys() {
  std::fill(std::begin(ImGui::GetIO().KeysDown), std::end(ImGui::GetIO().KeysDown), false);
  hold_modifiers(false, false, false);
}
#endif

}  // namespace isobar
