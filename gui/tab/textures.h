#pragma once
// Pictures as tabs hold them: each is sent once and drawn by its number.
#include <deque>
#include <map>

#include "tab/tabs.h"
#include "widgets/imgui_canvas.h"

namespace isobar {

class TabTextures : public TextureMaker {
 public:
  ImTextureID texture(const std::shared_ptr<const Picture>& picture) override;
  const Picture* picture_of(ImTextureID id) const override;

  /// After the fonts were built: what all letters are drawn from.
  void set_atlas(ImFontAtlas& atlas);
  /// What a tab must have to draw: 0 is the atlas.
  const std::map<std::uint32_t, Tabs::Message>& messages() const { return messages_; }

 private:
  struct Kept {
    std::uint32_t number;
    std::shared_ptr<const Picture> picture;
  };
  std::deque<Kept> kept_;
  std::map<std::uint32_t, Tabs::Message> messages_;
  std::uint32_t last_ = 0;
};

}  // namespace isobar
