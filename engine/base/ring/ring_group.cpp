#include "ring/ring_group.h"

#include <fmt/format.h>

#include <filesystem>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
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

struct Shared {
  SharedMemory ring, calls;
};

/// Rank 0 makes the memory, the others open it; nobody else can when this returns.
Shared meet(const RingMeeting& meeting) {
  const std::uint64_t ring = RingEngine::bytes(meeting.size), calls = CallBoard::bytes(meeting.size);
  if (meeting.rank != 0) {
    wait_for_file(door_of(meeting), 0, meeting);
    const std::vector<std::string> doors = split(read_text_file(door_of(meeting), kMostAddress_bytes), '\n');
    Shared out{SharedMemory::open(doors.at(0), ring), SharedMemory::open(doors.at(1), calls)};
    write_file_whole(came_of(meeting, meeting.rank), std::string_view("came"));
    return out;
  }
  Shared out{SharedMemory::make(ring), SharedMemory::make(calls)};
  write_file_whole(door_of(meeting), std::string_view(out.ring.address() + "\n" + out.calls.address()));
  for (int other = 1; other < meeting.size; ++other) wait_for_file(came_of(meeting, other), other, meeting);
  out.ring.close_door();
  out.calls.close_door();
  return out;
}

std::string text_of(const RingCall& call) {
  static constexpr const char* kReduced[] = {"sum", "mean", "largest"};
  if (call.kind == RingKind::broadcast)
    return fmt::format("broadcast of {} numbers from rank {}", call.elements, call.root);
  return fmt::format("{} of {} numbers", kReduced[call.reduced], call.elements);
}

}  // namespace

RingGroup::RingGroup(const RingMeeting& meeting)
    : rank_(meeting.rank), size_(meeting.size), timeout_us_(meeting.timeout_us) {
  if (size_ == 1) return;
  Shared shared = meet(meeting);
  engine_ = std::make_unique<RingEngine>(std::move(shared.ring), rank_, size_);
  calls_ = std::make_unique<CallBoard>(std::move(shared.calls), rank_, size_);
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

void RingGroup::all_reduce(std::span<double> values, Reduced reduced) {
  auto* const bytes = reinterpret_cast<std::byte*>(values.data());
  run({.kind = RingKind::all_reduce,
       .type = CombineType::f64,
       .takes_larger = reduced == Reduced::largest,
       .divides = reduced == Reduced::mean,
       .elements = static_cast<std::int64_t>(values.size()),
       .in = bytes,
       .out = bytes});
}

void RingGroup::run(RingRequest request) {
  if (engine_ == nullptr) return;
  const RingCall own{.kind = request.kind,
                     .reduced = request.takes_larger ? 2
                                : request.divides    ? 1
                                                     : 0,
                     .root = request.root,
                     .elements = request.elements};
  const std::int64_t number = called_++;
  calls_->post(number, own);
  const std::shared_ptr<RingJob> job = engine_->start(std::move(request));
  followed_ = true;  // until it went well
  bool in_time = false;
  try {
    in_time = engine_->wait(*job, timeout_us_);
  } catch (const Error&) {  // a rank that ended, perhaps since it saw what is seen here
    check_calls(number, own);
    throw;
  }
  check_calls(number, own);
  if (!in_time)
    throw Error(
        fmt::format("another rank did not come within {:g} s", 1e-6 * static_cast<double>(timeout_us_)),
        fmt::format("rank {}, {}", rank_, text_of(own)),
        "do all ranks call the same things in the same order?", Exit::failed);
  followed_ = false;
  steps_ = job->steps();
}

void RingGroup::check_calls(std::int64_t number, const RingCall& own) const {
  const std::optional<CallBoard::Other> other = calls_->other_than(number, own);
  if (!other) return;
  engine_->abort();
  throw Error(fmt::format("rank {} calls a {}, and rank {} a {}", rank_, text_of(own), other->rank,
                          text_of(other->call)),
              fmt::format("collective {}", number + 1), "all ranks call the same things in the same order",
              Exit::failed);
}

}  // namespace isobar
