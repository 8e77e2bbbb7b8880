#include "cli/show_mesh.h"

#include <fmt/format.h>

#include "analyse/mesh_figures.h"
#include "cli/report.h"
#include "core/text.h"
#include "log/run_reader.h"
#include "plot/mesh_picture.h"

namespace isobar {

void show_mesh(const std::filesystem::path& run, int per_node, bool json) {
  const RunView view = glance(run);
  const MeshFigures mesh = mesh_of_run(run, view.lesson, view.device != "cpu", read_ranks(run), per_node);
  Report out;
  out.json = mesh_json(mesh);
  const std::string title = fmt::format("{}: its mesh", printable(run.filename().string()));
  if (!mesh.axes.empty()) out.drawn(drawing_lines(mesh_drawing(mesh, title), terminal_style()));
  for (const std::string& sentence : mesh_sentences(mesh)) out.wrapped(sentence);
  out.print(json);
}

}  // namespace isobar
