#pragma once
// How long a collective takes on a cluster. Times are microseconds, sizes bytes of the whole buffer: what is
// summed, or what a gather results in; for send the message, for all_to_all what one rank has for all.
#include <array>

#include "cluster/machine.h"
#include "core/choice.h"

namespace isobar {

enum class CollectiveKind : unsigned char { all_reduce, reduce_scatter, all_gather, all_to_all, send };

/// ring: over all ranks, node by node, each rank sends to the next.
/// tree: pairs, pairs of pairs, ... with the whole buffer at each level, up and down (lesson 09).
/// hierarchical: reduce-scatter round the ring of a node, over nodes in ceil(log2(nodes)) rounds of 1, 2, 4,
/// ..
///   blocks for each rank of a node, then back. Libraries reach by trees and halving what this reaches.
/// quickest: what a library chooses: the least of them for an all-reduce; NCCL gathers and scatters by rings
/// only.
enum class CollectiveWay : unsigned char { ring, tree, hierarchical, quickest };
inline constexpr std::array kCollectiveWays = {"ring", "tree", "hierarchical", "quickest"};
constexpr Choices choices_of(CollectiveWay) { return kCollectiveWays; }

/// Ranks that take part: so many on each of so many nodes.
struct NodeGroup {
  int nodes = 1;
  int ranks_per_node = 1;
  int ranks() const { return nodes * ranks_per_node; }
};

/// Terms that no machine states.
struct LinkTerms {
  double falloff = 0;     ///< see bus_gb_s
  double efficiency = 1;  ///< part of a stated bandwidth between nodes that is reached; measured ones are
  // Gathers and scatters between nodes reach that part of an all-reduce's bus bandwidth, and lose more of it
  // with each doubling of the nodes beyond two (nccl-tests over EFA: half at 2 nodes, a third at 64).
  double gather_efficiency = 1;
  double gather_falloff = 0;
  double call_us = 8.4;  ///< time of each call before its first message (NCCL's base latency)
  CollectiveWay way = CollectiveWay::quickest;
  bool constant_busbw = false;  ///< bus bandwidth of two nodes for any number of them
};

/// One message over one link: a + s / B.
struct HopTimes {
  double inside_latency_us = 0, inside_bytes_per_us = 0;
  double between_latency_us = 0, between_bytes_per_us = 0;  ///< all cards of a node together
};
/// Inside a node the bandwidth of one rank's link, between nodes that of a node. A limit that is not known is
/// none (0). Several groups at work at once share a node's cards: `sharing` is how many.
HopTimes hop_times(const ClusterMachine& machine, CollectiveKind what, const NodeGroup& group,
                   const LinkTerms& terms, int sharing = 1);

/// Links of a ring: flow control holds all its links to the rate of the slowest.
HopTimes ring_hops(const NodeGroup& group, const HopTimes& hops);

/// Without `call_us`; 0 for a group of one. Error (exit code 2) for a tree that is to gather.
double collective_us(CollectiveKind what, CollectiveWay way, const NodeGroup& group, const HopTimes& hops,
                     double bytes);

}  // namespace isobar
