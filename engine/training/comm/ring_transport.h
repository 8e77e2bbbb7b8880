#pragma once
// Our own ring over shared memory (comm/ring_engine.h) as a transport. Names c10d: for comm/*.cpp only.
#include <memory>
#include <string>

#include "comm/memory_meeting.h"
#include "comm/transport.h"

namespace isobar {

/// For ranks of one machine; `name` sets groups apart that share a store. Error (exit code 1) on every rank
/// when they are on several machines, or there is not enough memory. It takes float32, float64, float16,
/// bfloat16, int32, int64 and uint8 on the CPU; a mean of whole numbers is refused. The first all-to-all of
/// more than two ranks waits for all of them, and gets 1 MiB a pair.
std::unique_ptr<Transport> make_ring_transport(const GroupMeeting& group, const std::string& name);

}  // namespace isobar
