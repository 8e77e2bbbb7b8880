#include "ring/arrival_board.h"

#include <atomic>

namespace isobar {
namespace {

constexpr std::int64_t kBeingWritten = -1;

}  // namespace

/// Zeros are an empty row: numbers are kept with one added.
struct ArrivalBoard::Row {
  struct Entry {
    std::atomic<std::int64_t> number;
    std::atomic<std::int64_t> time_us;
  };
  alignas(64) std::atomic<std::int64_t> come;
  alignas(64) Entry entries[kRemembered];
};

std::uint64_t ArrivalBoard::bytes(int size) { return static_cast<std::uint64_t>(size) * sizeof(Row); }

ArrivalBoard::ArrivalBoard(SharedMemory memory, int rank, int size)
    : memory_(std::move(memory)), rank_(rank), size_(size) {}

ArrivalBoard::Row& ArrivalBoard::row(int rank) const { return reinterpret_cast<Row*>(memory_.data())[rank]; }

void ArrivalBoard::arrive(std::int64_t number, std::int64_t now_us) noexcept {
  Row& mine = row(rank_);
  Row::Entry& entry = mine.entries[number % kRemembered];
  entry.number.store(kBeingWritten, std::memory_order_seq_cst);
  entry.time_us.store(now_us, std::memory_order_seq_cst);
  entry.number.store(number + 1, std::memory_order_seq_cst);
  mine.come.store(number + 1, std::memory_order_release);
}

std::optional<RankArrival> ArrivalBoard::latest(std::int64_t number) const noexcept {
  RankArrival last;
  for (int rank = 0; rank < size_; ++rank) {
    const Row::Entry& entry = row(rank).entries[number % kRemembered];
    if (entry.number.load(std::memory_order_seq_cst) != number + 1) return std::nullopt;
    const std::int64_t time_us = entry.time_us.load(std::memory_order_seq_cst);
    if (entry.number.load(std::memory_order_seq_cst) != number + 1) return std::nullopt;
    if (rank == 0 || time_us > last.time_us) last = {.time_us = time_us, .rank = rank};
  }
  return last;
}

bool ArrivalBoard::has_come(int rank, std::int64_t number) const noexcept {
  return row(rank).come.load(std::memory_order_acquire) > number;
}

}  // namespace isobar
