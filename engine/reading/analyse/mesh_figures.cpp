#include "analyse/mesh_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "analyse/axis_bytes.h"
#include "analyse/run_prediction.h"
#include "core/error.h"
#include "core/find.h"
#include "core/text.h"
#include "pipeline/schedule.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr int kMostMeshRanks = 4096;
constexpr double kMuchLess = 0.5;  // less is no reason to place axes otherwise

struct RankMessage {
  int from = 0, to = 0;
  double bytes = 0;
};

void add_ring(const std::vector<int>& group, double bytes, std::vector<RankMessage>& out) {
  for (std::size_t i = 0; i < group.size(); ++i)
    out.push_back({group[i], group[(i + 1) % group.size()], bytes});
}

/// Two messages a node, which stand for those of all its ranks: within it, and to others.
void add_pairs(const std::vector<int>& group, const RankNodes& nodes, double bytes,
               std::vector<RankMessage>& out) {
  std::map<int, std::vector<int>> on_node;
  for (const int rank : group) on_node[nodes.of_rank[static_cast<std::size_t>(rank)]].push_back(rank);
  const double each = bytes / static_cast<double>(group.size() - 1);
  for (const auto& [node, ranks] : on_node) {
    const auto here = static_cast<double>(ranks.size());
    out.push_back({ranks.front(), ranks.back(), here * (here - 1) * each});
    if (on_node.size() == 1) continue;
    const auto& others = node == on_node.begin()->first ? on_node.rbegin()->second : on_node.begin()->second;
    out.push_back({ranks.front(), others.front(), here * (static_cast<double>(group.size()) - here) * each});
  }
}

/// `places` are those of the group that follow one another; what goes over each boundary and back is equal.
void add_line(const std::vector<int>& group, const std::vector<int>& places, double bytes,
              std::vector<RankMessage>& out) {
  std::vector<std::pair<int, int>> boundaries;
  for (std::size_t i = 0; i + 1 < places.size(); ++i)
    if (places[i] != places[i + 1])
      boundaries.emplace_back(group.at(static_cast<std::size_t>(places[i])),
                              group.at(static_cast<std::size_t>(places[i + 1])));
  const double all = bytes * static_cast<double>(group.size());
  for (const auto& [one, other] : boundaries) {
    const double each = all / 2 / static_cast<double>(boundaries.size());
    out.push_back({one, other, each});
    out.push_back({other, one, each});
  }
}

std::vector<RankMessage> messages_of(const Config& config, const AxisBytes& bytes, const RankNodes& nodes,
                                     const std::vector<std::vector<int>>& groups) {
  std::vector<int> places(groups.front().size());
  std::iota(places.begin(), places.end(), 0);
  std::vector<RankMessage> out;
  for (const SentBytes& sent : bytes.sent) {
    const bool is_stages = sent.flow == AxisFlow::stages;
    const std::vector<int> line = is_stages ? schedule_of(config).rank_of_stage : places;
    for (const std::vector<int>& group : groups) {
      if (sent.flow == AxisFlow::ring) add_ring(group, sent.bytes, out);
      if (sent.flow == AxisFlow::all_pairs) add_pairs(group, nodes, sent.bytes, out);
      if (sent.flow == AxisFlow::neighbours || is_stages) add_line(group, line, sent.bytes, out);
    }
  }
  return out;
}

// ---- The mesh --------------------------------------------------------------------------------------------

Mesh mesh_in(const Config& config, const std::string& order) {
  const MeshConfig& mesh = config.mesh;
  const MeshSizes sizes{.tp = static_cast<int>(mesh.tp),
                        .cp = static_cast<int>(mesh.cp),
                        .pp = static_cast<int>(mesh.pp),
                        .dp = static_cast<int>(models(config)),
                        .shard = static_cast<int>(mesh.shard),
                        .ens = static_cast<int>(models_of_ensemble(config))};
  return {order, sizes, static_cast<int>(config.run.ranks)};
}

