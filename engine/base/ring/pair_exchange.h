#pragma once
// What each rank of one machine has for each other one, over links between two ranks each: nothing passes
// through a third. Torch-free.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ring/ring_links.h"
#include "ring/shared_memory.h"

namespace isobar {

/// This rank's links to all others.
class PairLinks {
 public:
  static std::uint64_t bytes(int size);

  /// In bytes(size) zeros that all ranks share.
  PairLinks(SharedMemory memory, int rank, int size);
  /// A ring of two ranks is the link between them; it outlives this.
  explicit PairLinks(RingLinks& ring);

  RingLinks& with(int other) const { return *links_[static_cast<std::size_t>(other)]; }
  std::uint64_t bytes() const { return memory_.bytes(); }
  // For all links what RingLinks does for one. Any thread.
  void abort() const noexcept;
  void leave() const noexcept;
  std::optional<std::string> what_broke() const;
  /// What broke one of the links breaks `ring`, of which they are a part: so all ranks get one reason.
  void break_too(RingLinks& ring) const;

 private:
  SharedMemory memory_;
  std::vector<std::unique_ptr<RingLinks>> own_;
  std::vector<RingLinks*> links_;  ///< by rank; null = this one
};

/// Bytes for each rank one behind the other in `in`, and of each rank in `out`.
struct PairMessages {
  const std::byte* in = nullptr;
  std::byte* out = nullptr;
  std::vector<std::int64_t> sends, receives;
};

/// This rank's part of one exchange. In step k rank r sends to rank r + k and receives from rank r - k, piece
/// by piece, whichever is ready. Every rank r must receive from s what s sends to it.
class PairExchange {
 public:
  PairExchange(PairMessages messages, int rank);

  bool is_done() const { return step_ == size(); }
  /// Whether a piece can be moved without waiting.
  bool is_ready(const PairLinks& links) const;
  /// Moves one or two pieces, or waits for a moment. `late`: due_us passed, or this process leaves.
  RingWait advance(const PairLinks& links, std::int64_t due_us);

 private:
  int size() const { return static_cast<int>(messages_.sends.size()); }
  int to() const { return (rank_ + step_) % size(); }
  int from() const { return (rank_ + size() - step_) % size(); }
  std::int64_t left_to_send() const { return messages_.sends[static_cast<std::size_t>(to())] - sent_; }
  std::int64_t left_to_receive() const {
    return messages_.receives[static_cast<std::size_t>(from())] - received_;
  }
  void keep_own() const;
  bool move(const PairLinks& links);
  RingWait wait(const PairLinks& links, std::int64_t due_us) const;
  void begin_next_step();

  PairMessages messages_;
  int rank_;
  std::vector<std::int64_t> in_at_, out_at_;  ///< where each rank's bytes begin
  int step_ = 0;
  std::int64_t sent_ = 0, received_ = 0;  ///< in this step
};

}  // namespace isobar
