#pragma once
// Where ranks find each other: a store of keys and values that all of them see. Names c10d: for comm/*.cpp
// only.
#include <cstdint>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "launch/rank_environment.h"

namespace isobar {

struct Meeting {
  c10::intrusive_ptr<c10d::Store> store;
  std::string machine;          ///< this rank's machine: host and start of its system
  std::uint64_t launch = 0;     ///< one number for all ranks, different in every launch
  bool on_one_machine = false;  ///< all ranks have the same `machine`
  std::string note;             ///< "store on nid001:29500 is open to this network, no authorisation"
};

/// The store of the whole world: a file for ranks that `./isobar run` started, else a TCP store that rank 0
/// serves on the interface of its address only. Waits for all ranks at most `timeout_s`; after 5 s it prints
/// on standard error whom it waits for. Errors (exit code 1 where waiting did not help, else 2): a name that
/// nothing is known of, a host that cannot be reached, a port that another program holds (which one, where
/// that can be seen), ranks that did not come, a rank that is there twice because two launches use one port,
/// another number of ranks on one of them.
Meeting meet(const RankEnvironment& environment, double timeout_s);

}  // namespace isobar
