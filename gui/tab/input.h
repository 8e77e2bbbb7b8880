#pragma once
// What a tab's mouse and keys did, handed to ImGui frame by frame: what happened between two frames is not
// lost.
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

  /// Before ImGui::NewFrame: as much as ImGui can tell apart in one frame; the rest waits for the next.
  void apply();
  /// What this frame's Ctrl+V is to find in the clipboard; "" = as it was.
  const std::string& pasted() const { return pasted_; }

 private:
  bool fits(const TabMessage& next) const;
  void apply_one(const TabMessage& message);
  void let_go();

  std::deque<TabMessage> waiting_;
  unsigned buttons_ = 0;  ///< that are held
  // Of this frame.
  std::optional<TabMessage> last_;
  unsigned changed_buttons_ = 0;
  std::vector<int> released_keys_;
  std::string pasted_;
};

}  // namespace isobar
