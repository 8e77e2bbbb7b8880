#include "tab/input.h"

#include <imgui.h>

#include <algorithm>
#include <cfloat>

#include "tab/keys.h"

namespace isobar {
namespace {

constexpr std::size_t kMostWaiting = 1000;

/// The mouse is at the same place, with the same keys held.
bool same_hand(const TabMessage& a, const TabMessage& b) {
  return a.x == b.x && a.y == b.y && a.shift == b.shift && a.control == b.control && a.alt == b.alt;
}

/// A key whose text, which follows, belongs to its press. Of others it comes after what they do.
bool types(const TabMessage& key) { return key.code >= ' ' && key.code < 256 && !key.control && !key.alt; }

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
  return buttons_ != 0 || std::any_of(waiting_.begin(), waiting_.end(),
                                      [](auto& one) { return one.says == TabSays::button && one.down; });
}

/// ImGui sees a frame's input at once: where the mouse is at its end, what is down then, all text before all
/// keys. So what depends on an order waits.
bool TabInput::fits(const TabMessage& next) const {
  const bool presses_key = next.says == TabSays::key && next.down;
  if (presses_key &&
      std::find(released_keys_.begin(), released_keys_.end(), next.code) != released_keys_.end())
    return false;
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

}  // namespace isobar
