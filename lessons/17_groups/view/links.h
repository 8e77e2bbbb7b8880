#pragma once
// What leaves a node where axes lie across nodes, and the grid of ranks that shows it.
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"
#include "draw/sketch.h"
#include "launch/mesh.h"

namespace isobar::lesson_17 {

/// Names of axes, and bytes (of any unit) that a rank sends along each to the next one of its ring.
using AxisBytesSent = std::vector<std::pair<std::string, double>>;

/// Bytes that leave a node on average: ranks send whose next one, in the ring of their group, is on another
/// node. The last stage of a pipeline has no next one.
double leaves_node(const Mesh& mesh, const std::string& axis, double bytes, int per_node);
double leave_node(const Mesh& mesh, const AxisBytesSent& bytes, int per_node);

/// A row a node, its ranks joined along tp (solid) and cp (dashed); ranks that hold one model have one
/// colour. In a terminal the groups of each of these axes have letters. Gives the y where it ends.
float paint_joined_ranks(Sketch& sketch, const Mesh& mesh, int per_node, PlotPoint at, float width);

/// What its lines and colours stand for. Gives the y where it ends.
float paint_joined_legend(Sketch& sketch, PlotPoint at, float width);

}  // namespace isobar::lesson_17
