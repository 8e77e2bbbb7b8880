#include "formula/sharded_step.h"

#include <algorithm>
#include <numeric>

namespace isobar {
namespace {

/// The stream of collectives: each begins when it may and the one before is done.
class CommStream {
 public:
  explicit CommStream(double begin_us) : free_us_(begin_us) {}
  double run(double from_us, double cost_us) {
    free_us_ = std::max(free_us_, from_us) + cost_us;
    busy_us_ += cost_us;
    return free_us_;
  }
  double free_us() const { return free_us_; }
  double busy_us() const { return busy_us_; }

 private:
  double free_us_;
  double busy_us_ = 0;
};

class Walk {
 public:
  explicit Walk(const ShardedWork& work)
      : work_(work), all_bytes_(std::accumulate(work.unit_bytes.begin(), work.unit_bytes.end(), 0.0)) {}

  ShardedTimes times() {
    const bool gathers = work_.shares.stage == 3;
    ShardedTimes out;
    std::vector<std::size_t> order(work_.unit_bytes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const double forward_end = pass(order, work_.forward_us, 0, gathers, /*sums=*/false);
    std::reverse(order.begin(), order.end());
    const bool again = gathers && work_.shares.reshards;
    const double backward_end = pass(order, work_.backward_us, forward_end, again, /*sums=*/true);
    out.forward_us = forward_end;
    out.backward_us = backward_end - forward_end;
    out.sums_us = std::max(0.0, stream_.free_us() - backward_end);
    out.sums_total_us = sums_total_us_;
    const double done = gathers ? stream_.free_us() : stream_.run(backward_end, weights_us());
    out.comm_us = std::max(0.0, done - backward_end);
    out.comm_total_us = stream_.busy_us();
    return out;
  }

 private:
  double share_of(std::size_t unit) const { return all_bytes_ > 0 ? work_.unit_bytes[unit] / all_bytes_ : 0; }
  int ranks() const { return static_cast<int>(work_.shares.ranks); }

  double gather_us(double bytes) const {
    return ring_half_us(work_.inside, ranks(), work_.shares.gathers_16 ? bytes / 2 : bytes);
  }
  /// Behind the update. Of stage 0 gradients were gathered with their sums.
  double weights_us() const { return work_.shares.stage == 0 ? 0 : gather_us(all_bytes_); }
  double sum_us(double bytes) const {
    const double share = bytes / static_cast<double>(work_.shares.ranks);
    const double back = work_.shares.stage == 0 ? ring_half_us(work_.inside, ranks(), bytes) : 0;
    return ring_half_us(work_.inside, ranks(), bytes) + back +
           ring_all_reduce_us(work_.between, static_cast<int>(work_.shares.copies), share);
  }

  /// Computes the units in this order from `begin_us` on; returns when the last one is done.
  double pass(const std::vector<std::size_t>& order, double computing_us, double begin_us, bool gathers,
              bool sums) {
    std::vector<double> begins;
    double end_us = begin_us, bucket = 0;
    const double full = work_.shares.stage == 3 ? 0 : work_.bucket_bytes;
    std::vector<double> ready(order.size(), begin_us);
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (gathers) {
        for (std::size_t next = begins.empty() ? 0 : i + ahead(); next <= i + ahead() && next < order.size();
             ++next)
          ready[next] = stream_.run(end_us, gather_us(work_.unit_bytes[order[next]]));
      }
      begins.push_back(std::max(end_us, ready[i]));
      end_us = begins.back() + computing_us * share_of(order[i]);
      if (!sums) continue;
      bucket += work_.unit_bytes[order[i]];
      if (bucket < full && i + 1 < order.size()) continue;
      sums_total_us_ += sum_us(bucket);
      stream_.run(end_us, sum_us(bucket));
      bucket = 0;
    }
    return end_us;
  }
  std::size_t ahead() const { return static_cast<std::size_t>(work_.prefetch); }

  const ShardedWork& work_;
  double all_bytes_;
  CommStream stream_{0};
  double sums_total_us_ = 0;
};

}  // namespace

ShardedTimes sharded_times(const ShardedWork& work) { return Walk(work).times(); }

}  // namespace isobar
