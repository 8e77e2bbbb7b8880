#pragma once
// What a rank sends in a step along each axis of the mesh, by formula, and to whom.
#include <optional>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "config/lesson.h"

namespace isobar {

/// How ranks of a group send.
enum class AxisFlow { ring, all_pairs, neighbours, stages };

struct SentBytes {
  double bytes = 0;
  AxisFlow flow = AxisFlow::ring;
};

/// What a rank sends in a step: the mean over ranks.
struct AxisBytes {
  std::vector<SentBytes> sent = {};
  std::optional<double> calls = {};

  double total() const {
    double out = 0;
    for (const SentBytes& one : sent) out += one.bytes;
    return out;
  }
};

/// `axis` is tp, cp, pp, dp, shard, copies, ens or read, of two ranks or more. Error (exit code 1) for
/// another name. Sources: MeshFigures (analyse/mesh_figures.h).
AxisBytes bytes_of_axis(std::string_view axis, const LessonInfo& lesson, const Config& config, bool on_cuda);

}  // namespace isobar
