// The view of memory: one run, ticked ones beside each other, ranks, and files that are not to be read.
#include "gui/headless.h"
#include "panels/views.h"
#include "plot/bars.h"
#include "support/catch.h"
#include "support/made_memory.h"
#include "support/made_ranks.h"

namespace isobar::test_gui_memory {

namespace fs = std::filesystem;

namespace {

int area_of(Headless& window, const std::string& run, const char* category) {
  const Theme& theme = window.app().ui().theme();
  return window.count_colour(window.box("memory " + run), memory_part(theme, category, 0).colour);
}

}  // namespace

TEST_CASE("Memory draws what the chosen run held, with its peak and the tensors that lived then") {
  const TempFolder folder;
  const fs::path run = write_run(folder, {.name = "00"});
  write_memory(run, made_memory());
  Headless window(options_in(folder));
  window.settle();
  window.click("run 00");
  window.click("Memory");
  window.settle();
  REQUIRE(window.has("memory 00"));
  CHECK(area_of(window, "00", "activations") > 2000);
  CHECK(area_of(window, "00", "weights") > 2000);
  CHECK(area_of(window, "00", "workspace") > 500);
  CHECK(window.box("peak 00").y0 >= window.box("memory 00").y1);
  const Box peak = window.box("peak 00"), largest = window.box("largest 00");
  CHECK((largest.y0 >= peak.y1 || largest.x0 >= peak.x1));
  write_memory(run, made_memory({.weights = 100'000}));  // it is read again where it is another
  std::string more = read_text_file(run / "rank-0000.jsonl", 1 << 20);
  write_file_whole(run / "rank-0000.jsonl", std::string_view(more + "{\"kind\":\"note\"}\n"));
  const int before = area_of(window, "00", "weights");
  window.until("the new file", [&] { return area_of(window, "00", "weights") < before / 2; });
}

TEST_CASE("Memory puts ticked runs beside each other on one axis") {
  const TempFolder folder;
  write_memory(write_run(folder, {.name = "kept"}), made_memory());
  write_memory(write_run(folder, {.name = "redone"}), made_memory({.kept = 400'000}));
  Headless window(options_in(folder), 1700, 1000);
  window.settle();
  for (const auto& run : window.app().feed_state().runs->runs) window.state().compared.insert(run->id);
  window.click("Memory");
  window.settle();
  REQUIRE((window.has("memory kept") && window.has("memory redone")));
  CHECK(window.box("memory kept").y0 == window.box("memory redone").y0);
  CHECK(window.box("peaks").y0 >= window.box("memory kept").y1);
  CHECK(area_of(window, "redone", "activations") < area_of(window, "kept", "activations") / 2);
  CHECK(area_of(window, "redone", "weights") > area_of(window, "kept", "weights") * 9 / 10);
}

TEST_CASE("Memory names what cannot be read, and what a run does not have") {
  const TempFolder folder;
  write_run(folder, {.name = "bare"});
  const fs::path damaged = write_run(folder, {.name = "damaged"});
  write_file_whole(RunFolder{damaged}.memory_file(0), std::string_view("{\"kind\":\"moment\"}\n"));
  Headless window(options_in(folder));
  window.settle();
  window.click("run bare");
  window.click("Memory");
  window.settle();
  CHECK_FALSE(window.has("memory bare"));
  CHECK(window.count_colour({300, 60, 1000, 860}, window.app().ui().theme().text) > 100);
  window.click("run damaged");
  window.settle();
  const auto run = window.app().feed_state().runs->find(damaged.string());
  REQUIRE((run && run->detail));
  CHECK(run->detail->memory_problem.find("does not begin") != std::string::npos);
  CHECK(run->detail->memory_problem.find("memory-0000.jsonl, line 1") != std::string::npos);
  CHECK_FALSE(window.has("memory damaged"));
}

}  // namespace isobar::test_gui_memory
