#pragma once
// An emulated link around any transport, for ranks of one machine: a collective ends when the link would have
// done it. Names c10d: for comm/*.cpp only.
#include <memory>
#include <string>

#include "comm/memory_meeting.h"
#include "comm/transport.h"
#include "formula/link.h"

namespace isobar {

/// Every collective ends at max(last rank's call, end of the one before) + cost, with the costs of a ring
/// (formula/link.h). The calls of all ranks are on a board that all see, so they agree to the microsecond
/// about the end. An all-to-all costs each rank its own messages: behind one that is uneven each rank goes by
/// an end of its own, until collectives pause. Nothing computes meanwhile: a waiting rank sleeps. Where
/// `inner` itself takes longer, its end counts, and `note` reports it. `name` sets groups apart that share a
/// store. Error (exit code 1) on every rank when they are on several machines.
std::unique_ptr<Transport> make_linked_transport(std::unique_ptr<Transport> inner, const Link& link,
                                                 const GroupMeeting& group, const std::string& name);

}  // namespace isobar
