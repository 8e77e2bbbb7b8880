#pragma once
// What a tab's mouse and keys did, handed to ImGui frame by frame: what happened between two frames is not
// lost. Keys are numbered as GLFW does.
#include <deque>
#include <optional>
#include <vector>

#include "tab/messages.h"

namespace isobar {

class TabInput {
 public:
  /// Moves between two other things are one. False = too much waits; the tab is mad.
  bool add(const TabMessage& message);
  /// Nothing is held any more and nothing waits, as when another tab takes over.
  void release_all();
  bool is_empty() const { return waiting_.empty(); }
  bool is_button_down() const;

  /// Before ImGui::NewFrame: as much as ImGui can take in one frame; the rest waits for the next.
  void apply();
  /// What this frame's Ctrl+V is to find in the clipboard; "" = as it was.
  const std::string& pasted() const { return pasted_; }

 private:
  bool fits(const TabMessage& next) const;
  void apply_one(const TabMessage& message);
  void let_go();

  std::deque<TabMessage> waiting_;
  unsigned buttons_ = 0;  ///< buttons that are held
  // Of this frame.
  std::optional<TabMessage> last_;
  unsigned changed_buttons_ = 0;
  std::vector<int> released_keys_;
  std::string pasted_;
};

/// Once for a context: which of ImGui's keys each number is.
void map_keys();
void place_mouse(float x, float y);
void press_button(int button, bool down);
void turn_wheel(float across, float down);
void hold_modifiers(bool control, bool shift, bool alt);
/// A key that the table does not have counts by its number alone, as our own hotkeys ask.
void press_key(int code, bool down);
void release_keys();

}  // namespace isobar
