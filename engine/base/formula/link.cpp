#include "formula/link.h"

#include <array>
#include <cmath>
#include <limits>

namespace isobar {
namespace {

double transfer_us(const Link& link, double bytes) {
  return link.bytes_per_us > 0 ? bytes / link.bytes_per_us : 0;
}

/// By protocol: LL, LL128, simple.
using ByProtocol = std::array<double, 3>;
struct NcclTimes {
  ByProtocol base, nvlink, pcie, network;
  double within(const NcclShape& shape) const {
    return (shape.wire == NcclWire::nvlink ? nvlink : pcie)[static_cast<std::size_t>(shape.protocol)];
  }
  double at(const ByProtocol& times, const NcclShape& shape) const {
    return times[static_cast<std::size_t>(shape.protocol)];
  }
};
constexpr NcclTimes kTree = {
    .base = {6.8, 14, 8.4}, .nvlink = {0.6, 1.25, 4.0}, .pcie = {1.0, 1.9, 4.0}, .network = {5.0, 8.5, 14}};
constexpr NcclTimes kRing = {
    .base = {6.6, 14, 8.4}, .nvlink = {0.6, 1.9, 3.4}, .pcie = {1.0, 2.5, 5.7}, .network = {2.7, 4.0, 14}};

}  // namespace

Link link_of(double latency_us, double gbit_per_s) {
  return {.latency_us = latency_us, .bytes_per_us = gbit_per_s * 125};
}

double ring_all_reduce_us(const Link& link, int ranks, double bytes) {
  return static_cast<double>(ring_messages(ranks)) * link.latency_us +
         transfer_us(link, ring_bytes(ranks, bytes));
}

double ring_half_us(const Link& link, int ranks, double bytes) {
  return ring_all_reduce_us(link, ranks, bytes) / 2;
}

double tree_all_reduce_us(const Link& link, int ranks, double bytes) {
  return 2.0 * tree_levels(ranks) * (link.latency_us + transfer_us(link, bytes));
}

double naive_all_reduce_us(const Link& link, int ranks, double bytes) {
  return ranks < 2 ? 0 : 2 * link.latency_us + 2.0 * (ranks - 1) * transfer_us(link, bytes);
}

double broadcast_us(const Link& link, int ranks, double bytes) {
  return ranks < 2 ? 0 : (ranks - 1) * link.latency_us + transfer_us(link, bytes);
}

double messages_us(const Link& link, int messages, double bytes) {
  return messages * link.latency_us + transfer_us(link, bytes);
}

int tree_levels(int ranks) {
  int out = 0;
  while (std::int64_t{1} << out < ranks) ++out;
  return out;
}

std::int64_t ring_messages(int ranks) { return 2 * (static_cast<std::int64_t>(ranks) - 1); }

double ring_bytes(int ranks, double bytes) { return 2.0 * (ranks - 1) / ranks * bytes; }

double algorithm_bandwidth(double bytes, double time_us) { return time_us > 0 ? bytes / time_us : 0; }

double bus_bandwidth(int ranks, double bytes, double time_us) {
  return algorithm_bandwidth(ring_bytes(ranks, bytes), time_us);
}

double ring_overtakes_tree_bytes(const Link& link, int ranks) {
  if (ranks < 2) return 0;
  const double later_us = ring_all_reduce_us(link, ranks, 0) - tree_all_reduce_us(link, ranks, 0);
  if (later_us <= 0) return 0;
  const double won_us = transfer_us(link, 2.0 * tree_levels(ranks) - ring_bytes(ranks, 1));  // with each byte
  return won_us > 0 ? later_us / won_us : std::numeric_limits<double>::infinity();
}

double nccl_ring_latency_us(const NcclShape& shape) {
  const double hops = 2.0 * (shape.nodes * shape.ranks_per_node - 1);
  const double between = 2.0 * (shape.nodes - 1);
  return kRing.at(kRing.base, shape) + (hops - between) * kRing.within(shape) +
         between * kRing.at(kRing.network, shape);
}

double nccl_tree_latency_us(const NcclShape& shape) {
  return kTree.at(kTree.base, shape) + 2 * ((shape.ranks_per_node - 1) * kTree.within(shape) +
                                            std::log2(shape.nodes) * kTree.at(kTree.network, shape));
}

}  // namespace isobar
