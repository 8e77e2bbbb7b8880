// The view of a mesh: groups of a run on its nodes, or on others, and runs without one.
#include "gui/headless.h"
#include "panels/views.h"
#include "support/catch.h"
#include "support/made_ranks.h"
#include "support/says.h"

namespace isobar::test_gui_mesh {

namespace fs = std::filesystem;

namespace {

fs::path made_run(const TempFolder& folder, const std::string& name, int world, const std::string& config,
                  const std::string& lesson = "15_pipeline") {
  const fs::path run = folder / "runs" / name;
  fs::create_directories(run);
  MadeRanks made{.world = world, .lesson = lesson};
  made.config = config;
  made.write(run);
  return run;
}

void show(Headless& window, const fs::path& run) {
  show_run(window, run, "15_pipeline", View::mesh, window.state().mesh.run);
}

}  // namespace

TEST_CASE("Mesh draws the groups of a run, of one axis too, and as if nodes were others") {
  const TempFolder folder;
  const fs::path run =
      made_run(folder, "four", 4, "[mesh]\ntp = 2\npp = 2\n\n[run]\nranks = 4\n\n[train]\naccumulate = 4\n");
  Headless window(options_in(folder), 1700, 1000);
  show(window, run);
  REQUIRE(window.has("mesh"));
  const MeshViewState& mine = window.state().mesh;
  REQUIRE(mine.made);
  CHECK(mine.made->nodes.count() == 1);
  const float whole = window.box("mesh").height();
  window.click("2");
  window.settle();
  CHECK(mine.made->nodes.count() == 2);
  CHECK(mine.made->find("pp")->across == 2);
  CHECK(window.box("mesh").height() > whole);  // links between nodes
  window.click("pp");
  window.settle();
  CHECK(mine.axis == "pp");
  const Box box = window.box("mesh");
  int pointed = 0;
  for (float y = box.y0; y < box.y1 && pointed < 4; y += 12)
    for (float x = box.x0; x < box.x1 && pointed < 4; x += 20) {
      window.move_to(x, y);
      window.frames(1);
      pointed += mine.pointed == pointed ? 1 : 0;  // ranks come in their order
    }
  CHECK(pointed == 4);
}

TEST_CASE("Mesh gives the reason where it has nothing to draw") {
  const TempFolder folder;
  const fs::path alone = made_run(folder, "alone", 1, "[run]\nranks = 1\n");
  const fs::path other = made_run(folder, "other", 2, "[run]\nranks = 2\n\n[mesh]\nxp = 2\n");
  const fs::path bare = write_run(folder, {.name = "bare"});
  Headless window(options_in(folder));
  for (const fs::path& run : {alone, bare}) {
    show(window, run);
    CHECK_FALSE(window.has("mesh"));
    CHECK(window.state().mesh.problem.empty());
  }
  show(window, other);
  CHECK_FALSE(window.has("mesh"));
  CHECK_THAT(window.state().mesh.problem, says("the settings of the run are not of this version"));
}

TEST_CASE("Mesh is there for lessons whose ranks have more than one axis") {
  LessonInfo lesson;
  CHECK_FALSE(suits(View::mesh, lesson));
  lesson.honours = {"mesh.order"};
  CHECK(suits(View::mesh, lesson));
  CHECK(view_of("mesh") == View::mesh);
}

}  // namespace isobar::test_gui_mesh
