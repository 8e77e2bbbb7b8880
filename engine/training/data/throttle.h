#pragma once
// A slow file system out of a fast one: all readers of a data set together get so many bytes a second.
#include <cstdint>
#include <mutex>
#include <stop_token>

namespace isobar {

class Throttle {
 public:
  /// `mb_per_s` of 10^6 bytes; 0 = no limit.
  explicit Throttle(std::int64_t mb_per_s) : mb_per_s_(mb_per_s) {}

  /// Returns when `bytes` more would have arrived that were asked for at `asked_us` (steady clock), or `stop`
  /// was requested: the time that the fast file system took counts. Who comes while others wait gets what
  /// follows theirs. Time in which nobody reads is not made up for.
  void take(std::int64_t bytes, std::int64_t asked_us, const std::stop_token& stop = {});

 private:
  std::int64_t mb_per_s_;
  std::mutex mutex_;
  double free_at_us_ = 0;  ///< when all that was asked for has arrived (steady clock)
};

}  // namespace isobar
