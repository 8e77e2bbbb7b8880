// The page's picture is that of the window: six views, both themes.
#include <algorithm>
#include <cmath>
#include <set>

#include "fields/npy.h"
#include "gui/headless.h"
#include "gui/tab/decode.h"
#include "record/run_folder.h"
#include "support/catch.h"
#include "tab/tabs.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

/// Textures of the window by number, as TabTextures gives them.
std::map<std::uint32_t, ImTextureID> known;

std::uint32_t number_of(ImTextureID id) {
  for (const auto& [number, one] : known) {
    if (one == id) return number;
  }
  const auto number = static_cast<std::uint32_t>(known.size());
  known[number] = id;
  return number;
}

TabFrame frame_of(Headless& window, std::uint32_t number) {
  const ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
  known[0] = atlas.TexID;
  TabFrame frame = take_frame(*ImGui::GetDrawData(), atlas.TexID, number_of);
  frame.number = number;
  frame.ground = window.app().ui().theme().ground;
  frame.atlas = {atlas.TexWidth, atlas.TexHeight};
  return frame;
}

/// Shares of the pixels that are off by more than 2 of 255.
double pixels_off(const Picture& a, const Picture& b) {
  REQUIRE(a.rgba.size() == b.rgba.size());
  std::size_t off = 0;
  for (std::size_t i = 0; i < a.rgba.size(); i += 4) {
    int most = 0;
    for (std::size_t c = 0; c < 3; ++c) most = std::max(most, std::abs(a.rgba[i + c] - b.rgba[i + c]));
    off += most > 2 ? 1 : 0;
  }
  return static_cast<double>(off) / (static_cast<double>(a.rgba.size()) / 4);
}

std::size_t colours_in(const Picture& picture) {
  std::set<std::uint32_t> out;
  for (std::size_t i = 0; i < picture.rgba.size(); i += 4)
    out.insert(
        static_cast<std::uint32_t>(picture.rgba[i] << 16 | picture.rgba[i + 1] << 8 | picture.rgba[i + 2]));
  return out.size();
}

void write_runs(const TempFolder& folder) {
  for (const char* const name : {"one", "two"}) {
    const fs::path run = write_run(folder, {.name = name, .steps = 400, .loss = name[0] == 'o' ? 1.0 : 2.0});
    std::vector<float> values;
    for (int i = 0; i < 3 * 3 * 16 * 32; ++i) values.push_back(std::sin(static_cast<float>(i) / 20));
    write_npy(RunFolder{run}.fields_file(60), std::vector<std::int64_t>{3, 3, 16, 32}, values);
  }
}

}  // namespace

TEST_CASE("Six views in both themes are the same picture after their way over the wire") {
  const TempFolder folder;
  write_runs(folder);
  Headless window(options_in(folder), 1440, 900);
  window.settle();
  known.clear();
  TabFrame before, page;
  std::uint32_t number = 0;
  for (const bool dark : {true, false}) {
    for (const View view : {View::watch, View::compare, View::predict, View::maps, View::code, View::run}) {
      window.state().settings.dark = dark;
      window.state().view = view;
      window.settle();
      INFO(view_name(view) << (dark ? ", dark" : ", light"));
      const TabFrame frame = frame_of(window, ++number);
      const Tabs::Message message = frame_message(frame, number == 1 ? nullptr : &before);
      REQUIRE(message != nullptr);
      page = decode_message(*message, &page);
      before = frame;
      const DrawnFrame drawn(page, known);
      const Picture ours = window.picture();
      const ImVec2 size = ImGui::GetIO().DisplaySize;
      const Picture theirs =
          rasterise(drawn.data(), {0, 0, size.x, size.y}, 1, page.ground, window.textures());
      CHECK(colours_in(ours) > 50);
      const bool has_picture =
          std::any_of(page.pieces.begin(), page.pieces.end(), [](auto& one) { return one.texture != 0; });
      CHECK(has_picture == (view == View::maps));
      CHECK(pixels_off(ours, theirs) <= 0.001);
    }
  }
}

TEST_CASE("A plot that is dragged costs few bytes, and a window that rests none") {
  const TempFolder folder;
  write_run(folder, {.name = "one", .steps = 5000});
  Headless window(options_in(folder));
  window.settle();
  const Box plot = window.box("loss");
  window.move_to(plot.x0 + 200, plot.y0 + 60);
  window.frames(200);  // axes glide to their places
  TabFrame before = frame_of(window, 1);
  window.frames(2);
  CHECK(frame_message(frame_of(window, 2), &before) == nullptr);
  const std::size_t whole = frame_message(before, nullptr)->size();
  window.press(true);
  std::vector<std::size_t> sizes;
  for (int i = 1; i <= 9; ++i) {
    window.put_mouse(plot.x0 + 200 + static_cast<float>(6 * i), plot.y0 + 60);
    window.frames();
    const TabFrame frame = frame_of(window, before.number + 1);
    const Tabs::Message message = frame_message(frame, &before);
    if (message != nullptr) sizes.push_back(message->size());
    before = frame;
  }
  window.press(false);
  REQUIRE(sizes.size() >= 5);
  std::nth_element(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2), sizes.end());
  INFO("whole: " << whole << ", median while dragged: " << sizes[sizes.size() / 2]);
  CHECK(whole < 60'000);
  CHECK(sizes[sizes.size() / 2] < whole / 2);
}
