#pragma once
// Collectives that streams of a device wait for: the host never does, so a thread looks whether they end.
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "comm/comm_group.h"

namespace isobar {

/// One of them. `span` lacks its end.
struct Watched {
  std::shared_ptr<Pending> pending;
  Waited waited;
  std::string track;
  Span span;
  std::int64_t since_us = 0;  ///< on the clock of the watch
};

/// Breaks its Comm off when one is not done within comm.timeout_s of being called, or when a rank is gone.
/// Its clock stands still while the process does, and while there is nothing to watch.
class CommWatch {
 public:
  explicit CommWatch(CommGroup& core);
  ~CommWatch();
  CommWatch(const CommWatch&) = delete;
  CommWatch& operator=(const CommWatch&) = delete;

  void add(Watched watched);

 private:
  void run();
  /// Looks at the oldest; false when it is still under way.
  bool look(Watched& watched);

  CommGroup& core_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Watched> waiting_;
  bool ends_ = false;
  std::int64_t clock_us_ = 0;
  std::int64_t looked_us_ = 0;  ///< when ranks were last looked after
  bool told_ = false;           ///< the rank's status shows its wait for the oldest
  std::thread thread_;
};

}  // namespace isobar
