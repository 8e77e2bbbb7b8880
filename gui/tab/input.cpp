#include "tab/input.h"

#include <imgui.h>

#include <algorithm>
#include <cfloat>
#include <iterator>

#include "core/find.h"

namespace isobar {
namespace {

constexpr std::size_t kMostWaiting = 1000;

/// The mouse is at the same place, with the same keys held.
bool same_hand(const TabMessage& a, const TabMessage& b) {
  return a.x == b.x && a.y == b.y && a.shift == b.shift && a.control == b.control && a.alt == b.alt;
}

/// A key whose text, which follows, belongs to its press. Of others it comes after what they do.
bool types(const TabMessage& key) { return key.code >= ' ' && key.code < 256 && !key.control && !key.alt; }

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

bool TabInput::add(const TabMessage& message) {
  if (message.says == TabSays::move && !waiting_.empty() && waiting_.back().says == TabSays::move) {
    waiting_.back() = message;
    return true;
  }
  if (waiting_.size() >= kMostWaiting) return false;
  waiting_.push_back(message);
  if (message.says == TabSays::paste) {  // the keys that make ImGui ask for it
    for (const bool down : {true, false})
      waiting_.push_back({.says = TabSays::key, .code = 'V', .down = down, .control = down});
  }
  return true;
}

void TabInput::release_all() {
  waiting_.clear();
  let_go();
}

void TabInput::let_go() {
  for (int button = 0; button < 5; ++button) press_button(button, false);
  release_keys();
  buttons_ = 0;
}

bool TabInput::is_button_down() const {
  return buttons_ != 0 ||
         std::ranges::any_of(waiting_, [](auto& one) { return one.says == TabSays::button && one.down; });
}

/// ImGui sees a frame's input at once: where the mouse is at its end, what is down then, all text before all
/// keys. So what depends on an order waits.
bool TabInput::fits(const TabMessage& next) const {
  const bool presses_key = next.says == TabSays::key && next.down;
  if (presses_key && holds(released_keys_, next.code)) return false;
  if (!last_) return true;
  switch (last_->says) {
    case TabSays::key:
      return !last_->down || (next.says == TabSays::text && types(*last_));
    case TabSays::text:
      return next.says == TabSays::text;
    case TabSays::button:
      return next.says == TabSays::button && same_hand(*last_, next) &&
             (changed_buttons_ >> next.code & 1U) == 0;
    case TabSays::wheel:
      return next.says == TabSays::wheel && same_hand(*last_, next);
    case TabSays::blur:
      return false;
    default:
      return true;
  }
}

void TabInput::apply() {
  last_.reset();
  changed_buttons_ = 0;
  released_keys_.clear();
  pasted_.clear();
  while (!waiting_.empty() && fits(waiting_.front())) {
    last_ = std::move(waiting_.front());
    waiting_.pop_front();
    apply_one(*last_);
  }
}

void TabInput::apply_one(const TabMessage& message) {
  switch (message.says) {
    case TabSays::move:
      return place_mouse(message.x, message.y);
    case TabSays::leave:
      return place_mouse(-FLT_MAX, -FLT_MAX);
    case TabSays::button:
      place_mouse(message.x, message.y);
      hold_modifiers(message.control, message.shift, message.alt);
      press_button(message.code, message.down);
      changed_buttons_ |= 1U << message.code;
      buttons_ = message.down ? buttons_ | 1U << message.code : buttons_ & ~(1U << message.code);
      return;
    case TabSays::wheel:
      place_mouse(message.x, message.y);
      hold_modifiers(message.control, message.shift, message.alt);
      return turn_wheel(message.wheel_x, message.wheel_y);
    case TabSays::key:
      hold_modifiers(message.control, message.shift, message.alt);
      if (!message.down) released_keys_.push_back(message.code);
      return press_key(message.code, message.down);
    case TabSays::text:
      return ImGui::GetIO().AddInputCharactersUTF8(message.words.c_str());
    case TabSays::paste:
      pasted_ = message.words;
      return;
    case TabSays::blur:
      return let_go();
    default:
      return;
  }
}

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
  const Key* const known = find_by(kKeys, &Key::code, code);
  if (key == ImGuiKey_None && known != nullptr) key = known->key;
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
