#include "ring/ring_links.h"

#include <fmt/format.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <ctime>

#include "core/clock.h"
#include "core/processors.h"

namespace isobar {
namespace {

constexpr std::int64_t kSleeperLook_us = 50'000;  // how often a sleeper looks whether the others live
constexpr int kPauses = 2000;                     // before a rank sleeps
constexpr int kPausesInCrowd = 10;
constexpr int kTurnsInCrowd = 20;
constexpr std::uint64_t kSlotBytesOfRank = std::uint64_t{RingLinks::kSlots} * RingLinks::kSlotBytes;
constexpr std::int64_t kGrace_us = 500'000;  // a rank that is no neighbour may have done its part

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* timeout) {
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, timeout, nullptr, 0);
}

bool reached(std::uint32_t value, std::uint32_t target) {
  return static_cast<std::int32_t>(value - target) >= 0;  // both wrap around
}

}  // namespace

struct RingLinks::Word {
  alignas(64) std::atomic<std::uint32_t> value;
  std::atomic<std::uint32_t> sleeps;  ///< somebody wants to be woken
};

struct RingLinks::Link {
  Word sent;   ///< messages that its rank has sent
  Word taken;  ///< messages that its right neighbour has read
};

/// Behind it, by rank: process numbers, "has left", links; then the slots.
struct RingLinks::Header {
  alignas(64) std::atomic<std::uint32_t> broken;  ///< Why in the low bits, the rank above
  struct Rank {
    alignas(64) std::atomic<std::int32_t> process;
    std::atomic<std::uint32_t> left;
  };
  Rank& rank(int index) { return reinterpret_cast<Rank*>(this + 1)[index]; }
  Link& link(int index, int size) {
    return reinterpret_cast<Link*>(reinterpret_cast<Rank*>(this + 1) + size)[index];
  }
};

std::uint64_t RingLinks::bytes(int size) {
  constexpr std::uint64_t kPage = 4096;
  const std::uint64_t a_rank = sizeof(Header::Rank) + sizeof(Link);
  const std::uint64_t head = sizeof(Header) + static_cast<std::uint64_t>(size) * a_rank;
  return (head + kPage - 1) / kPage * kPage + static_cast<std::uint64_t>(size) * kSlotBytesOfRank;
}

RingLinks::RingLinks(std::byte* place, int rank, int size, RingPart part)
    : place_(place),
      part_(std::move(part)),
      rank_(rank),
      size_(size),
      left_((rank + size - 1) % size),
      right_((rank + 1) % size),
      is_crowded_(usable_cores() < std::max(size, part_.of)),
      processes_(static_cast<std::size_t>(size)),
      ended_us_(static_cast<std::size_t>(size), 0) {
  header().rank(rank).process.store(getpid());
}

RingLinks::~RingLinks() {
  header().rank(rank_).left.store(1);
  for (const int other : {left_, right_, rank_}) {
    futex(link(other).sent.value, FUTEX_WAKE, INT_MAX, nullptr);
    futex(link(other).taken.value, FUTEX_WAKE, INT_MAX, nullptr);
  }
}

RingLinks::Header& RingLinks::header() const { return *reinterpret_cast<Header*>(place_); }
RingLinks::Link& RingLinks::link(int rank) const { return header().link(rank, size_); }

std::byte* RingLinks::slots_of(int rank) const {
  return place_ + bytes(size_) - static_cast<std::uint64_t>(size_ - rank) * kSlotBytesOfRank;
}

std::byte* RingLinks::slot() const { return slots_of(rank_) + sent_ % kSlots * kSlotBytes; }
const std::byte* RingLinks::message() const { return slots_of(left_) + taken_ % kSlots * kSlotBytes; }

void RingLinks::advance(Word& word, std::uint32_t value) noexcept {
  word.value.store(value, std::memory_order_seq_cst);
  if (word.sleeps.load(std::memory_order_seq_cst) != 0 && word.sleeps.exchange(0) != 0) {
    futex(word.value, FUTEX_WAKE, INT_MAX, nullptr);
  }
}

void RingLinks::send() { advance(link(rank_).sent, ++sent_); }
void RingLinks::take() { advance(link(left_).taken, ++taken_); }

bool RingLinks::has_slot() const {
  return reached(link(rank_).taken.value.load(std::memory_order_acquire), sent_ + 1 - kSlots);
}

bool RingLinks::has_message() const {
  return reached(link(left_).sent.value.load(std::memory_order_acquire), taken_ + 1);
}

RingWait RingLinks::wait_for_slot(std::int64_t due_us, std::int64_t& wait_us) {
  if (has_slot()) return RingWait::there;
  return wait_until(link(rank_).taken, sent_ + 1 - kSlots, right_, due_us, wait_us);
}

RingWait RingLinks::wait_for_message(std::int64_t due_us, std::int64_t& wait_us) {
  if (has_message()) return RingWait::there;
  return wait_until(link(left_).sent, taken_ + 1, left_, due_us, wait_us);
}

RingWait RingLinks::nap(Awaited awaited, std::int64_t most_us) {
  return awaited == Awaited::slot ? sleep_once(link(rank_).taken, sent_ + 1 - kSlots, right_, most_us)
                                  : sleep_once(link(left_).sent, taken_ + 1, left_, most_us);
}

