// Plots as the window shows them, its stacks of stages, and pictures without a graphics card.
#include <algorithm>
#include <cmath>
#include <set>

#include "gui/headless.h"
#include "record/json_line.h"
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
  CHECK(fonts.of(Face::text) != nullptr);
}

TEST_CASE("Plots zoom, pan, fit, hide lines and save what they show") {
  const TempFolder folder;
  write_run(folder, {.name = "one", .steps = 200});
  Headless window(options_in(folder));
  window.settle();
  PlotLink& link = window.state().watch.link;
  const Box loss = window.box("loss");
  const ImVec2 middle = {(loss.x0 + loss.x1) / 2, (loss.y0 + loss.y1) / 2};
  const double full = link.x.most - link.x.least;
  window.wheel(middle, 3, true);
  CHECK(link.x.most - link.x.least < full * 0.7);
  CHECK_FALSE(link.fit_x);
  const double least = link.x.least;
  window.drag(middle, {middle.x - 60, middle.y});
  CHECK(link.x.least > least);
  window.move_to(middle.x, middle.y);
  CHECK(link.hover);
  CHECK(link.hover->plot == "loss");
  window.key('F');
  CHECK(link.fit_x);
  window.frames(3);
  CHECK(link.x.most - link.x.least == Approx(full));
  window.key('L');
  CHECK(window.state().watch.views["loss"].log_y);
  window.drag({middle.x - 50, middle.y - 20}, {middle.x + 50, middle.y + 30}, true);
  CHECK(link.x.most - link.x.least < full * 0.8);
  CHECK_FALSE(window.state().watch.views["loss"].fit_y);
  window.double_click("loss");
  CHECK(link.fit_x);
  window.click("loss legend training");
  CHECK(window.state().watch.views["loss"].hidden.size() == 1);
  window.frames(40);  // two quick clicks would be a double click
  window.click("loss legend training");
  CHECK(window.state().watch.views["loss"].hidden.empty());
  for (const char* const kind : {"CSV", "SVG", "PNG"}) {
    window.click("loss", 1);
    window.click(std::string("Save as ") + kind);
    window.frames(2);
  }
  const std::string csv = text_of(folder / "exports/one-loss.csv");
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 1 + 200 + 21);
  const std::string svg = text_of(folder / "exports/one-loss.svg");
  CHECK(svg.rfind("<svg", 0) == 0);
  CHECK(svg.find("Loss (relative L2)") != std::string::npos);
  CHECK(svg.find("<polyline") != std::string::npos);
  CHECK(text_of(folder / "exports/one-loss.png").rfind("\x89PNG", 0) == 0);
}

TEST_CASE(
    "The wheel scrolls the page over a plot too; with Ctrl it zooms, and a rate never falls below zero") {
  const TempFolder folder;
  write_run(folder, {.name = "one", .steps = 200});
  Headless window(options_in(folder), 1280, 600);
  window.settle();
  const PlotLink& link = window.state().watch.link;
  const PlotView& view = window.state().watch.views["throughput"];
  const Box before = window.box("throughput");
  const double most = view.want.most;
  const ImVec2 over_axis = {before.x0 + 12, (before.y0 + before.y1) / 2};
  window.wheel({before.x1 - 40, over_axis.y}, -2);
  CHECK(window.box("throughput").y0 < before.y0);
  CHECK(link.fit_x);
  window.wheel({before.x1 - 40, over_axis.y}, 20);
  CHECK(window.box("throughput").y0 == before.y0);
  window.wheel(over_axis, -4, true);
  CHECK(view.want.most > most * 1.2);
  CHECK(view.want.least == 0);
  window.drag({before.x1 - 40, over_axis.y}, {before.x1 - 40, over_axis.y - 40});
  CHECK(view.want.least == 0);
  CHECK(window.box("throughput").y0 == before.y0);
}

TEST_CASE("Hovering snaps to steps, and one line crosses every plot of the view") {
  const TempFolder folder;
  write_run(folder, {.name = "one", .steps = 40});
  Headless window(options_in(folder));
  window.settle();
  const PlotLink& link = window.state().watch.link;
  const Picture before = window.picture();
  const Box plot = window.box("throughput");
  for (int i = 0; i < 30; ++i) {
    window.move_to(plot.x0 + 90 + static_cast<float>(i), plot.y0 + 60);
    window.frames();
    REQUIRE(link.hover);
    CHECK(link.hover->x == std::round(link.hover->x));
  }
  const Picture after = window.picture();
  const Box stack = window.box("anatomy");
  std::set<int> changed;
  for (int y = static_cast<int>(stack.y0); y < static_cast<int>(stack.y1); ++y) {
    for (int x = static_cast<int>(stack.x0); x < static_cast<int>(stack.x1); ++x) {
      const auto at = static_cast<std::size_t>(4 * (y * after.width + x));
      if (!std::equal(&after.rgba[at], &after.rgba[at] + 4, &before.rgba[at])) changed.insert(x);
    }
  }
  CHECK(changed.size() == 1);
}

TEST_CASE("Where there is room Watch has three columns, and what hardly changes stays small") {
  const TempFolder folder;
  write_run(folder, {.name = "one"});
  for (const float width : {1280.0F, 2560.0F}) {
    INFO(width);
    Headless window(options_in(folder), width, 900);
    window.settle();
    const Box loss = window.box("loss");
    const bool wide = width > 2000;
    CHECK((window.box("anatomy").y0 == loss.y0) == wide);
    CHECK(window.has("rmse"));
    CHECK(window.has("rmse t2m") == wide);  // it fills the second row
    CHECK(window.box("learning rate").height() < loss.height() / 2);
    CHECK_FALSE(window.has("memory"));  // no step recorded it
  }
}

TEST_CASE("Watch has the plots that a run has, and those of its lesson") {
  const TempFolder folder;
  std::string stream = JsonLine("run").add("schema", 1).add("lesson", "09_all_reduce").text();
  for (int step = 0; step < 3; ++step)
    stream += JsonLine("step").add("step", step).add("step_us", 900).add("busbw_gb_per_s", 1.5 + step).text();
  const std::filesystem::path run = folder / "runs/09_all_reduce-1";
  std::filesystem::create_directories(run);
  write_file_whole(run / "rank-0000.jsonl", std::string_view(stream));
  Headless window(options_in(folder));
  window.settle();
  window.state().run = run.string();
  window.until("the run to be read", [&] { return window.has("train/busbw_gb_per_s"); });
  CHECK(window.has("anatomy"));
  for (const char* const other : {"loss", "throughput", "train/bytes", "memory"})
    CHECK_FALSE(window.has(other));
}
