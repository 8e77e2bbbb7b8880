// What the window draws of its own: stacks of stages, and pictures without a graphics card.
#include "gui/headless.h"
#include "support/catch.h"
#include "widgets/stack.h"

using namespace isobar;

TEST_CASE("Stages are stacked to the time of the step; what is left is the rest") {
  Series places;
  Curve load, forward, total;
  for (int i = 0; i < 1000; ++i) {
    places.push(i);
    load.push(static_cast<std::size_t>(i), 100 + i % 10);
    forward.push(static_cast<std::size_t>(i), 300);
    total.push(static_cast<std::size_t>(i), 500);
  }
  StackSpec spec;
  spec.places = &places;
  spec.stages = {{"load", 0, &load}, {"forward", 0, &forward}};
  spec.total = &total;
  const std::vector<StackColumn> columns = stack_columns(spec, 0, 999, 50);
  REQUIRE(columns.size() == 50);
  for (const StackColumn& column : columns) {
    REQUIRE(column.stages_us.size() == 3);
    CHECK(column.stages_us[0] == Approx(104.5));
    CHECK(column.stages_us[0] + column.stages_us[1] + column.stages_us[2] == Approx(column.total_us));
  }
  CHECK(stack_columns(spec, 5, 5, 10).empty());
}

TEST_CASE("The rasteriser fills what ImGui would") {
  HeadlessContext context(200, 100);
  MemoryTextures textures;
  const Fonts fonts = build_fonts(1);
  ImGui::GetIO().Fonts->SetTexID(ImGui::GetIO().Fonts);
  ImGui::NewFrame();
  ImDrawList& list = *ImGui::GetForegroundDrawList();
  list.AddRectFilled({10, 10}, {30, 20}, IM_COL32(255, 0, 0, 255));
  auto picture = std::make_shared<Picture>(Picture{1, 1, {0, 0, 255, 255}});
  list.AddImage(textures.texture(picture), {50, 10}, {60, 20});
  ImGui::Render();
  const Picture drawn = rasterise(*ImGui::GetDrawData(), {0, 0, 200, 100}, 1, IM_COL32_BLACK, textures);
  int red = 0;
  int blue = 0;
  for (std::size_t i = 0; i < drawn.rgba.size(); i += 4) {
    red += drawn.rgba[i] > 250 ? 1 : 0;
    blue += drawn.rgba[i + 2] > 250 ? 1 : 0;
  }
  CHECK(red == 200);
  CHECK(blue == 100);
  CHECK(fonts.text != nullptr);
}
