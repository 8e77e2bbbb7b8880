#pragma once
// Who is missing when a collective does not end, and what that one is doing: in words, from the status files
// (launch/rank_status.h) and from what waiting ranks leave at the meeting.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/comm_group.h"
#include "core/error.h"

namespace isobar {

/// "group pair.0, exchange 4: checkpoint": what a rank waits for outside the world, for its status.
std::string status_text(const CommGroup& core, const Waited& waited);

/// Says at the meeting that this rank waits here.
void leave_waiting(CommGroup& core, const Waited& waited) noexcept;

/// The rank of the world that ended first, if one has that did not follow another; in `how` what is known.
std::optional<int> ended_rank(const CommGroup& core, std::string& how);

/// `ended_rank` for a process that is about to be gone: connections close a moment before.
std::optional<int> ended_rank_soon(const CommGroup& core, std::string& how);

/// "waited 10 s for collective 37: all_reduce f32[1024] bucket 3": who arrived, who did not.
Error late_error(CommGroup& core, const Waited& waited, double waited_s);

/// A rank is gone: which one, and that this is a consequence. `raw` is the transport's text. Where only
/// ranks are gone that gave up waiting themselves, a late_error.
Error lost_error(CommGroup& core, const Waited& waited, double waited_s, const std::string& raw);

}  // namespace isobar
