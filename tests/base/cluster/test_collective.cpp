#include <fmt/format.h>

#include <array>

#include "cluster/hops.h"
#include "formula/link.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace isobar;

namespace {

const HopTimes kUneven = {.inside_latency_us = 4,
                          .inside_bytes_per_us = 200e3,
                          .between_latency_us = 14,
                          .between_bytes_per_us = 80e3};
const HopTimes kLatencyOnly = {.inside_latency_us = 4, .between_latency_us = 14};
const HopTimes kSlowInside = {.inside_latency_us = 1,
                              .inside_bytes_per_us = 10e3,
                              .between_latency_us = 30,
                              .between_bytes_per_us = 90e3};
const HopTimes kBandwidthOnly = {.inside_bytes_per_us = 200e3, .between_bytes_per_us = 25e3};

}  // namespace

TEST_CASE("the formula of a collective is what its messages take, to 1 %") {
  for (const HopTimes& hops : {kUneven, kLatencyOnly, kSlowInside, kBandwidthOnly}) {
    for (const NodeGroup& group : std::vector<NodeGroup>{
             {1, 2}, {1, 7}, {1, 8}, {2, 1}, {3, 1}, {16, 1}, {2, 4}, {3, 4}, {5, 3}, {8, 8}, {16, 4}}) {
      for (const double bytes : {256.0, 1e6, 25e6, 1e9}) {
        for (const CollectiveWay way :
             {CollectiveWay::ring, CollectiveWay::tree, CollectiveWay::hierarchical}) {
          for (const CollectiveKind what :
               {CollectiveKind::all_reduce, CollectiveKind::reduce_scatter, CollectiveKind::all_gather,
                CollectiveKind::all_to_all, CollectiveKind::send}) {
            if (way == CollectiveWay::tree && what != CollectiveKind::all_reduce) continue;
            INFO(fmt::format("{} nodes of {}, {} bytes, {} {}", group.nodes, group.ranks_per_node, bytes,
                             name_of(way), static_cast<int>(what)));
            CHECK(collective_us(what, way, group, hops, bytes) ==
                  Approx(simulated_hops_us(what, way, group, hops, bytes)).epsilon(0.01));
          }
        }
      }
    }
  }
}

TEST_CASE("on one kind of link a ring and a tree take what the alpha-beta model has") {
  const Link link = link_of(20, 10);
  const HopTimes hops = {.between_latency_us = 20, .between_bytes_per_us = link.bytes_per_us};
  const NodeGroup ranks = {.nodes = 8, .ranks_per_node = 1};
  CHECK(collective_us(CollectiveKind::all_reduce, CollectiveWay::ring, ranks, hops, 1e6) ==
        Approx(ring_all_reduce_us(link, 8, 1e6)));
  CHECK(collective_us(CollectiveKind::all_gather, CollectiveWay::ring, ranks, hops, 1e6) ==
        Approx(ring_half_us(link, 8, 1e6)));
  CHECK(collective_us(CollectiveKind::all_reduce, CollectiveWay::tree, ranks, hops, 1e6) ==
        Approx(tree_all_reduce_us(link, 8, 1e6)));
}

TEST_CASE("rings die of latency at hundreds of nodes, hierarchical collectives do not") {
  const NodeGroup many = {.nodes = 512, .ranks_per_node = 4};
  const double ring_us =
      collective_us(CollectiveKind::all_reduce, CollectiveWay::ring, many, kLatencyOnly, 0);
  const double levels_us =
      collective_us(CollectiveKind::all_reduce, CollectiveWay::hierarchical, many, kLatencyOnly, 0);
  CHECK(ring_us == Approx(2 * 2047 * 4 + 1024 * 10));  // 1,024 of the 4,094 messages go between nodes
  CHECK(levels_us == Approx(2 * (3 * 4 + 9 * 14)));
  CHECK(collective_us(CollectiveKind::all_reduce, CollectiveWay::quickest, many, kLatencyOnly, 0) <=
        levels_us);
  CHECK(collective_us(CollectiveKind::all_gather, CollectiveWay::quickest, many, kLatencyOnly, 0) ==
        collective_us(CollectiveKind::all_gather, CollectiveWay::ring, many, kLatencyOnly, 0));
}

TEST_CASE("groups that go on at once share the cards of a node") {
  const ClusterMachine machine = {
      .gpus_per_node = 8, .inside_gb_s = 200, .between_gb_s = 25, .gpus_per_nic = 2};
  const auto rate = [&](const NodeGroup& group, int sharing) {
    return hop_times(machine, CollectiveKind::all_reduce, group, {}, sharing).between_bytes_per_us / 1e3;
  };
  CHECK(rate({2, 8}, 1) == 200);
  CHECK(rate({2, 1}, 1) == 50);  // one card, which two GPUs share
  CHECK(rate({2, 4}, 1) == 100);
  CHECK(rate({2, 1}, 8) == 25);
  const ClusterMachine slow_inside = {.gpus_per_node = 8, .inside_gb_s = 40, .between_gb_s = 25};
  CHECK(hop_times(slow_inside, CollectiveKind::all_reduce, {2, 8}, {}).between_bytes_per_us == 40e3);
  CHECK(hop_times(slow_inside, CollectiveKind::all_reduce, {2, 1}, {}).between_bytes_per_us == 25e3);
  const ClusterMachine measured = {
      .gpus_per_node = 4, .inside_gb_s = 200, .busbw_by_nodes = {{1, 2}, {4, 80}, {8, 40}}};
  CHECK(hop_times(measured, CollectiveKind::all_reduce, {1, 4}, {}).inside_bytes_per_us == 2e3);
  CHECK(hop_times(measured, CollectiveKind::all_reduce, {8, 4}, {.constant_busbw = true})
            .between_bytes_per_us == 80e3);
}

TEST_CASE("gathers have their own part of the bus bandwidth") {
  const ClusterMachine machine = {.gpus_per_node = 4, .inside_gb_s = 200, .between_gb_s = 25};
  const LinkTerms terms = {.efficiency = 0.8, .gather_efficiency = 0.5, .gather_falloff = 0.1};
  const NodeGroup eight = {.nodes = 8, .ranks_per_node = 4};
  CHECK(hop_times(machine, CollectiveKind::all_reduce, eight, terms).between_bytes_per_us == Approx(80e3));
  CHECK(hop_times(machine, CollectiveKind::all_gather, eight, terms).between_bytes_per_us ==
        Approx(80e3 * 0.5 * 0.9 * 0.9));
}

TEST_CASE("messages one by one are simulated up to 64 ranks, one way at a time") {
  CHECK_THAT(error_of([] {
               simulated_hops_us(CollectiveKind::all_reduce, CollectiveWay::ring, {65, 1}, kUneven, 1);
             }),
             Says("at most 64"));
  CHECK_THAT(error_of([] {
               simulated_hops_us(CollectiveKind::all_reduce, CollectiveWay::quickest, {2, 1}, kUneven, 1);
             }),
             Says("ring, tree or hierarchical"));
  CHECK_THAT(error_of([] {
               collective_us(CollectiveKind::all_gather, CollectiveWay::tree, {2, 1}, kUneven, 1);
             }),
             Says("gathers nothing"));
  CHECK(simulated_hops_us(CollectiveKind::all_reduce, CollectiveWay::ring, {1, 1}, kUneven, 1e6) == 0);
}
