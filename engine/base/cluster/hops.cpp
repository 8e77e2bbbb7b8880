#include "cluster/hops.h"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/events.h"
#include "core/error.h"
#include "formula/link.h"

namespace isobar {
namespace {

using Id = EventSimulation::Id;

/// Ranks with their links, and the last message that each received.
class Hops {
 public:
  Hops(const NodeGroup& group, const HopTimes& hops) : group_(group), hops_(hops) {
    const auto ranks = static_cast<std::size_t>(group.ranks());
    for (std::size_t r = 0; r < ranks; ++r) {
      inside_.push_back(events_.add_resource());
      lane_.push_back(events_.add_resource());
    }
    has_.assign(ranks, EventSimulation::kNoResource);
  }

  /// Each rank of `senders` sends to receiver(rank) what needs all that it had when the round began.
  template <class Receiver>
  void round(const std::vector<int>& senders, const Receiver& receiver, double bytes, double lane_share) {
    const std::vector<Id> had = has_;
    for (const int from : senders) {
      const int to = receiver(from);
      const Id sent = send(from, to, bytes, lane_share);
      if (const Id before = had[static_cast<std::size_t>(from)]; before >= 0) events_.depend(sent, before);
      join(to, sent);
    }
  }

  /// A message that needs nothing.
  void send_freely(int from, int to, double bytes, double lane_share) {
    last_.push_back(send(from, to, bytes, lane_share));
  }

  double end_us() {
    events_.run();
    double out = 0;
    for (const Id id : has_)
      if (id >= 0) out = std::max(out, events_.end_us(id));
    for (const Id id : last_) out = std::max(out, events_.end_us(id));
    return out;
  }

 private:
  Id send(int from, int to, double bytes, double lane_share) {
    const bool stays = from / group_.ranks_per_node == to / group_.ranks_per_node;
    const double rate = stays ? hops_.inside_bytes_per_us : hops_.between_bytes_per_us * lane_share;
    return events_.add((stays ? inside_ : lane_)[static_cast<std::size_t>(from)], rate > 0 ? bytes / rate : 0,
                       stays ? hops_.inside_latency_us : hops_.between_latency_us);
  }

  /// From now on `rank` has what it had and `message`.
  void join(int rank, Id message) {
    Id& has = has_[static_cast<std::size_t>(rank)];
    if (has < 0) {
      has = message;
      return;
    }
    const Id both = events_.add(EventSimulation::kNoResource, 0);
    events_.depend(both, has);
    events_.depend(both, message);
    has = both;
  }

  NodeGroup group_;
  HopTimes hops_;
  EventSimulation events_;
  std::vector<Id> inside_, lane_, has_, last_;
};

std::vector<int> all_ranks(const NodeGroup& group) {
  std::vector<int> out;
  for (int r = 0; r < group.ranks(); ++r) out.push_back(r);
  return out;
}

void go_round(const NodeGroup& group, double bytes, int rounds, Hops& hops) {
  for (int i = 0; i < rounds; ++i)
    hops.round(
        all_ranks(group), [&](int r) { return (r + 1) % group.ranks(); }, bytes / group.ranks(), 1);
}

/// Trees over `count` ranks at a distance of `stride`, each from one of `roots`; `up` sends to the lower
/// rank.
void climb(const std::vector<int>& roots, int count, int stride, bool up, double bytes, Hops& hops) {
  const int levels = tree_levels(count);
  for (int i = 0; i < levels; ++i) {
    const int distance = 1 << (up ? i : levels - 1 - i);
    std::vector<int> senders;
    for (const int root : roots)
      for (int lower = 0; lower + distance < count; lower += 2 * distance)
        senders.push_back(root + (up ? lower + distance : lower) * stride);
    hops.round(
        senders, [&](int r) { return r + (up ? -distance : distance) * stride; }, bytes, 1);
  }
}

void up_and_down(const NodeGroup& group, double bytes, Hops& hops) {
  std::vector<int> firsts;
  for (int node = 0; node < group.nodes; ++node) firsts.push_back(node * group.ranks_per_node);
  climb(firsts, group.ranks_per_node, 1, /*up=*/true, bytes, hops);
  climb({0}, group.nodes, group.ranks_per_node, /*up=*/true, bytes, hops);
  climb({0}, group.nodes, group.ranks_per_node, /*up=*/false, bytes, hops);
  climb(firsts, group.ranks_per_node, 1, /*up=*/false, bytes, hops);
}

void ring_in_nodes(const NodeGroup& group, double bytes, Hops& hops) {
  const int ranks = group.ranks_per_node;
  for (int i = 0; i + 1 < ranks; ++i)
    hops.round(
        all_ranks(group), [&](int r) { return r / ranks * ranks + (r + 1) % ranks; }, bytes / ranks, 1);
}

/// ceil(log2(nodes)) rounds; in each, ranks of a node send their blocks at once, each over its share.
void double_over_nodes(const NodeGroup& group, double bytes, bool falling, Hops& hops) {
  const int levels = tree_levels(group.nodes), ranks = group.ranks_per_node;
  for (int i = 0; i < levels; ++i) {
    const int distance = 1 << (falling ? levels - 1 - i : i);
    const int blocks = std::min(distance, group.nodes - distance);
    const double block = bytes / ranks / group.nodes;
    hops.round(
        all_ranks(group), [&](int r) { return (r + distance * ranks) % group.ranks(); }, blocks * block,
        1.0 / ranks);
  }
}

void in_levels(CollectiveKind what, const NodeGroup& group, double bytes, Hops& hops) {
  if (what != CollectiveKind::all_gather) {
    ring_in_nodes(group, bytes, hops);
    double_over_nodes(group, bytes, /*falling=*/true, hops);
  }
  if (what != CollectiveKind::reduce_scatter) {
    double_over_nodes(group, bytes, /*falling=*/false, hops);
    ring_in_nodes(group, bytes, hops);
  }
}

}  // namespace

double simulated_hops_us(CollectiveKind what, CollectiveWay way, const NodeGroup& group,
                         const HopTimes& times, double bytes) {
  if (group.ranks() > kMostHopRanks)
    throw Error(fmt::format("{} ranks, whose messages are not simulated one by one", group.ranks()),
                "collective", fmt::format("at most {}", kMostHopRanks));
  if (way == CollectiveWay::quickest)
    throw Error("messages go one way", "collective", "ring, tree or hierarchical");
  const bool is_ring =
      way == CollectiveWay::ring && what != CollectiveKind::send && what != CollectiveKind::all_to_all;
  Hops hops(group, is_ring ? ring_hops(group, times) : times);
  const int n = group.ranks();
  if (n < 2) return 0;
  if (what == CollectiveKind::send) {
    hops.send_freely(0, group.nodes > 1 ? group.ranks_per_node : 1, bytes, 1);
  } else if (what == CollectiveKind::all_to_all) {
    for (int distance = 1; distance < n; ++distance)
      for (int r = 0; r < n; ++r)
        hops.send_freely(r, (r + distance) % n, bytes / n, 1.0 / group.ranks_per_node);
  } else if (way == CollectiveWay::ring) {
    go_round(group, bytes, (what == CollectiveKind::all_reduce ? 2 : 1) * (n - 1), hops);
  } else if (way == CollectiveWay::tree) {
    up_and_down(group, bytes, hops);
  } else {
    in_levels(what, group, bytes, hops);
  }
  return hops.end_us();
}

}  // namespace isobar
