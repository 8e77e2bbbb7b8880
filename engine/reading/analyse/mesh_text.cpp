// A mesh in sentences and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyse/mesh_figures.h"
#include "core/text.h"

namespace isobar {
namespace {

std::string bytes_text(double bytes) { return human_bytes(static_cast<std::uint64_t>(std::llround(bytes))); }

std::string place_text(const AxisFigures& axis, bool several_nodes) {
  if (!several_nodes) return "on one node";
  if (axis.across == 0) return "inside nodes";
  if (axis.across == std::ssize(axis.groups)) return "between nodes";
  return fmt::format("{} of its {} groups between nodes", axis.across, axis.groups.size());
}

}  // namespace

std::string axis_sentence(const MeshFigures& mesh, const AxisFigures& axis) {
  const bool several_nodes = mesh.nodes.count() > 1;
  std::string out = fmt::format("{}: {} of {} share the {}, {}; a rank sends {} a step", axis.name,
                                counted(std::ssize(axis.groups), "group"), axis.size, axis.words,
                                place_text(axis, several_nodes), bytes_text(axis.bytes));
  if (axis.calls) out += fmt::format(" in {:.6g} {}", *axis.calls, *axis.calls == 1 ? "call" : "calls");
  if (axis.measured_bytes) {
    out += fmt::format(" by formula, and {}", bytes_text(*axis.measured_bytes));
    if (axis.measured_calls)
      out += fmt::format(" in {:.6g} {}", *axis.measured_calls, *axis.measured_calls == 1 ? "call" : "calls");
    out += " as counted";
  }
  return out;
}

std::vector<std::string> mesh_sentences(const MeshFigures& mesh) {
  std::vector<std::string> out;
  if (mesh.axes.empty()) out.emplace_back("one rank: nothing is sent");
  for (const AxisFigures& axis : mesh.axes)
    if (!axis.problem.empty()) out.push_back("placed badly: " + axis.problem);
  if (!mesh.better_order.empty())
    out.push_back(fmt::format("with mesh.order = \"{}\" a node would send {} a step to others instead of {}",
                              mesh.better_order, bytes_text(mesh.better_between),
                              bytes_text(mesh.between().total())));
  return out;
}

Json mesh_json(const MeshFigures& mesh) {
  Json out = {{"ranks", mesh.world}, {"order", mesh.order}, {"nodes", mesh.nodes.count()}};
  out["node_of_rank"] = mesh.nodes.of_rank;
  out["axes"] = Json::array();
  for (const AxisFigures& axis : mesh.axes) {
    Json one = {{"axis", axis.name}};
    add_members(one, ISOBAR_NAMED(axis.size, axis.groups, axis.across, axis.bytes, axis.calls,
                                  axis.measured_bytes, axis.measured_calls));
    one["problem"] = axis.problem.empty() ? Json() : Json(axis.problem);
    out["axes"].push_back(one);
  }
  const auto load = [&](const LinkLoad& of) {
    Json by_axis = Json::object();
    for (std::size_t i = 0; i < of.by_axis.size(); ++i) by_axis[mesh.axes[i].name] = of.by_axis[i];
    return Json{{"node", of.node}, {"bytes", of.total()}, {"by_axis", by_axis}};
  };
  out["inside"] = load(mesh.inside());
  out["between"] = load(mesh.between());
  out["better_order"] = mesh.better_order.empty() ? Json() : Json(mesh.better_order);
  return out;
}

}  // namespace isobar
