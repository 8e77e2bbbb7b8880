#include "cluster/collective.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "formula/link.h"

namespace isobar {
namespace {

constexpr double kGigaPerMicro = 1e3;  // bytes a microsecond of 1 GB/s

double over(double bytes, double bytes_per_us) { return bytes_per_us > 0 ? bytes / bytes_per_us : 0; }

double half_hierarchical_us(const NodeGroup& group, const HopTimes& hops, double bytes) {
  const int ranks = group.ranks_per_node;
  const double inside_us =
      (ranks - 1) * (hops.inside_latency_us + over(bytes / ranks, hops.inside_bytes_per_us));
  const double blocks = static_cast<double>(group.nodes - 1) / group.nodes;
  return inside_us + tree_levels(group.nodes) * hops.between_latency_us +
         over(blocks * bytes, hops.between_bytes_per_us);
}

double all_to_all_us(const NodeGroup& group, const HopTimes& hops, double bytes) {
  const double ranks = group.ranks(), here = group.ranks_per_node, message = bytes / ranks;
  const double inside_us =
      here > 1 ? (here - 1) * over(message, hops.inside_bytes_per_us) + hops.inside_latency_us : 0;
  const double between_us =
      group.nodes > 1
          ? (ranks - here) * over(message * here, hops.between_bytes_per_us) + hops.between_latency_us
          : 0;
  return std::max(inside_us, between_us);
}

/// A message that holds its sender's link for a while, and is there later.
struct TreeHop {
  double busy_us = 0, latency_us = 0;
};

/// Up: rank 2^l sends to rank 0 once the tree below it, of as many ranks or of those that are left, is done.
double up_us(const TreeHop& hop, int ranks) {
  double out = 0;
  const int levels = tree_levels(ranks);
  if (ranks == 1 << levels) return levels * (hop.busy_us + hop.latency_us);
  for (int level = 0; level < levels; ++level) {
    const int distance = 1 << level;
    out = std::max(out, up_us(hop, std::min(distance, ranks - distance)) + hop.busy_us + hop.latency_us);
  }
  return out;
}

/// Down: rank 0 sends over its one link, to the furthest first.
double down_us(const TreeHop& hop, int ranks) {
  double out = 0;
  const int levels = tree_levels(ranks);
  if (ranks == 1 << levels) return levels * (hop.busy_us + hop.latency_us);
  for (int level = 0; level < levels; ++level) {
    const int distance = 1 << level;
    out = std::max(out, (levels - level) * hop.busy_us + hop.latency_us +
                            down_us(hop, std::min(distance, ranks - distance)));
  }
  return out;
}

double tree_us(const NodeGroup& group, const HopTimes& hops, double bytes) {
  const TreeHop inside{over(bytes, hops.inside_bytes_per_us), hops.inside_latency_us};
  const TreeHop between{over(bytes, hops.between_bytes_per_us), hops.between_latency_us};
  return up_us(inside, group.ranks_per_node) + up_us(between, group.nodes) + down_us(between, group.nodes) +
         down_us(inside, group.ranks_per_node);
}

double whole_ring_us(CollectiveKind what, const NodeGroup& group, const HopTimes& hops, double bytes) {
  const double message = bytes / group.ranks();
  // The way of a piece through all ranks: a round after the other, at the pace of the slowest link.
  const int rounds = (what == CollectiveKind::all_reduce ? 2 : 1) * (group.ranks() - 1);
  const int between = group.nodes > 1 ? (rounds + group.ranks_per_node - 1) / group.ranks_per_node : 0;
  return rounds * over(message, ring_hops(group, hops).inside_bytes_per_us) +
         between * hops.between_latency_us + (rounds - between) * hops.inside_latency_us;
}

}  // namespace

HopTimes hop_times(const ClusterMachine& machine, CollectiveKind what, const NodeGroup& group,
                   const LinkTerms& terms, int sharing) {
  const int all = machine.gpus_per_node;
  HopTimes out{.inside_latency_us = machine.inside_latency_us,
               .inside_bytes_per_us = bus_gb_s(machine, 1, all, 0) * kGigaPerMicro,
               .between_latency_us = machine.latency_us};
  if (group.nodes == 1) return out;
  const auto far = measured_between(machine);
  const int first = far.empty() ? 2 : static_cast<int>(far.front().nodes);
  const int nodes = terms.constant_busbw ? first : group.nodes;
  const int cards = (group.ranks_per_node + machine.gpus_per_nic - 1) / machine.gpus_per_nic;
  const int reached = std::min(all, cards * machine.gpus_per_nic);  // GPUs whose cards the group uses
  const double turns = std::min(1.0, static_cast<double>(all) / sharing / reached);
  const double gb_s = far.empty() ? bus_gb_s(machine, nodes, reached, terms.falloff) * terms.efficiency
                                  : bus_gb_s(machine, nodes, all, terms.falloff) * reached / all;
  out.between_bytes_per_us = gb_s * turns * kGigaPerMicro;
  if (what == CollectiveKind::all_gather || what == CollectiveKind::reduce_scatter)
    out.between_bytes_per_us *=
        terms.gather_efficiency * std::pow(1 - terms.gather_falloff, std::log2(nodes / 2.0));
  return out;
}

HopTimes ring_hops(const NodeGroup& group, const HopTimes& hops) {
  double slowest = hops.inside_bytes_per_us;
  if (group.nodes > 1) {
    const double between = hops.between_bytes_per_us;
    if (group.ranks_per_node == 1 || slowest <= 0) slowest = between;
    if (between > 0) slowest = std::min(slowest, between);
  }
  HopTimes out = hops;
  out.inside_bytes_per_us = out.between_bytes_per_us = slowest;
  return out;
}

double collective_us(CollectiveKind what, CollectiveWay way, const NodeGroup& group, const HopTimes& hops,
                     double bytes) {
  if (group.ranks() < 2) return 0;
  if (what == CollectiveKind::send)
    return group.nodes > 1 ? hops.between_latency_us + over(bytes, hops.between_bytes_per_us)
                           : hops.inside_latency_us + over(bytes, hops.inside_bytes_per_us);
  if (what == CollectiveKind::all_to_all) return all_to_all_us(group, hops, bytes);
  switch (way) {
    case CollectiveWay::ring:
      return whole_ring_us(what, group, hops, bytes);
    case CollectiveWay::tree:
      if (what != CollectiveKind::all_reduce)
        throw Error("a tree of whole buffers gathers nothing", "collective", "ring or hierarchical");
      return tree_us(group, hops, bytes);
    case CollectiveWay::hierarchical:
      return (what == CollectiveKind::all_reduce ? 2 : 1) * half_hierarchical_us(group, hops, bytes);
    case CollectiveWay::quickest:
      break;
  }
  const double ring = whole_ring_us(what, group, hops, bytes);
  if (what != CollectiveKind::all_reduce) return ring;
  return std::min({ring, tree_us(group, hops, bytes),
                   collective_us(what, CollectiveWay::hierarchical, group, hops, bytes)});
}

}  // namespace isobar
