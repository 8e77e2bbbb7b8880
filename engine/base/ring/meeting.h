#pragma once
// Ranks of one machine that meet at a file, and have memory in common from then on. Torch-free.
#include <cstdint>
#include <string>
#include <vector>

#include "ring/shared_memory.h"

namespace isobar {

/// Who meets whom: RankEnvironment has all of it.
struct RingMeeting {
  std::string file;  ///< every rank's the same, in a folder that its launcher removes; what is written there
                     ///< has names that begin with this one
  int rank = 0;
  int size = 1;
  std::int64_t timeout_us = 120'000'000;
  bool* followed = nullptr;  ///< set where a call of this rank fails, so that another one is to blame
};

/// When a wait of the meeting that begins now is over (steady_us).
std::int64_t due_of(const RingMeeting& meeting);

/// Zeros of these sizes, the same memory on every rank: rank 0 makes it, and nobody else can open it once its
/// call has returned. `name` distinguishes meetings at one file and is used once. Error (exit code 1) for
/// memory that cannot be had, and for a rank that does not come in time (rank 0 waits for all, the others for
/// it).
std::vector<SharedMemory> meet_at_file(const RingMeeting& meeting, const std::string& name,
                                       const std::vector<std::uint64_t>& bytes);

}  // namespace isobar
