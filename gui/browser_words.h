#pragma once
// What a page holds beside its picture: title, summary, and the words that can be selected.
#include <map>

#include "state/summary.h"
#include "tab/tabs.h"
#include "widgets/ui.h"

namespace isobar {

class TabWords {
 public:
  /// Else `take` has no use for any words.
  bool is_due(std::int64_t now_us) const { return pace_.is_due(now_us); }
  void take(PageWords now, std::int64_t now_us);
  /// Of the frame that was drawn last.
  void take(const std::vector<ReadableRow>& rows);

  void greet(TabId tab) { told_[tab] = {}; }
  void forget(TabId tab) { told_.erase(tab); }
  /// To each tab that was greeted, what it was not sent yet; words that can be selected only where a frame
  /// may go too, so that none heap up before a slow tab.
  void deliver(const Tabs& tabs, const std::function<void(TabId, Tabs::Message)>& send);

 private:
  struct Told {
    Tabs::Message words, texts;
  };
  PageWordsPace pace_;
  std::vector<ReadableRow> rows_;
  Tabs::Message words_, texts_;
  std::map<TabId, Told> told_;
};

}  // namespace isobar
