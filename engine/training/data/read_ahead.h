#pragma once
// Threads that fill batches ahead of the loop that takes them, in order. Bytes only: no tensors here.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "core/seam.h"
#include "data/batch_plan.h"
#include "record/span_writer.h"

namespace isobar {

/// Memory for one batch; kept and used again.
using SlotMemory = std::shared_ptr<std::byte>;

/// What is put into a slot. Its functions are called from several threads at once.
class SlotFiller {
 public:
  virtual ~SlotFiller() = default;
  virtual std::size_t slot_bytes() const = 0;
  virtual SlotMemory allocate() const = 0;
  virtual BatchPlan plan(std::int64_t batch) const = 0;
  /// Pieces of work that threads can share among them.
  virtual std::int64_t parts(const BatchPlan& plan) const = 0;
  /// Fills piece `part`. May leave it unfinished once `stop` was requested. Errors name file and sample.
  virtual void fill(const BatchPlan& plan, std::int64_t part, std::span<std::byte> slot, FillCost& cost,
                    const std::stop_token& stop) const = 0;
};

/// A filled slot. It goes back to the ring when the last copy of `memory` is gone, after `before_reuse`.
struct FilledSlot {
  BatchPlan plan;
  SlotMemory memory;
  std::size_t bytes = 0;

  /// Called by the thread that is to fill the slot next, before it does: it waits until a device that still
  /// reads the memory is done.
  void set_before_reuse(std::function<void()> wait) const;

  std::shared_ptr<std::function<void()>> reuse_hook;
};

struct ReadAheadSetting {
  std::int64_t threads = 1;
  std::int64_t ahead = 2;  ///< batches that may be filled or in work and not yet taken
  std::int64_t most_slots =
      0;  ///< slots at all, those that were taken and not given back included; 0 = as many as it needs
  std::int64_t patience_ms = 10'000;  ///< until a taker that holds all slots itself gets an Error
  bool crosses_epochs = true;   ///< false: nothing of an epoch is read before its first batch is asked for
  bool keeps_threads = true;    ///< false: threads end with the epoch and are started again for the next
  std::vector<int> cpus = {};   ///< processors on which the threads may run; empty = all
  SpanWriter* spans = nullptr;  ///< outlives the threads; null = nobody wants to know
};

/// What the threads did so far.
struct ReadAheadCounts {
  std::int64_t stall_us = 0;  ///< time that `take` waited
  std::int64_t ready = 0;     ///< batches that lay ready at the last `take`
  std::int64_t read_bytes = 0;
  std::int64_t cpu_us = 0;
};

/// Batches that are filled ahead of the one who takes them.
class SlotQueue {
 public:
  virtual ~SlotQueue() = default;
  /// The next batch; waits until it is filled. What went wrong while it was filled is thrown here.
  virtual FilledSlot take() = 0;
  /// `take` continues with batch number `batch`; what was read ahead is dropped, and nothing is read before
  /// it.
  virtual void seek(std::int64_t batch) = 0;
  virtual ReadAheadCounts counts() const = 0;
};

namespace seams {

/// Reads batches of `order` with `filler`, from number 0; threads start with the first `take`. The
/// processors, the spans and the number of slots may be left alone.
extern constinit Seam<std::unique_ptr<SlotQueue>(std::shared_ptr<const SlotFiller> filler,
                                                 const BatchOrder& order, const ReadAheadSetting& setting)>
    read_ahead;

}  // namespace seams

class ReadAhead final : public SlotQueue {
 public:
  /// Reads batches of `order` with `filler`, from number 0; threads start with the first `take`.
  ReadAhead(std::shared_ptr<const SlotFiller> filler, const BatchOrder& order,
            const ReadAheadSetting& setting);
  /// Asks the threads to stop and waits for them: at most as long as one read of the file system takes.
  ~ReadAhead() override;
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// With `most_slots`, Error (exit code 1) when the caller keeps all of them and waits for more.
  FilledSlot take() override;
  void seek(std::int64_t batch) override;
  /// Asks threads and waiting takers to stop; `take` throws then. Any thread may call it.
  void stop() noexcept;

  ReadAheadCounts counts() const override;
  const ReadAheadSetting& setting() const;

 private:
  struct State;
  std::shared_ptr<State> state_;  ///< outlives this while a slot is still held
};

}  // namespace isobar
