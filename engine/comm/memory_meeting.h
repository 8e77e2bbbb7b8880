#pragma once
// How ranks of one machine come to the same memory: through the store. Names c10d: for comm/*.cpp only.
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "comm/shared_memory.h"

namespace isobar {

/// The same `bytes` zeros on every rank; nobody can open them from outside when this returns. `name` sets
/// uses of one store apart and is used once. Error (exit code 1) on every rank when any of them cannot:
/// memory that is not there, ranks of several machines, a rank that does not come within `timeout_s`.
SharedMemory meet_in_memory(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                            const std::string& name, std::uint64_t bytes, double timeout_s);

/// The same text of every rank, by rank.
std::vector<std::string> exchange_texts(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                        const std::string& name, const std::string& mine, double timeout_s);

}  // namespace isobar
