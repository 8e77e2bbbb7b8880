// Ranks on their nodes, their groups and the load of links: in a terminal, as SVG, in words.
#include <algorithm>

#include "core/text.h"
#include "plot/mesh_picture.h"
#include "support/catch.h"
#include "support/recording_canvas.h"
#include "support/says.h"

namespace isobar::test_mesh_picture {

namespace {

MeshFigures mesh_of(int tp, int dp, int per_node, const std::string& order = "tp-dp") {
  LessonInfo lesson;
  lesson.honours = {"mesh.pp"};
  Config config;
  config.mesh.tp = tp;
  config.mesh.order = order;
  config.run.ranks = tp * dp;
  config.train.global_batch = 2 * dp;
  return mesh_figures(lesson, config, neighbours_on_nodes(tp * dp, per_node));
}

std::vector<std::string> ascii(const Drawing& drawing, std::size_t columns = 80) {
  return drawing_lines(drawing, {.glyphs = TextStyle::Glyphs::ascii, .columns = columns});
}

}  // namespace

TEST_CASE("a terminal shows a grid for each axis, with a letter for each group, and links below") {
  MeshFigures mesh = mesh_of(2, 4, 4);
  mesh.is_measured = true;
  mesh.axes.front().measured_bytes = 5e6;
  const std::vector<std::string> lines = ascii(mesh_drawing(mesh, "A mesh"));
  const std::string text = joined(lines, "\n");
  INFO(text);
  for (const std::string& line : lines) CHECK(line.size() <= 80);
  CHECK_THAT(text, says("8 ranks on 2 nodes: tp 2 x dp 4") && says("tp: 4 groups of 2"));
  CHECK_THAT(text, says("node 0  0A 1A 2B 3B") && says("node 1  4C 5C 6D 7D"));
  CHECK_THAT(text, says("node 0  0A 1B 2A 3B") && says("node 1  4A 5B 6A 7B"));
  CHECK_THAT(text, says("5.00 MB    inside") && says("across"));
  CHECK_THAT(text, says("Inside a node, all its ranks: ") && says("From a node to others, all its ranks: "));
  CHECK_THAT(joined(ascii(mesh_drawing(mesh, "A mesh", "", "dp")), "\n"), !says("node 0  0A 1A"));
}

TEST_CASE("an axis that is placed badly is marked, and words have all of it") {
  const Drawing drawing = mesh_drawing(mesh_of(2, 4, 4, "dp-tp"), "A mesh");
  CHECK_THAT(joined(ascii(drawing), "\n"), says("tp: 4 groups of 2 (!)") && says("across (!)"));
  CHECK_THAT(drawing.alt, says("tp: 4 groups of 2 share the layers of a model, between nodes") &&
                              says("Placed badly: tp leaves nodes") && says("to others in a step."));
  CHECK_THAT(drawing_svg(drawing), says("From a node to others"));
}

TEST_CASE("narrow pictures put grids below each other, and large meshes leave nodes out") {
  for (const std::string& line : ascii(mesh_drawing(mesh_of(2, 4, 4), "A mesh"), 40))
    CHECK(line.size() <= 40);
  const std::vector<std::string> lines = ascii(mesh_drawing(mesh_of(2, 100, 8), "Many"));
  for (const std::string& line : lines) CHECK(line.size() <= 80);
  CHECK_THAT(joined(lines, "\n"), says("9 more nodes are left out") && says("127"));
  const std::string wide = joined(ascii(mesh_drawing(mesh_of(1, 32, 32), "One node")), "\n");
  CHECK_THAT(wide, says("15") && says("31A") && !says("to others"));
  CHECK_FALSE(mesh_drawing(mesh_of(1, 1, 1), "Alone").body);
}

TEST_CASE("each rank is where it can be pointed at, once an axis") {
  const MeshFigures mesh = mesh_of(2, 2, 2);
  RecordingCanvas canvas;
  Sketch sketch(canvas, theme_of(false));
  MeshArea area;
  const float end = paint_mesh(sketch, mesh, {10, 10}, 700, {.marked = 1}, &area);
  REQUIRE(area.cells.size() == 8);
  for (const MeshArea::Cell& cell : area.cells) {
    CHECK((cell.box.x0 >= 10 && cell.box.x1 <= 710 && cell.box.y1 <= end));
    CHECK(area.rank_at({(cell.box.x0 + cell.box.x1) / 2, (cell.box.y0 + cell.box.y1) / 2}) == cell.rank);
  }
  CHECK_FALSE(area.rank_at({0, 0}));
  CHECK(rank_words(mesh, 3) == "rank 3 on node 1: tp with 2; dp with 1");
  CHECK_THAT(mesh_csv(mesh), says("axis,groups,size") && says("\ntp,2,2,0,"));
}

}  // namespace isobar::test_mesh_picture
