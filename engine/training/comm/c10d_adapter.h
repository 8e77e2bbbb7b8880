#pragma once
// Our Comm as a backend of c10d, so that parts of libtorch that want a ProcessGroup (the Reducer) work with
// every backend, link and check of ours. Names c10d: for .cpp files only.
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "comm/comm.h"

namespace isobar {

/// A process group whose all-reduce (sum), broadcast and all-gather are those of `comm`, which outlives it.
///
/// An all-reduce that is called within a backward pass returns at once. It is waited for where that pass
/// ends, in front of whatever was queued there later, so that its future is complete when the Reducer asks
/// for it; no thread is needed for that. Without `overlap` it also starts there only. `what` names the
/// tensors in errors and timelines, with their number since `restart_numbers`: "bucket 0".
c10::intrusive_ptr<c10d::ProcessGroup> make_process_group(Comm& comm, const std::string& what, bool overlap);

/// The next all-reduce of `group`, made by `make_process_group`, is number 0.
void restart_numbers(c10d::ProcessGroup& group);
/// When its all-reduces since then ran.
const std::vector<CollectiveTimes>& times_of(c10d::ProcessGroup& group);

}  // namespace isobar
