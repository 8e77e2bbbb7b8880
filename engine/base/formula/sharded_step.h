#pragma once
// How long the collectives of shared states (mesh.zero) take beside a step's computing: bucket by bucket
// behind backward, and of stage 3 unit by unit in front of what computes.
#include <cstdint>
#include <vector>

#include "formula/link.h"
#include "formula/state_shares.h"

namespace isobar {

struct ShardedWork {
  StateShares shares;
  Link inside;                     ///< between the ranks that share states
  Link between;                    ///< between their groups
  std::vector<double> unit_bytes;  ///< float32 weights of each unit, in the order of the forward pass
  double bucket_bytes = 0;         ///< stages 0 to 2: units of a bucket are full once they reach it
  std::int64_t prefetch = 1;       ///< stage 3: units that are gathered ahead
  double forward_us = 0;           ///< computing alone, spread over the units by their bytes
  double backward_us = 0;
};

struct ShardedTimes {
  double forward_us = 0;   ///< with the waits for weights in it
  double backward_us = 0;  ///< with the waits for weights in it
  double comm_us = 0;      ///< behind backward: what is left of sums, and gathers behind the update
  double comm_total_us = 0;
  double sums_us = 0;        ///< part of comm_us: what is left of sums alone
  double sums_total_us = 0;  ///< part of comm_total_us: all sums
};

/// One stream does all collectives, in order: gather of the next units, sums of finished ones. A gather
/// begins once the unit that is `prefetch` in front of it does.
ShardedTimes sharded_times(const ShardedWork& work);

}  // namespace isobar
