#include <cmath>

#include "formula/link.h"
#include "formula/overlap.h"
#include "support/catch.h"

using namespace isobar;

TEST_CASE("a ring sends 2 (n - 1) messages and 2 (n - 1) / n of the bytes") {
  CHECK(ring_messages(8) == 14);
  CHECK(ring_bytes(8, 100e6) == 175e6);
  CHECK(ring_messages(1) == 0);
  CHECK(ring_bytes(1, 100e6) == 0);
}

TEST_CASE("the gradients of cpu_tiny take 22.7 ms between two ranks at 1 Gb/s, 0.2 ms at 100") {
  constexpr double kBytes = 708'960 * 4;
  CHECK(ring_all_reduce_us(link_of(0, 1), 2, kBytes) == Approx(22.7e3).epsilon(0.002));
  CHECK(ring_all_reduce_us(link_of(0, 100), 2, kBytes) == Approx(227).epsilon(0.002));
  CHECK(ring_all_reduce_us(link_of(50, 1), 4, 1e6) == Approx(6 * 50 + 1.5e6 / 125));
  CHECK(ring_half_us(link_of(50, 1), 4, 1e6) == Approx(3 * 50 + 0.75e6 / 125));
}

TEST_CASE("one rank takes no time, and no limit means latency alone") {
  const Link link = link_of(10, 1);
  CHECK(ring_all_reduce_us(link, 1, 1e6) == 0);
  CHECK(tree_all_reduce_us(link, 1, 1e6) == 0);
  CHECK(naive_all_reduce_us(link, 1, 1e6) == 0);
  CHECK(broadcast_us(link, 1, 1e6) == 0);
  CHECK(ring_all_reduce_us(link_of(10, 0), 3, 1e9) == 40);
  CHECK(broadcast_us(link_of(10, 0), 3, 1e9) == 20);
}

TEST_CASE("a tree has a level for each doubling of the ranks, begun ones too") {
  CHECK(tree_levels(1) == 0);
  CHECK(tree_levels(2) == 1);
  CHECK(tree_levels(3) == 2);
  CHECK(tree_levels(4) == 2);
  CHECK(tree_levels(5) == 3);
  CHECK(tree_levels(8) == 3);
}

TEST_CASE("a tree passes the whole buffer at each level; naively all of it goes over one link") {
  const Link link = link_of(50, 1);
  CHECK(tree_all_reduce_us(link, 4, 1e6) == Approx(2 * 2 * (50 + 1e6 / 125)));
  CHECK(tree_all_reduce_us(link, 5, 1e6) == Approx(2 * 3 * (50 + 1e6 / 125)));
  CHECK(naive_all_reduce_us(link, 4, 1e6) == Approx(2 * 50 + 2 * 3 * 1e6 / 125));
  CHECK(naive_all_reduce_us(link_of(50, 0), 16, 1e6) == Approx(100));
}

TEST_CASE("between 64 ranks a small buffer is quicker over a tree, a large one over the ring") {
  const Link link = link_of(10, 100);
  CHECK(tree_all_reduce_us(link, 64, 65536) < ring_all_reduce_us(link, 64, 65536));
  const double border = ring_overtakes_tree_bytes(link, 64);
  CHECK(border > 65536);
  CHECK(ring_all_reduce_us(link, 64, border) == Approx(tree_all_reduce_us(link, 64, border)));
  CHECK(ring_all_reduce_us(link, 64, 2 * border) < tree_all_reduce_us(link, 64, 2 * border));
  CHECK(ring_overtakes_tree_bytes(link, 1) == 0);
  CHECK(ring_overtakes_tree_bytes(link, 2) == 0);  // 2 messages either way
  CHECK(std::isinf(ring_overtakes_tree_bytes(link_of(10, 0), 64)));
  CHECK(naive_all_reduce_us(link, 64, 1e9) > 60 * ring_all_reduce_us(link, 64, 1e9));
}

TEST_CASE("bandwidths as nccl-tests counts them") {
  // 4 A100, 132.7 MB in 999 us.
  CHECK(algorithm_bandwidth(132.7e6, 999) * 1e-3 == Approx(132.8).epsilon(0.001));
  CHECK(bus_bandwidth(4, 132.7e6, 999) * 1e-3 == Approx(199).epsilon(0.002));
  CHECK(algorithm_bandwidth(1, 0) == 0);
}

TEST_CASE("NCCL's latencies: rings die of them at hundreds of nodes, trees do not") {
  CHECK(nccl_ring_latency_us({.nodes = 16, .ranks_per_node = 4}) * 1e-3 == Approx(0.75).epsilon(0.01));
  CHECK(nccl_tree_latency_us({.nodes = 16, .ranks_per_node = 4}) * 1e-3 == Approx(0.14).epsilon(0.04));
  CHECK(nccl_ring_latency_us({.nodes = 512, .ranks_per_node = 4}) * 1e-3 == Approx(25).epsilon(0.01));
  CHECK(nccl_tree_latency_us({.nodes = 512, .ranks_per_node = 4}) * 1e-3 == Approx(0.28).epsilon(0.02));
  const NcclShape pair{.ranks_per_node = 2, .wire = NcclWire::pcie, .protocol = NcclProtocol::ll};
  CHECK(nccl_ring_latency_us(pair) == Approx(6.6 + 2 * 1.0));
  CHECK(nccl_tree_latency_us(pair) == Approx(6.8 + 2 * 1.0));
}

TEST_CASE("a bucket goes when it is ready and the one before is done") {
  const std::vector<BucketTime> buckets = {{10, 30}, {20, 30}, {90, 30}};
  CHECK(bucket_finishes_us(buckets) == std::vector<double>{40, 70, 120});
  const OverlappedStep step{.forward_us = 50, .backward_us = 100, .optimize_us = 5};
  CHECK(exposed_us(step, buckets) == 20);
  CHECK(overlapped_step_us(step, buckets) == 175);
  OverlappedStep slowed = step;
  slowed.slowdown = 0.15;
  CHECK(exposed_us(slowed, buckets) == Approx(5));
  CHECK(overlapped_step_us(slowed, buckets) == Approx(175));
  slowed.slowdown = 0.5;
  CHECK(exposed_us(slowed, buckets) == 0);
  CHECK(overlapped_step_us(slowed, buckets) == 205);
  CHECK(overlapped_step_us(step, {}) == 155);
  CHECK(bucket_finishes_us({}).empty());
}
