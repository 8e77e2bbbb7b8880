#pragma once
// A collective as the messages that it consists of, on a clock of events: what cluster/collective.h gives as
// a formula.
#include "cluster/collective.h"

namespace isobar {

inline constexpr int kMostHopRanks = 64;

/// Until the last rank has what it is to have. Each rank of a node has a link to the next, each node a card
/// in each direction. Error (exit code 2) for more than kMostHopRanks ranks, and for `quickest`.
double simulated_hops_us(CollectiveKind what, CollectiveWay way, const NodeGroup& group, const HopTimes& hops,
                         double bytes);

}  // namespace isobar
