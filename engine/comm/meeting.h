#pragma once
// Where ranks find each other: a store of keys and values that all of them see. Names c10d: for comm/*.cpp
// only.
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "launch/rank_environment.h"

namespace isobar {

/// The store of the whole world: a file for ranks of one machine, else a TCP store that rank 0 serves. Waits
/// for all ranks at most `timeout_s`. Error that says who did not come, whose port it is, or which host
/// cannot be reached.
c10::intrusive_ptr<c10d::Store> meet(const RankEnvironment& environment, double timeout_s);

}  // namespace isobar
