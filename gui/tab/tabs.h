#pragma once
// Which tabs see the window, which of them leads, what each is due, and the pictures and words that they
// hold: without sockets, so that tests need none.
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tab/frame.h"
#include "tab/messages.h"
#include "widgets/ui.h"

namespace isobar {

struct TabLayout {
  int width = 1440;
  int height = 900;
  float scale = 1;
  bool operator==(const TabLayout&) const = default;
};

class Tabs {
 public:
  using Message = std::shared_ptr<const std::string>;

  void came(TabId tab) { tabs_[tab] = {}; }
  void left(TabId tab);
  /// False = it breaks the rules. What is input of the tab that leads is left to the caller.
  bool said(TabId tab, const TabMessage& message);
  std::vector<TabId> all() const;
  bool leads(TabId tab) const { return tab == leader_; }
  TabId leader() const { return leader_; }

  /// For the next frame: the size of the tab that leads, or as it was where none does. While a button is held
  /// nothing moves below the pointer.
  const TabLayout& next_layout(bool is_button_down);
  /// It is shown, and has drawn what it got.
  bool may_take(TabId tab) const;
  /// Somebody looks, and has drawn what it got.
  bool wants_frame() const;

  /// Sends to each tab what it is due: textures first, then what changed since the frame that it has. A tab
  /// that is hidden, or has two frames to draw yet, is left out: call this again with the newest frame when a
  /// tab has drawn.
  void deliver(const std::shared_ptr<const TabFrame>& frame, const std::map<std::uint32_t, Message>& textures,
               const std::function<void(TabId, Message)>& send);

 private:
  struct Tab {
    bool greeted = false, shown = false;
    TabLayout layout;
    std::shared_ptr<const TabFrame> has;  ///< what it was sent last; null = nothing, or all is wanted again
    std::uint32_t looked_at = 0;          ///< number of the newest frame that was compared with it
    std::deque<std::uint32_t> sent;       ///< frames that it has not drawn yet
    std::map<std::uint32_t, Message> textures;
    std::optional<std::int64_t> again_us;  ///< when it asked for all of it last
  };
  void lead(TabId tab);
  static void send_textures(TabId id, Tab& tab, const std::map<std::uint32_t, Message>& textures,
                            const std::function<void(TabId, Message)>& send);
  bool is_ready(const Tab& tab) const { return tab.greeted && tab.shown && tab.sent.size() < 2; }

  std::map<TabId, Tab> tabs_;
  TabId leader_ = 0;  ///< 0 = none
  TabLayout layout_, wanted_;
};

/// "1" and the deflated bytes, or null where nothing changed.
Tabs::Message frame_message(const TabFrame& frame, const TabFrame* base);
Tabs::Message texture_message(std::uint32_t number, int width, int height, bool letters,
                              std::string_view pixels);
Tabs::Message words_message(TabHears kind, std::string_view words);

class TabTextures : public KeptTextures {
 public:
  /// After the fonts were built: what all letters are drawn from.
  void set_atlas(ImFontAtlas& atlas);
  /// What a tab must have to draw: 0 is the atlas.
  const std::map<std::uint32_t, Tabs::Message>& messages() const { return messages_; }

 private:
  ImTextureID make(const Picture& picture) override;
  void drop(ImTextureID id) override;

  std::map<std::uint32_t, Tabs::Message> messages_;
  std::uint32_t last_ = 0;
};

/// What a page holds beside its picture: title, summary, and the words that can be selected.
class TabWords {
 public:
  void take(std::string_view title, std::string_view summary);
  /// Takes the rows of the frame that was drawn last.
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
  std::vector<ReadableRow> rows_;
  Tabs::Message words_, texts_;
  std::map<TabId, Told> told_;
};

}  // namespace isobar
