// Several runs at once: which one is stopped, which one is chosen.
#include <catch2/catch.hpp>
#include <set>

#include "gui/headless.h"

using namespace isobar;
namespace fs = std::filesystem;

TEST_CASE("Stop ends the chosen run, not the one that was started here; a restart is forgotten by it") {
  const TempFolder folder;
  AppOptions options = options_in(folder);
  options.isobar = fake_isobar(folder, "exec sleep 20\n");
  const fs::path other = write_run(folder, {.name = "live", .steps = 20, .status = ""});
  Headless window(options);
  window.settle();
  window.click("Settings");
  window.click("Start");
  REQUIRE(window.app().launcher().is_running());
  window.click("run live");
  window.settle();
  window.click("Stop run");
  CHECK(window.state().toast.find("not written by a process of this machine") != std::string::npos);
  CHECK(window.app().launcher().is_running());
  window.click("Restart with these");
  window.click("Stop");
  window.until("the end", [&] { return !window.app().launcher().is_running(); });
  window.frames(30);
  CHECK_FALSE(window.app().launcher().is_running());
}

TEST_CASE("Runs of the same name in two folders are two runs") {
  const TempFolder folder;
  write_run(folder, {.name = "00"});
  fs::create_directories(folder / "more");
  fs::copy(folder / "runs/00", folder / "more/00", fs::copy_options::recursive);
  AppOptions options = options_in(folder);
  options.places.push_back(folder / "more");
  Headless window(options);
  window.settle();
  std::set<std::string> chosen;
  for (const UiItem& item : std::vector<UiItem>(window.app().ui().items())) {
    if (item.name != "run 00") continue;
    window.move_to(item.box.x0 + 60, (item.box.y0 + item.box.y1) / 2);
    ImGui::GetIO().MouseDown[0] = true;
    window.frames(2);
    ImGui::GetIO().MouseDown[0] = false;
    window.frames(3);
    chosen.insert(window.state().run);
  }
  CHECK(chosen.size() == 2);
}
