#pragma once
// What is given and what is promised in the exercise of lesson 02. You write my/02_read_ahead.cpp.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>

namespace isobar::exercise {

/// The bytes of one batch.
using Memory = std::shared_ptr<std::byte>;

/// Given: fills batch number `batch` and hands over its memory. Several threads may call it at once. It
/// throws what goes wrong.
using Fill = std::function<Memory(std::int64_t batch)>;

struct QueueSetting {
  std::int64_t first = 0;    ///< number of the batch that `take` hands out first
  std::int64_t end = 0;      ///< one past the last one
  std::int64_t threads = 1;  ///< how many threads fill, at least 1
  std::int64_t ahead = 2;    ///< batches that may be in work or filled, and not yet taken; at least 1
};

/// Thrown by `take` once `stop` was called.
struct QueueStopped : std::runtime_error {
  QueueStopped() : std::runtime_error("reading ahead was stopped") {}
};

/// Threads that fill batches ahead of the one that takes them.
class BatchQueue {
 public:
  /// Ends the threads and waits for them; a fill that is in progress is waited for, not broken off. Nothing
  /// is filled afterwards.
  virtual ~BatchQueue() = default;
  /// The next batch, in order; waits until it is filled. Throws what was thrown while this very batch was
  /// filled; the next call goes on with the batch after it. Null after the last one, `QueueStopped` once
  /// `stop` was called. One thread calls it.
  virtual Memory take() = 0;
  /// Wakes waiting threads; no further batch is begun. Another thread may call it, more than once.
  virtual void stop() noexcept = 0;
};

}  // namespace isobar::exercise

namespace isobar::mine {

/// You promise: filling begins at once, and each batch from `first` to `end` - 1 is filled exactly once.
std::unique_ptr<exercise::BatchQueue> make_read_ahead(exercise::Fill fill,
                                                      const exercise::QueueSetting& setting);

}  // namespace isobar::mine
