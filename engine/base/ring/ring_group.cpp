#include "ring/ring_group.h"

#include <fmt/format.h>

#include <filesystem>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/waiting.h"

namespace isobar {
namespace {

constexpr std::int64_t kBetweenLooks_us = 1000;
constexpr std::uint64_t kMostAddress_bytes = 4096;

std::string door_of(const RingMeeting& meeting) { return meeting.file + ".ring"; }
std::string came_of(const RingMeeting& meeting, int rank) {
  return fmt::format("{}.ring-{}", meeting.file, rank);
}

void wait_for_file(const std::string& file, int rank, const RingMeeting& meeting) {
  const std::int64_t due_us = steady_us() + meeting.timeout_us;
  while (!std::filesystem::exists(file)) {
    if (steady_us() >= due_us)
      throw Error(fmt::format("rank {} did not come within {:g} s", rank,
                              1e-6 * static_cast<double>(meeting.timeout_us)),
                  "the meeting of the ranks", "look at what that rank said last", Exit::failed);
    pause_us(kBetweenLooks_us);
  }
}

/// Rank 0 makes the memory, the others open it; nobody else can when this returns.
SharedMemory meet(const RingMeeting& meeting) {
  const std::uint64_t bytes = RingEngine::bytes(meeting.size);
  if (meeting.rank != 0) {
    wait_for_file(door_of(meeting), 0, meeting);
    SharedMemory memory = SharedMemory::open(read_text_file(door_of(meeting), kMostAddress_bytes), bytes);
    write_file_whole(came_of(meeting, meeting.rank), std::string_view("came"));
    return memory;
  }
  SharedMemory memory = SharedMemory::make(bytes);
  write_file_whole(door_of(meeting), std::string_view(memory.address()));
  for (int other = 1; other < meeting.size; ++other) wait_for_file(came_of(meeting, other), other, meeting);
  memory.close_door();
  return memory;
}

}  // namespace

RingGroup::RingGroup(const RingMeeting& meeting)
    : rank_(meeting.rank), size_(meeting.size), timeout_us_(meeting.timeout_us) {
  if (size_ > 1) engine_ = std::make_unique<RingEngine>(meet(meeting), rank_, size_);
}

void RingGroup::broadcast(std::span<double> values, int root) {
  auto* const bytes = reinterpret_cast<std::byte*>(values.data());
  run({.kind = RingKind::broadcast,
       .type = CombineType::f64,
       .root = root,
       .elements = static_cast<std::int64_t>(values.size()),
       .in = bytes,
       .out = bytes});
}

void RingGroup::all_reduce(std::span<double> values, bool divides) {
  auto* const bytes = reinterpret_cast<std::byte*>(values.data());
  run({.kind = RingKind::all_reduce,
       .type = CombineType::f64,
       .divides = divides,
       .elements = static_cast<std::int64_t>(values.size()),
       .in = bytes,
       .out = bytes});
}

void RingGroup::run(RingRequest request) {
  if (engine_ == nullptr) return;
  const std::shared_ptr<RingJob> job = engine_->start(std::move(request));
  if (!engine_->wait(*job, timeout_us_))
    throw Error(
        fmt::format("another rank did not come within {:g} s", 1e-6 * static_cast<double>(timeout_us_)),
        fmt::format("rank {}", rank_), "do all ranks call the same things in the same order?", Exit::failed);
  steps_ = job->steps();
}

}  // namespace isobar
