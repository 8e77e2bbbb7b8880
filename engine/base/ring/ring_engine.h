#pragma once
// Collectives of bytes around a ring of processes of one machine. Torch-free, so that the thread sanitizer
// sees all of it. A thread of its own moves the bytes while the caller computes; a caller that waits moves
// them itself.
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "ring/pair_exchange.h"
#include "ring/ring_links.h"
#include "ring/ring_plan.h"
#include "ring/shared_memory.h"

namespace isobar {

/// What to do. `elements` counts the whole buffer, the one that is N times as long where there are two; it is
/// a multiple of N there. Of an all-to-all it is the larger one.
struct RingRequest {
  RingKind kind = RingKind::all_reduce;
  CombineType type = CombineType::u8;
  bool takes_larger = false;
  bool divides = false;  ///< the sum by N
  int root = 0;
  std::int64_t elements = 0;
  const std::byte* in = nullptr;                        ///< equal to `out` in all-reduce and broadcast
  std::byte* out = nullptr;                             ///< may be this rank's part of `in`, or `in` of `out`
  std::vector<std::int64_t> sends = {}, receives = {};  ///< by rank, of an all-to-all
  std::shared_ptr<const void> keep = {};                ///< whatever owns the memory, until it is done
};

/// One collective under way.
class RingJob {
 public:
  bool is_done() const { return state_.load(std::memory_order_acquire) != State::open; }
  /// When it ended, on the steady clock; 0 before.
  std::int64_t end_us() const { return is_done() ? end_us_ : 0; }
  /// The steps of it, once it is done.
  const std::vector<CollectiveStep>& steps() const { return steps_; }

 private:
  friend class RingEngine;
  enum class State { open, done, broken };
  RingJob(RingRequest request, int rank, int size);

  RingRequest request_;
  std::vector<RingAction> actions_;
  std::vector<CollectiveStep> steps_;
  RingCut cut_;
  // Where it is: action and piece within a round of a few pieces.
  std::int64_t round_ = 0;
  std::size_t action_ = 0;
  std::int64_t piece_ = 0;
  std::optional<PairExchange> exchange_;  ///< has a value in an all-to-all
  std::int64_t end_us_ = 0;
  std::atomic<State> state_ = State::open;
};

class RingEngine {
 public:
  RingEngine(SharedMemory memory, int rank, int size);
  ~RingEngine();
  RingEngine(const RingEngine&) = delete;
  RingEngine& operator=(const RingEngine&) = delete;

  static std::uint64_t bytes(int size) { return RingLinks::bytes(size); }
  /// What the first all-to-all of more than two ranks needs beside: PairLinks::bytes(size()), zeros.
  /// Waits for collectives that are under way.
  void connect_pairs(SharedMemory memory);
  bool has_pairs() const { return pairs_ != nullptr; }
  int rank() const { return links_.rank(); }
  int size() const { return links_.size(); }

  /// Starts a collective and returns; they are done in the order in which they were started, which must be
  /// the same on all ranks. One thread at a time.
  std::shared_ptr<RingJob> start(RingRequest request);
  /// False when `timeout_us` passed first. Error (exit code 1) when a rank has ended, left or given up, with
  /// its number.
  bool wait(const RingJob& job, std::int64_t timeout_us);
  /// Frees all waiting ranks and threads; nothing works afterwards. Any thread.
  void abort() noexcept;

 private:
  enum class Outcome { moved, done, late, broken };  ///< moved: a piece, there are more
  Outcome advance(RingJob& job, std::int64_t due_us);
  Outcome advance_piece(RingJob& job, std::int64_t due_us);
  Outcome advance_exchange(RingJob& job, std::int64_t due_us);
  std::optional<std::string> what_broke() const;
  void move_piece(RingJob& job, const RingAction& action);
  void pass_on(RingJob& job, const RingAction& action, const RingCut::Range& range, std::byte* slot);
  bool is_ready(const RingJob& job) const;
  void close_first(Outcome outcome);
  void try_at_once(RingJob& job);
  void work(const std::stop_token& stop);

  SharedMemory memory_;
  RingLinks links_;  ///< in it
  std::unique_ptr<PairLinks> pairs_;
  InstructionSet set_ = best_instruction_set();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<RingJob>> open_;
  bool is_moving_ = false;  ///< some thread advances the first of them
  std::jthread thread_;
};

}  // namespace isobar
