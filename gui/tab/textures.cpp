#include "tab/textures.h"

#include <algorithm>

namespace isobar {
namespace {

constexpr std::size_t kMostKept = 16;

std::string_view bytes_of(const void* data, std::size_t size) {
  return {static_cast<const char*>(data), size};
}

ImTextureID as_id(std::uint32_t number) {
  return reinterpret_cast<ImTextureID>(static_cast<std::uintptr_t>(number));
}

}  // namespace

ImTextureID TabTextures::texture(const std::shared_ptr<const Picture>& picture) {
  const auto at = std::find_if(kept_.begin(), kept_.end(), [&](auto& one) { return one.picture == picture; });
  if (at != kept_.end()) {
    std::rotate(at, at + 1, kept_.end());  // what is used stays longest
    return as_id(kept_.back().number);
  }
  if (kept_.size() >= kMostKept) {
    messages_.erase(kept_.front().number);
    kept_.pop_front();
  }
  kept_.push_back({++last_, picture});
  messages_[last_] = texture_message(last_, picture->width, picture->height, /*letters=*/false,
                                     bytes_of(picture->rgba.data(), picture->rgba.size()));
  return as_id(last_);
}

const Picture* TabTextures::picture_of(ImTextureID id) const {
  const auto at =
      std::find_if(kept_.begin(), kept_.end(), [&](auto& one) { return as_id(one.number) == id; });
  return at == kept_.end() ? nullptr : at->picture.get();
}

void TabTextures::set_atlas(ImFontAtlas& atlas) {
  unsigned char* pixels = nullptr;
  int width = 0, height = 0;
  atlas.GetTexDataAsAlpha8(&pixels, &width, &height);
  atlas.SetTexID(as_id(0));
  const auto size = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  messages_[0] = texture_message(0, width, height, /*letters=*/true, bytes_of(pixels, size));
}

}  // namespace isobar
