#pragma once
// The ranks of a mesh on their nodes, who works with whom along an axis, and what links carry in a step.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/mesh_figures.h"
#include "draw/sketch.h"

namespace isobar {

/// Where ranks are, for who points at them.
struct MeshArea {
  struct Cell {
    Box box;
    int rank = 0;
  };
  std::vector<Cell> cells = {};

  std::optional<int> rank_at(PlotPoint at) const;
};

/// A row a node, a cell a rank: its colour is that of the node, an outline goes around neighbours of one
/// group of `axis`, and ranks of a group have one letter. `marked`: the rank whose group is filled; -1 =
/// none. Gives the y where it ends.
float paint_mesh_grid(Sketch& sketch, const MeshFigures& mesh, std::string_view axis, PlotPoint at,
                      float width, int marked = -1, MeshArea* area = nullptr);

/// The least width that a readable grid takes, its title included.
float mesh_grid_width(const Sketch& sketch, const MeshFigures& mesh, const AxisFigures& axis);
std::string mesh_grid_title(const AxisFigures& axis);

/// What the busiest node sends inside and to others, by axis, on one scale. Gives the y where it ends.
float paint_mesh_loads(Sketch& sketch, const MeshFigures& mesh, PlotPoint at, float width);

struct MeshStyle {
  std::string_view axis = {};  ///< the only one that has a grid; "" = all have
  int marked = -1;             ///< see paint_mesh_grid
  bool has_bytes = true;       ///< table, loads and legend below the grids
};

/// A grid for each axis; below, a row for each with groups, calls, bytes by formula and as counted and where
/// they travel, and the loads. Gives the y where it ends.
float paint_mesh(Sketch& sketch, const MeshFigures& mesh, PlotPoint at, float width,
                 const MeshStyle& style = {}, MeshArea* area = nullptr);

/// Without a body for one rank.
Drawing mesh_drawing(const MeshFigures& mesh, const std::string& title, const std::string& note = "",
                     std::string_view axis = {});

/// "rank 5 on node 1: tp with 4; dp with 1, 9, 13".
std::string rank_words(const MeshFigures& mesh, int rank);

/// Axes, a row each, as comma-separated values.
std::string mesh_csv(const MeshFigures& mesh);

}  // namespace isobar