struct KnownAxis {
  const char* name;
  const char* words;
};

struct MeshAsk {
  const LessonInfo& lesson;
  const Config& config;
  const RankNodes& nodes;
  bool on_cuda = false;
};

/// In the order of `order`; what lies within dp, and groups that lie across, behind it.
std::vector<KnownAxis> axes_of(const Config& config, const std::string& order) {
  const std::int64_t shard = config.mesh.shard;
  std::vector<KnownAxis> out;
  for (const std::string& name : split(order, '-')) {
    if (name == "tp") out.push_back({"tp", "layers of a model"});
    if (name == "cp") out.push_back({"cp", "tokens of a model"});
    if (name == "pp") out.push_back({"pp", "depth of a model"});
    if (name != "dp") continue;
    if (shard == 0 || shard == models(config)) {
      out.push_back({"dp", "gradients of all models"});
      continue;
    }
    out.push_back({"shard", "states of a model"});
    out.push_back({"copies", "gradients of equal shares"});
  }
  out.push_back({"ens", "forecasts of one ensemble"});
  if (config.data.read_group > 1) out.push_back({"read", "reading of a model"});
  return out;
}

std::vector<std::vector<int>> groups_of(const Mesh& mesh, const Config& config, const std::string& axis) {
  return axis == "read" ? mesh.runs("tp-cp-pp", static_cast<int>(config.data.read_group)) : mesh.groups(axis);
}

void add_loads(const std::vector<RankMessage>& messages, const RankNodes& nodes, AxisFigures& axis) {
  axis.inside.assign(static_cast<std::size_t>(nodes.count()), 0);
  axis.between = axis.inside;
  for (const RankMessage& message : messages) {
    const int from = nodes.of_rank[static_cast<std::size_t>(message.from)],
              to = nodes.of_rank[static_cast<std::size_t>(message.to)];
    (from == to ? axis.inside : axis.between)[static_cast<std::size_t>(from)] += message.bytes;
  }
  for (const std::vector<int>& group : axis.groups) {
    const int first = nodes.of_rank[static_cast<std::size_t>(group.front())];
    axis.across += std::ranges::any_of(
        group, [&](int rank) { return nodes.of_rank[static_cast<std::size_t>(rank)] != first; });
  }
}

MeshFigures figures_in(const MeshAsk& ask, const std::string& order) {
  MeshFigures out;
  out.world = static_cast<int>(ask.config.run.ranks);
  out.order = order;
  out.nodes = ask.nodes;
  const Mesh mesh = mesh_in(ask.config, order);
  for (const KnownAxis& known : axes_of(ask.config, order)) {
    AxisFigures axis{.name = known.name, .words = known.words};
    axis.groups = groups_of(mesh, ask.config, axis.name);
    axis.size = static_cast<int>(axis.groups.front().size());
    if (axis.size < 2) continue;
    const AxisBytes bytes = bytes_of_axis(axis.name, ask.lesson, ask.config, ask.on_cuda);
    axis.bytes = bytes.total();
    axis.calls = bytes.calls;
    add_loads(messages_of(ask.config, bytes, ask.nodes, axis.groups), ask.nodes, axis);
    out.axes.push_back(std::move(axis));
  }
  return out;
}

/// The order of all under which the busiest node sends least to others.
MeshFigures best_placed(const MeshAsk& ask, const MeshFigures& mesh) {
  std::vector<std::string> names;
  const Mesh sizes = mesh_in(ask.config, mesh.order);
  for (const std::string& name : split(mesh.order, '-'))
    if (sizes.size(name) > 1) names.push_back(name);
  std::ranges::sort(names);
  MeshFigures out = mesh;
  if (names.empty()) return out;
  do {
    MeshFigures other = figures_in(ask, joined(names, "-"));
    if (other.between().total() < out.between().total()) out = std::move(other);
  } while (std::ranges::next_permutation(names).found);
  return out;
}

