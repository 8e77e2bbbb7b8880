#pragma once
// When collectives would be over on a link: the same answer on every rank. Torch-free.
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "ring/arrival_board.h"

namespace isobar {

/// Returns when it is `due_us`, to the microsecond or two where the system wakes sleepers in time.
void wait_for_link(std::int64_t due_us);

class LinkClock {
 public:
  explicit LinkClock(ArrivalBoard board) : board_(std::move(board)) {}

  struct Use {
    std::int64_t number = 0;
    double cost_us = 0;
    std::optional<double> end_us;  ///< once all ranks had come; only to be read through `end_us`
  };
  /// This rank calls the next collective, which occupies the link for `cost_us`. Numbers are given in the
  /// order of calls. Error (exit code 1) when hundreds of them are under way and another rank does not come
  /// within `timeout_us`.
  std::shared_ptr<Use> begin(double cost_us, std::int64_t timeout_us);
  /// Steady clock; nothing while a rank has not come to it. Any thread.
  std::optional<std::int64_t> end_us(const Use& use);

 private:
  void settle();  ///< with mutex_ held

  ArrivalBoard board_;
  std::mutex mutex_;
  std::int64_t next_ = 0;
  double free_us_ = 0;  ///< when the last of the settled ones ends
  std::deque<std::shared_ptr<Use>> open_;
};

}  // namespace isobar
