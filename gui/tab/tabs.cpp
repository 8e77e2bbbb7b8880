#include "tab/tabs.h"

#include <algorithm>
#include <cmath>

#include "core/clock.h"
#include "tab/bytes.h"

namespace isobar {
namespace {

constexpr int kLevel = 1;  // one more costs twice the time for a tenth of the bytes
constexpr double kLeastWidth = 640, kLeastHeight = 400;  // times the scale; smaller tabs see it smaller
constexpr int kMostWidth = 7680, kMostHeight = 4320;
constexpr std::int64_t kAgain_us = 5'000'000;  // what a tab cannot draw twice, it will never draw

bool takes_over(const TabMessage& message) {
  return message.says == TabSays::wheel || message.says == TabSays::text || message.says == TabSays::paste ||
         ((message.says == TabSays::button || message.says == TabSays::key) && message.down);
}

std::string_view bytes_of(const void* data, std::size_t size) {
  return {static_cast<const char*>(data), size};
}

ImTextureID as_id(std::uint32_t number) {
  return reinterpret_cast<ImTextureID>(static_cast<std::uintptr_t>(number));
}

void put_box(std::string& out, const Box& box) {
  for (const float value : {box.x0, box.y0, box.x1 - box.x0, box.y1 - box.y0})
    put_signed(out, std::lround(value));
}

}  // namespace

void Tabs::left(TabId tab) {
  tabs_.erase(tab);
  if (leader_ != tab) return;
  leader_ = 0;
  const auto next = std::ranges::find_if(tabs_, [](auto& one) { return one.second.shown; });
  if (next != tabs_.end()) lead(next->first);
}

std::vector<TabId> Tabs::all() const {
  std::vector<TabId> out;
  for (const auto& [id, tab] : tabs_) out.push_back(id);
  return out;
}

void Tabs::lead(TabId tab) {
  leader_ = tab;
  const TabLayout& asked = tabs_.at(tab).layout;
  const float scale = std::clamp(asked.scale, 0.5F, 4.0F);
  const double width = std::max(1, asked.width), height = std::max(1, asked.height);
  const double larger = std::max({1.0, kLeastWidth * scale / width, kLeastHeight * scale / height});
  wanted_ = {static_cast<int>(std::min<double>(std::round(width * larger), kMostWidth)),
             static_cast<int>(std::min<double>(std::round(height * larger), kMostHeight)), scale};
}

bool Tabs::said(TabId id, const TabMessage& message) {
  const auto at = tabs_.find(id);
  if (at == tabs_.end()) return false;
  Tab& tab = at->second;
  if (tab.greeted == (message.says == TabSays::hello)) return false;  // once, and before all else
  switch (message.says) {
    case TabSays::hello:
      if (message.version != kTabVersion) return false;
      tab.greeted = tab.shown = true;
      [[fallthrough]];
    case TabSays::size:
      tab.layout = {message.width, message.height, message.scale};
      if (leader_ == 0 || leader_ == id) lead(id);
      return true;
    case TabSays::shown:
      tab.shown = message.down;
      if (tab.shown && (leader_ == 0 || !tabs_.at(leader_).shown)) lead(id);
      if (!tab.shown) tab.sent.clear();  // a tab in the background draws nothing
      return true;
    case TabSays::drawn:
      while (!tab.sent.empty() && tab.sent.front() <= message.frame) tab.sent.pop_front();  // and all before
      return true;
    case TabSays::again:
      if (tab.again_us && steady_us() - *tab.again_us < kAgain_us) return false;
      tab.again_us = steady_us();
      tab.has.reset();
      tab.textures.clear();
      tab.sent.clear();
      tab.looked_at = 0;
      return true;
    default:
      if (takes_over(message) && leader_ != id) lead(id);
      return true;
  }
}

const TabLayout& Tabs::next_layout(bool is_button_down) {
  if (!is_button_down) layout_ = wanted_;
  return layout_;
}

bool Tabs::may_take(TabId tab) const {
  const auto at = tabs_.find(tab);
  return at != tabs_.end() && is_ready(at->second);
}

bool Tabs::wants_frame() const {
  return std::ranges::any_of(tabs_, [&](auto& one) { return is_ready(one.second); });
}

void Tabs::deliver(const std::shared_ptr<const TabFrame>& frame,
                   const std::map<std::uint32_t, Message>& textures,
                   const std::function<void(TabId, Message)>& send) {
  std::map<const TabFrame*, Message> made;  // tabs that have the same frame are sent the same bytes
  for (auto& [id, tab] : tabs_) {
    if (!is_ready(tab) || tab.looked_at == frame->number) continue;
    tab.looked_at = frame->number;
    send_textures(id, tab, textures, send);
    const auto [at, is_new] = made.try_emplace(tab.has.get());
    if (is_new) at->second = frame_message(*frame, tab.has.get());
    if (at->second == nullptr) continue;
    send(id, at->second);
    tab.has = frame;
    tab.sent.push_back(frame->number);
  }
}

void Tabs::send_textures(TabId id, Tab& tab, const std::map<std::uint32_t, Message>& textures,
                         const std::function<void(TabId, Message)>& send) {
  for (const auto& [number, message] : textures) {
    if (tab.textures[number] != message) send(id, tab.textures[number] = message);
  }
  std::erase_if(tab.textures, [&](auto& one) {
    if (textures.contains(one.first)) return false;
    std::string forget(1, static_cast<char>(TabHears::forget));
    put_number(forget, one.first);
    send(id, std::make_shared<const std::string>(std::move(forget)));
    return true;
  });
}

Tabs::Message frame_message(const TabFrame& frame, const TabFrame* base) {
  const std::string bytes = encode_frame(frame, base);
  if (bytes.empty()) return nullptr;
  return std::make_shared<const std::string>(static_cast<char>(TabHears::frame) + deflated(bytes, kLevel));
}

Tabs::Message texture_message(std::uint32_t number, int width, int height, bool letters,
                              std::string_view pixels) {
  std::string out(1, static_cast<char>(TabHears::texture));
  put_number(out, number);
  put_number(out, static_cast<std::uint64_t>(width));
  put_number(out, static_cast<std::uint64_t>(height));
  put_number(out, letters ? 1 : 0);
  return std::make_shared<const std::string>(out + deflated(pixels, 6));
}

Tabs::Message words_message(TabHears kind, std::string_view words) {
  std::string out(1, static_cast<char>(kind));
  put_words(out, words);
  return std::make_shared<const std::string>(std::move(out));
}

ImTextureID TabTextures::make(const Picture& picture) {
  ++last_;
  messages_[last_] = texture_message(last_, picture.width, picture.height, /*letters=*/false,
                                     bytes_of(picture.rgba.data(), picture.rgba.size()));
  return as_id(last_);
}

void TabTextures::drop(ImTextureID id) {
  messages_.erase(static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(id)));
}