/// An axis is placed badly where it leaves nodes and would not in a much better order; so are layers of a
/// model wherever they leave nodes.
void add_problems(const MeshAsk& ask, MeshFigures& mesh) {
  const double now = mesh.between().total();
  const MeshFigures best = best_placed(ask, mesh);
  const double least = best.between().total();
  mesh.better_between = least;
  if (now > 0 && least <= kMuchLess * now) mesh.better_order = best.order;
  for (AxisFigures& axis : mesh.axes) {
    if (axis.across == 0) continue;
    const AxisFigures* const there = best.find(axis.name);
    if (!mesh.better_order.empty() && there != nullptr && there->across == 0)
      axis.problem = fmt::format("{} leaves nodes, and would stay inside with mesh.order = {}", axis.name,
                                 mesh.better_order);
    else if (axis.name == "tp")
      axis.problem = axis.size > ask.nodes.most_ranks()
                         ? "tp has more ranks than a node, and each layer waits for the network"
                         : "tp leaves nodes, and each layer waits for the network";
  }
}

using Part = std::optional<double> StepComm::*;

/// A rank's mean. Ranks that record no such part sent none: only a pipeline's last stage has forecasts.
std::optional<double> measured(const RanksView& view, Part part) {
  double sum = 0, ranks = 0;
  bool is_known = false;
  for (const RankFigures& rank : view.ranks) {
    if (!rank.wire_bytes) continue;
    ++ranks;
    sum += (rank.*part).value_or(0);
    is_known = is_known || rank.*part;
  }
  return is_known ? std::optional(sum / ranks) : std::nullopt;
}

void add_measured(const RanksView& view, MeshFigures& mesh) {
  const auto set = [&](std::string_view name, std::optional<double> bytes, std::optional<double> calls) {
    for (AxisFigures& axis : mesh.axes) {
      if (axis.name != name || !bytes) continue;
      axis.measured_bytes = std::max(0.0, *bytes);
      axis.measured_calls = calls;
      mesh.is_measured = true;
    }
  };
  const auto set_part = [&](std::string_view name, Part bytes, Part calls) {
    set(name, measured(view, bytes), measured(view, calls));
  };
  set_part("tp", &StepComm::tp_wire_bytes, &StepComm::tp_calls);
  set_part("cp", &StepComm::cp_wire_bytes, &StepComm::cp_calls);
  set_part("pp", &StepComm::pipe_bytes, &StepComm::pipe_calls);
  set_part("shard", &StepComm::node_wire_bytes, &StepComm::node_calls);
  set_part("ens", &StepComm::ens_wire_bytes, &StepComm::ens_calls);
  set_part("read", &StepComm::read_wire_bytes, &StepComm::read_calls);
  // Replicas have what is left, where all else is known.
  const auto is_unknown = [&](const char* name) {
    const AxisFigures* const axis = mesh.find(name);
    return axis != nullptr && !axis->measured_bytes;
  };
  const std::optional<double> all = measured(view, &StepComm::wire_bytes);
  if (!all || is_unknown("ens") || is_unknown("read")) return;
  double bytes = *all, calls = measured(view, &StepComm::comm_calls).value_or(0);
  for (const AxisFigures& axis : mesh.axes) {
    bytes -= axis.measured_bytes.value_or(0);
    calls -= axis.measured_calls.value_or(0);
  }
  // Messages of a pipeline are counted where they are sent and where they arrive.
  calls -= measured(view, &StepComm::pipe_calls).value_or(0);
  const char* const rest = mesh.find("copies") != nullptr ? "copies" : "dp";
  set(rest, bytes, std::max(0.0, calls));
}

}  // namespace

Mesh mesh_of(const Config& config) { return mesh_in(config, config.mesh.order); }

int RankNodes::count() const { return of_rank.empty() ? 0 : *std::ranges::max_element(of_rank) + 1; }

