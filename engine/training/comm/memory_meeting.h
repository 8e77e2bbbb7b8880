#pragma once
// How ranks of one machine come to the same memory: through the store. Names c10d: for comm/*.cpp only.
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "ring/shared_memory.h"

namespace isobar {

/// This process among those that meet in a store.
struct GroupMeeting {
  c10::intrusive_ptr<c10d::Store> store;
  int rank = 0;              ///< in the group
  std::vector<int> members;  ///< ranks of the world, by rank in the group
  double timeout_s = 0;

  int size() const { return static_cast<int>(members.size()); }
};

/// `bytes` zeros that all ranks share; nobody can open them from outside when this returns. `name` sets
/// uses of one store apart and is used once. Error (exit code 1) on every rank when any of them cannot:
/// memory that is not there, ranks of several machines, a rank that does not come within `timeout_s`.
SharedMemory meet_in_memory(const GroupMeeting& group, const std::string& name, std::uint64_t bytes);

/// The text of every rank, by rank. `where` is for the Error about a rank that does not come.
std::vector<std::string> exchange_texts(const GroupMeeting& group, const std::string& name,
                                        const std::string& mine, const std::string& where);

}  // namespace isobar
