#include "ring/meeting.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "core/waiting.h"

namespace isobar {
namespace {

constexpr std::int64_t kFileLook_us = 1000;
constexpr std::int64_t kNoEnd_us = std::int64_t{1} << 60;
constexpr std::uint64_t kMostAddress_bytes = 4096;
constexpr const char* kMemoryHint =
    "ranks that share memory run on one machine, in one container; fewer need less";

void wait_for_file(const std::string& file, int rank, const RingMeeting& meeting) {
  const std::int64_t due_us = due_of(meeting);
  while (!std::filesystem::exists(file)) {
    if (steady_us() >= due_us)
      throw Error(fmt::format("rank {} did not come within {:g} s", rank,
                              1e-6 * static_cast<double>(meeting.timeout_us)),
                  "the meeting of the ranks", "see the last output of that rank", Exit::failed);
    pause_us(kFileLook_us);
  }
}

}  // namespace

std::int64_t due_of(const RingMeeting& meeting) {
  return steady_us() + std::min(meeting.timeout_us, kNoEnd_us);
}

std::vector<SharedMemory> meet_at_file(const RingMeeting& meeting, const std::string& name,
                                       const std::vector<std::uint64_t>& bytes) {
  const std::string door = fmt::format("{}.{}", meeting.file, name);
  const auto came = [&](int rank) { return fmt::format("{}-{}", door, rank); };
  std::vector<SharedMemory> out;
  if (meeting.rank != 0) {
    wait_for_file(door, 0, meeting);
    const std::vector<std::string> doors = split(read_text_file(door, kMostAddress_bytes), '\n');
    for (std::size_t i = 0; i < bytes.size(); ++i)
      out.push_back(SharedMemory::open(doors.at(i), bytes[i], kMemoryHint));
    write_file_whole(came(meeting.rank), std::string_view("came"));
    return out;
  }
  std::string doors;
  for (const std::uint64_t size : bytes) {
    out.push_back(SharedMemory::make(size, kMemoryHint));
    doors += (doors.empty() ? "" : "\n") + out.back().address();
  }
  write_file_whole(door, std::string_view(doors));
  for (int other = 1; other < meeting.size; ++other) wait_for_file(came(other), other, meeting);
  for (SharedMemory& memory : out) memory.close_door();
  return out;
}

}  // namespace isobar