int RankNodes::most_ranks() const {
  std::map<int, int> ranks;
  int out = 0;
  for (const int node : of_rank) out = std::max(out, ++ranks[node]);
  return out;
}

std::string RankNodes::name(int node) const {
  const auto place = static_cast<std::size_t>(node);
  return place < names.size() && !names[place].empty() ? names[place] : fmt::format("node {}", node);
}

RankNodes neighbours_on_nodes(int world, int per_node) {
  if (per_node < 1)
    throw Error("a node has no ranks", fmt::format("--gpus-per-node {}", per_node), "a number from 1 on");
  RankNodes out;
  for (int rank = 0; rank < world; ++rank) out.of_rank.push_back(rank / per_node);
  return out;
}

std::size_t AxisFigures::group_of(int rank) const {
  const auto found =
      std::ranges::find_if(groups, [&](const std::vector<int>& group) { return holds(group, rank); });
  return static_cast<std::size_t>(found - groups.begin());
}

double LinkLoad::total() const { return std::accumulate(by_axis.begin(), by_axis.end(), 0.0); }

namespace {

LinkLoad busiest(const MeshFigures& mesh, std::vector<double> AxisFigures::*bytes) {
  LinkLoad out;
  for (int node = 0; node < mesh.nodes.count(); ++node) {
    LinkLoad one{.node = node};
    for (const AxisFigures& axis : mesh.axes)
      one.by_axis.push_back((axis.*bytes)[static_cast<std::size_t>(node)]);
    if (out.by_axis.empty() || one.total() > out.total()) out = std::move(one);
  }
  return out;
}

}  // namespace

const AxisFigures* MeshFigures::find(std::string_view axis) const {
  return find_by(axes, &AxisFigures::name, axis);
}

LinkLoad MeshFigures::inside() const { return busiest(*this, &AxisFigures::inside); }

LinkLoad MeshFigures::between() const { return busiest(*this, &AxisFigures::between); }

MeshFigures mesh_figures(const LessonInfo& lesson, const Config& config, const RankNodes& nodes,
                         bool on_cuda) {
  if (lesson.stands_alone)
    throw Error("the mesh is drawn for lessons with a transformer", lesson.name,
                "a run of a lesson that trains one");
  const std::int64_t world = config.run.ranks;
  if (world > kMostMeshRanks)
    throw Error("too many ranks to draw", fmt::format("run.ranks = {}", world),
                fmt::format("{} at most", kMostMeshRanks));
  if (std::ssize(nodes.of_rank) != world)
    throw Error(fmt::format("nodes are known of {} ranks, and there are {}", nodes.of_rank.size(), world),
                "run.ranks", "--gpus-per-node N");
  const MeshAsk ask{lesson, config, nodes, on_cuda};
  MeshFigures out = figures_in(ask, config.mesh.order);
  add_problems(ask, out);
  return out;
}

MeshFigures mesh_of_run(const fs::path& run, const std::string& lesson, bool on_cuda, const RanksView& view,
                        int per_node) {
  std::optional<KnownSettings> known = settings_of(run, lesson);
  if (!known)
    throw Error("the settings of the run are not of this version", printable(run.filename().string()),
                "make a run of this version");
  known->config.run.ranks = view.world;
  RankNodes nodes =
      neighbours_on_nodes(static_cast<int>(view.world), per_node > 0 ? per_node : kMostMeshRanks);
  for (const RankFigures& rank : view.ranks) {
    if (per_node > 0 || rank.host.empty() || rank.rank >= view.world) continue;
    const auto found = std::ranges::find(nodes.names, rank.host);
    nodes.of_rank[static_cast<std::size_t>(rank.rank)] = static_cast<int>(found - nodes.names.begin());
    if (found == nodes.names.end()) nodes.names.push_back(rank.host);
  }
  MeshFigures out = mesh_figures(known->lesson, known->config, nodes, on_cuda);
  add_measured(view, out);
  return out;
}

}  // namespace isobar
