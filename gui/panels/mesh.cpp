#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "panels/parts.h"
#include "panels/views.h"
#include "plot/mesh_picture.h"

namespace isobar {
namespace {

/// Works the mesh out again when the run, its ranks or the nodes are others.
void make_mesh_again(MeshViewState& state, const RunEntry& run) {
  const std::shared_ptr<const RanksView>& ranks = run.detail->ranks;
  if (state.run == run.id && state.ranks == ranks && state.made_per_node == state.per_node) return;
  if (state.run != run.id) state.axis.clear();
  state.run = run.id;
  state.ranks = ranks;
  state.made_per_node = state.per_node;
  state.made.reset();
  state.problem.clear();
  if (!ranks) return;
  try {
    state.made = mesh_of_run(run.folder, run.view.lesson, run.view.device != "cpu", *ranks, state.per_node);
  } catch (const Error& error) {
    state.problem = fmt::format("{}; {}", printable(error.what(), 200), printable(error.hint(), 200));
  }
  if (state.made && state.made->find(state.axis) == nullptr) state.axis.clear();
}

void draw_mesh_controls(Ui& ui, MeshViewState& mine) {
  ui.framed().dim("Groups of");
  if (ui.beside(6).choice("all axes", mine.axis.empty())) mine.axis.clear();
  for (const AxisFigures& axis : mine.made->axes)
    if (ui.beside(2).choice(axis.name, mine.axis == axis.name)) mine.axis = axis.name;
  ui.label("ranks a node", 20);
  if (ui.beside(6).choice("as they ran", mine.per_node == 0)) mine.per_node = 0;
  for (int ranks = 1; ranks < std::min(mine.made->world, 65); ranks *= 2)
    if (ui.beside(2).choice(fmt::format("{}", ranks), mine.per_node == ranks)) mine.per_node = ranks;
}

void draw_mesh_made(Ui& ui, MeshViewState& mine, Requests& ask) {
  const MeshFigures& mesh = *mine.made;
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  MeshArea area;
  const Box box = paint_here(ui, "mesh", 0, [&](Sketch& sketch, PlotPoint at, float width) {
    return paint_mesh(sketch, mesh, at, width, {.axis = mine.axis, .marked = mine.pointed}, &area);
  });
  const auto pointed = ImGui::IsWindowHovered() ? area.rank_at({mouse.x, mouse.y}) : std::nullopt;
  if (mine.pointed != pointed.value_or(-1)) ui.ask_frame();
  mine.pointed = pointed.value_or(-1);
  if (pointed) tip_at_mouse(ui, rank_words(mesh, *pointed));
  save_drawing(
      ui, box, "mesh", [&] { return mesh_csv(mesh); },
      [&](Canvas& onto, const Box& in) {
        paint_drawing(onto, theme_of(false), in, mesh_drawing(mesh, "A mesh", "", mine.axis));
      },
      ask);
  ui.gap(4);
  for (const std::string& sentence : mesh_sentences(mesh)) ui.warning(sentence_case(sentence + "."));
}

}  // namespace

void draw_mesh(Ui& ui, const Data& data, AppState& state, Requests& ask) {
  const std::shared_ptr<const RunEntry> run = data.feed.runs->find(state.run);
  if (!begin_run_view(ui, run.get(), "mesh")) return;
  MeshViewState& mine = state.mesh;
  make_mesh_again(mine, *run);
  if (mine.made && !mine.made->axes.empty()) {
    draw_mesh_controls(ui, mine);
    ui.gap(6);
    draw_mesh_made(ui, mine, ask);
  } else if (!mine.problem.empty()) {
    ui.wrapped(mine.problem, Face::text, ui.theme().warn);
  } else {
    ui.empty_state("No mesh to draw", "Runs of two ranks or more have one.");
  }
  ImGui::EndChild();
}

}  // namespace isobar
