#include "ring/call_board.h"

#include <unistd.h>

#include <atomic>
#include <utility>

#include "core/machine.h"

namespace isobar {
namespace {

constexpr std::int64_t kRemembered = 64;
constexpr std::int64_t kBeingWritten = -1;

}  // namespace

/// Zeros are an empty row: numbers are kept with one added.
struct CallBoard::Row {
  struct Entry {
    std::atomic<std::int64_t> number;
    std::atomic<std::int64_t> what;  ///< kind, sum and root, a byte or more each
    std::atomic<std::int64_t> elements;
  };
  alignas(64) Entry entries[kRemembered];
  std::atomic<std::int64_t> process;  ///< 0 = it has not come
};

std::uint64_t CallBoard::bytes(int size) { return static_cast<std::uint64_t>(size) * sizeof(Row); }

CallBoard::Row& CallBoard::row(int rank) const { return reinterpret_cast<Row*>(memory_.data())[rank]; }

CallBoard::CallBoard(SharedMemory memory, int rank, int size)
    : memory_(std::move(memory)), rank_(rank), size_(size) {
  row(rank_).process.store(getpid());
}

void CallBoard::post(std::int64_t number, const RingCall& call) noexcept {
  Row::Entry& entry = row(rank_).entries[number % kRemembered];
  entry.number.store(kBeingWritten);
  entry.what.store(static_cast<std::int64_t>(call.kind) | call.reduced << 8 |
                   static_cast<std::int64_t>(call.root) << 16);
  entry.elements.store(call.elements);
  entry.number.store(number + 1);
}

std::optional<CallBoard::Other> CallBoard::other_than(std::int64_t number,
                                                      const RingCall& own) const noexcept {
  for (int rank = 0; rank < size_; ++rank) {
    const Row::Entry& entry = row(rank).entries[number % kRemembered];
    if (entry.number.load() != number + 1) continue;
    const std::int64_t what = entry.what.load();
    const RingCall call{.kind = static_cast<RingKind>(what & 255),
                        .reduced = static_cast<int>(what >> 8 & 255),
                        .root = static_cast<int>(what >> 16),
                        .elements = entry.elements.load()};
    if (entry.number.load() == number + 1 && call != own) return Other{rank, call};
  }
  return std::nullopt;
}

std::optional<CallBoard::Stopped> CallBoard::stopped_rank() const {
  for (int rank = 0; rank < size_; ++rank) {
    const std::int64_t process = rank == rank_ ? 0 : row(rank).process.load();
    const std::optional<ProcessFacts> facts = process == 0 ? std::nullopt : process_facts(process);
    if (facts && facts->state == 'T') return Stopped{rank, process};
  }
  return std::nullopt;
}

}  // namespace isobar
