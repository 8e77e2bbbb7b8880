#pragma once
// How long collectives take over a link, by the alpha-beta model: one message of s bytes takes a + s / B.
// Times are microseconds, sizes bytes, `ranks` >= 1; one rank alone takes no time.
#include <cstdint>

namespace isobar {

struct Link {
  double latency_us = 0;    ///< a
  double bytes_per_us = 0;  ///< B; 0 = no limit
};

/// 1 Gb/s are 125 bytes a microsecond; 0 = no limit.
Link link_of(double latency_us, double gbit_per_s);

/// 2 (n - 1) a + 2 (n - 1) / n S / B
double ring_all_reduce_us(const Link& link, int ranks, double bytes);
/// Half of it: reduce-scatter of a buffer of `bytes`, or all-gather into one.
double ring_half_us(const Link& link, int ranks, double bytes);
/// 2 L (a + S / B), L = tree_levels(n): the whole buffer up and down at each level. Cut in pieces that follow
/// one another it is about 2 L a + 2 S / B.
double tree_all_reduce_us(const Link& link, int ranks, double bytes);
/// 2 a + 2 (n - 1) S / B: everybody sends to one rank, which adds and sends back. All send at once, so
/// latencies overlap, and all bytes go over that rank's link.
double naive_all_reduce_us(const Link& link, int ranks, double bytes);
/// (n - 1) a + S / B: pieces follow one another from rank to rank.
double broadcast_us(const Link& link, int ranks, double bytes);

/// m a + S / B: messages for single ranks (all-to-all, neighbours), of the side that has more: a rank sends
/// and receives at once.
double messages_us(const Link& link, int messages, double bytes);

/// ceil(log2(n)): levels of a tree of pairs, pairs of pairs, ...
int tree_levels(int ranks);

/// Messages that a rank sends in a ring all-reduce, and bytes: 2 (n - 1) and 2 (n - 1) / n S.
std::int64_t ring_messages(int ranks);
double ring_bytes(int ranks, double bytes);

/// Bytes a microsecond: S / t, and for an all-reduce that times 2 (n - 1) / n, which compares with the link's
/// B whatever the number of ranks (as nccl-tests defines them).
double algorithm_bandwidth(double bytes, double time_us);
double bus_bandwidth(int ranks, double bytes, double time_us);

/// Size from which the ring is quicker than that tree; infinite where it never is, 0 where it always is.
double ring_overtakes_tree_bytes(const Link& link, int ranks);

// NCCL's own predictor of latency (constants of src/graph/tuning.cc): base time plus hops.
enum class NcclProtocol { ll, ll128, simple };
enum class NcclWire { nvlink, pcie };  ///< within a node; between nodes it is the network
struct NcclShape {
  int nodes = 1;
  int ranks_per_node = 1;
  NcclWire wire = NcclWire::nvlink;
  NcclProtocol protocol = NcclProtocol::simple;
};
/// base + (2 (n - 1) - 2 (nodes - 1)) within + 2 (nodes - 1) network; without the factor 1.4 that NCCL puts
/// on rings of several nodes with the simple protocol (kNcclRingPlateau).
double nccl_ring_latency_us(const NcclShape& shape);
/// base + 2 ((ranks_per_node - 1) within + log2(nodes) network)
double nccl_tree_latency_us(const NcclShape& shape);
inline constexpr double kNcclRingPlateau = 1.4;

}  // namespace isobar
