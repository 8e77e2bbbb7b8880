#pragma once
// Gloo and NCCL through c10d. Names c10d: for comm/*.cpp only.
#include <chrono>
#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "comm/transport.h"

namespace isobar {

/// How long Gloo and NCCL may wait by themselves: Comm has the shorter patience, does not count the time that
/// a process is stopped, and reports more.
inline constexpr auto kTransportPatience = std::chrono::hours(48);

/// Connects within `timeout_s`. `name` sets groups apart that share a store. `interface` as comm.interface;
/// "" with `local` = loopback.
std::unique_ptr<Transport> make_gloo_transport(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                               int size, const std::string& name, double timeout_s,
                                               bool local, const std::string& interface);

/// Any backend of c10d as a transport; `blocks_stream` as Transport::blocks_stream.
std::unique_ptr<Transport> make_c10d_transport(c10::intrusive_ptr<c10d::Backend> backend,
                                               bool blocks_stream = false);

}  // namespace isobar