void TabTextures::set_atlas(ImFontAtlas& atlas) {
  unsigned char* pixels = nullptr;
  int width = 0, height = 0;
  atlas.GetTexDataAsAlpha8(&pixels, &width, &height);
  atlas.SetTexID(as_id(0));
  const auto size = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  messages_[0] = texture_message(0, width, height, /*letters=*/true, bytes_of(pixels, size));
}

void TabWords::take(std::string_view title, std::string_view summary) {
  std::string out(1, static_cast<char>(TabHears::words));
  put_words(out, title);
  put_words(out, summary);
  words_ = std::make_shared<const std::string>(std::move(out));
}

void TabWords::take(const std::vector<ReadableRow>& rows) {
  if (rows == rows_) return;
  rows_ = rows;
  std::string out(1, static_cast<char>(TabHears::texts));
  put_number(out, rows_.size());
  for (const ReadableRow& row : rows_) {
    put_box(out, row.box);
    put_box(out, row.seen);
    put_words(out, row.words);
  }
  texts_ = std::make_shared<const std::string>(std::move(out));
}

void TabWords::deliver(const Tabs& tabs, const std::function<void(TabId, Tabs::Message)>& send) {
  for (auto& [tab, told] : told_) {
    if (words_ != nullptr && told.words != words_) send(tab, told.words = words_);
    if (texts_ != nullptr && told.texts != texts_ && tabs.may_take(tab)) send(tab, told.texts = texts_);
  }
}

}  // namespace isobar
