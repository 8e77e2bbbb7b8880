#pragma once
// States of training that data-parallel ranks share out instead of copying them (ZeRO: Rajbhandari et al.
// 2020; hybrid sharding: Zhao et al. 2023, "PyTorch FSDP"): bytes on a rank, and bytes that a rank sends. Y
// parameters of a model on this rank, n ranks that share one set of states, k such groups, S = 4 Y bytes.
#include <cstdint>

#include "config/config.h"

namespace isobar {

struct StateShares {
  std::int64_t stage = 0;   ///< mesh.zero
  std::int64_t ranks = 1;   ///< n
  std::int64_t copies = 1;  ///< k
  bool gathers_16 = false;  ///< weights are gathered in 16 bits
  bool reshards = true;     ///< stage 3: weights are gathered for forward and again for backward
  OffloadKind offload = OffloadKind::none;
  std::int64_t passes = 1;  ///< train.accumulate
};

StateShares state_shares(const Config& config);

/// Bytes of one rank, without padding. In float32 and without offload: 16 Y; stage 1 (8 + 8/n) Y; stage 2
/// (4 + 12/n) Y; stage 3 16 Y/n.
struct StateBytes {
  double weights = 0;  ///< 4 Y, of stage 3 4 Y/n
  double master = 0;   ///< 4 Y/n: this rank's share in float32, beside weights that were gathered in 16 bits
  double gradients = 0;  ///< 4 Y, from stage 2 on 4 Y/n
  double moments = 0;    ///< 8 Y, from stage 1 on 8 Y/n
  /// Moments, and master weights and gradients that the update there works on; of weights that lie there and
  /// are gathered in 16 bits what is uploaded too.
  double host = 0;
  double on_device() const { return weights + master + gradients + moments; }
};
StateBytes state_bytes(double parameters, const StateShares& shares);

/// Bytes that a rank sends in a step: in its group of n, and to the other groups. An
/// all-reduce of B bytes sends 2 (n - 1)/n B, a reduce-scatter or a gather half of it. In units of S (n -
/// 1)/n with one group: 2, 2, 2, 3 by stage, or with gathers in 16 bits 2, 1.5, 1.5, 2. Between groups 2 (k -
/// 1)/k S/n. From stage 2 on sums inside a group travel in each pass, and weights of stage 3 are gathered for
/// each. Stage 0 with several groups is the hierarchical all-reduce: reduce-scatter, all-reduce of the share,
/// gather.
struct StateTraffic {
  double inside = 0;
  double between = 0;
  double total() const { return inside + between; }
};
StateTraffic state_traffic(double parameters, const StateShares& shares);

/// Bytes that go to host memory and come back in a step: gradients down and weights up, 8 Y/n; weights that
/// lie there are uploaded for each gather instead, in the bytes in which they are gathered.
double offload_bytes(double parameters, const StateShares& shares);

}  // namespace isobar