RingWait RingLinks::wait_until(Word& word, std::uint32_t target, int other, std::int64_t due_us,
                               std::int64_t& wait_us) {
  const std::int64_t begin_us = steady_us();
  const auto is_there = [&] { return reached(word.value.load(std::memory_order_acquire), target); };
  bool there = false;
  const int pauses = is_crowded_ ? kPausesInCrowd : kPauses;
  for (int spin = 0; spin < pauses && !there; ++spin) {
    __builtin_ia32_pause();
    there = is_there();
  }
  for (int turn = 0; is_crowded_ && turn < kTurnsInCrowd && !there; ++turn) {
    sched_yield();  // whom it waits for may want this processor
    there = is_there();
  }
  const RingWait result = there ? RingWait::there : sleep_until(word, target, other, due_us);
  wait_us += steady_us() - begin_us;
  return result;
}

RingWait RingLinks::sleep_until(Word& word, std::uint32_t target, int other, std::int64_t due_us) {
  for (;;) {
    const std::int64_t left_us = leaving_.load() ? 0 : due_us - steady_us();
    const RingWait wait = sleep_once(word, target, other, std::min(left_us, kSleeperLook_us));
    if (wait != RingWait::late || left_us <= 0) return wait;
  }
}

RingWait RingLinks::sleep_once(Word& word, std::uint32_t target, int other, std::int64_t most_us) {
  word.sleeps.store(1, std::memory_order_seq_cst);
  const std::uint32_t value = word.value.load(std::memory_order_seq_cst);
  if (reached(value, target)) return RingWait::there;
  if (header().broken.load() != 0) return RingWait::broken;
  if (most_us <= 0) return RingWait::late;
  const timespec nap{.tv_sec = 0, .tv_nsec = most_us * 1000};
  const bool in_vain = futex(word.value, FUTEX_WAIT, value, &nap) != 0 && errno == ETIMEDOUT;
  if (in_vain || header().rank(other).left.load() != 0) look_after(other, word, target);
  return RingWait::late;
}

/// Breaks off when the neighbour that is waited for has gone and left nothing behind, or another rank has.
void RingLinks::look_after(int other, const Word& word, std::uint32_t target) {
  const bool neighbour_left = header().rank(other).left.load() != 0;
  const auto came = [&] { return reached(word.value.load(std::memory_order_acquire), target); };
  for (int rank = 0; rank < size_; ++rank) {
    if (rank == rank_ || header().rank(rank).left.load() != 0 || !has_ended(rank)) continue;
    std::int64_t& seen_us = ended_us_[static_cast<std::size_t>(rank)];
    if (seen_us == 0) seen_us = steady_us();
    const bool is_lost = rank == other ? !came() : steady_us() - seen_us > kGrace_us;
    if (is_lost) return break_all(Why::ended, rank);
  }
  if (neighbour_left && !came()) break_all(Why::left, other);
}

bool RingLinks::has_ended(int rank) {
  const pid_t process = header().rank(rank).process.load();
  if (process == 0) return false;  // not there yet
  FileDescriptor& file = processes_[static_cast<std::size_t>(rank)];
  if (!file.is_open()) {
    file = FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
    if (!file.is_open()) return kill(process, 0) != 0 && errno == ESRCH;
  }
  pollfd end{.fd = file.number(), .events = POLLIN, .revents = 0};
  return poll(&end, 1, 0) == 1;
}

void RingLinks::break_all(Why why, int rank) noexcept {
  std::uint32_t fine = 0;
  header().broken.compare_exchange_strong(
      fine, static_cast<std::uint32_t>(why) | (static_cast<std::uint32_t>(rank) << 8));
  for (int other = 0; other < size_; ++other) {
    futex(link(other).sent.value, FUTEX_WAKE, INT_MAX, nullptr);
    futex(link(other).taken.value, FUTEX_WAKE, INT_MAX, nullptr);
  }
}

void RingLinks::break_like(const RingLinks& part) {
  const std::uint32_t word = part.header().broken.load(std::memory_order_acquire);
  if (word != 0) break_all(static_cast<Why>(word & 0xffU), part.name_of(static_cast<int>(word >> 8)));
}

void RingLinks::abort() noexcept { break_all(Why::aborted, rank_); }

void RingLinks::leave() noexcept {
  leaving_.store(true);
  futex(link(rank_).taken.value, FUTEX_WAKE, INT_MAX, nullptr);
  futex(link(left_).sent.value, FUTEX_WAKE, INT_MAX, nullptr);
}

int RingLinks::name_of(int rank) const {
  return part_.ranks.empty() ? rank : part_.ranks.at(static_cast<std::size_t>(rank));
}

std::optional<std::string> RingLinks::what_broke() const {
  const std::uint32_t word = header().broken.load(std::memory_order_acquire);
  const int rank = static_cast<int>(word >> 8);
  switch (static_cast<Why>(word & 0xffU)) {
    case Why::fine:
      return std::nullopt;
    case Why::aborted:
      return fmt::format("rank {} gave up", name_of(rank));
    case Why::ended:
      return fmt::format("rank {} (process {}) has ended", name_of(rank), header().rank(rank).process.load());
    case Why::left:
      break;
  }
  return fmt::format("rank {} has left", name_of(rank));
}

}  // namespace isobar
