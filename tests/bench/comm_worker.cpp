// One rank of ./isobar bench comm: the same all-reduces through our ring and through Gloo, in turn, in the
// same processes. Rank 0 writes one line of JSON a size.
#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/remainder.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "comm/c10d_transport.h"
#include "comm/meeting.h"
#include "comm/ring_transport.h"
#include "core/clock.h"
#include "core/error.h"

using namespace isobar;

namespace {

constexpr double kTimeout_s = 120;
constexpr std::int64_t kTimeout_us = 120'000'000;

struct Plan {
  std::string file;
  int pairs = 0;
  double block_us = 0;
  std::vector<std::int64_t> sizes = {};  ///< bytes
};

class Ranks {
 public:
  explicit Ranks(const Plan& plan) : plan_(plan) {
    const RankEnvironment environment = read_rank_environment();
    const auto store = meet(environment, kTimeout_s).store;
    const int rank = environment.rank;
    const int size = environment.world;
    GroupMeeting group{store, rank, {}, kTimeout_s};
    for (int other = 0; other < size; ++other) group.members.push_back(other);
    ring_ = make_ring_transport(group, "ring");
    gloo_ = make_gloo_transport(store, rank, size, "peer", kTimeout_s, true, "");
    control_ = make_gloo_transport(store, rank, size, "control", kTimeout_s, true, "");
  }

  void measure(std::int64_t bytes) {
    const at::Tensor values = at::zeros({bytes / 4}, at::kFloat);
    check_equality(values);
    const auto ring = [&] { finish(*ring_->all_reduce(values, Reduce::sum)); };
    const auto gloo = [&] { finish(*gloo_->all_reduce(values, Reduce::sum)); };
    const std::int64_t moved = 2 * (ring_->size() - 1) * bytes / ring_->size();
    const at::Tensor from = at::zeros({moved}, at::kByte);
    const at::Tensor to = at::zeros({moved}, at::kByte);
    const auto copy = [&] { std::memcpy(to.mutable_data_ptr(), from.const_data_ptr(), from.nbytes()); };
    const int count = block_size(gloo);
    const int copies = block_size(copy);
    std::vector<double> ours;
    std::vector<double> peer;
    std::vector<double> floor;
    for (int pair = 0; pair < plan_.pairs; ++pair) {
      ours.push_back(block(ring, count));
      peer.push_back(block(gloo, count));
      floor.push_back(block(copy, copies));
    }
    if (ring_->rank() != 0) return;
    const nlohmann::ordered_json line = {
        {"bytes", bytes}, {"ours", ours}, {"peer", peer}, {"copy", floor}, {"calls", count}};
    std::ofstream(plan_.file, std::ios::app) << line.dump() << "\n";
  }

 private:
  static void finish(Pending& pending) {
    if (!pending.wait(kTimeout_us)) throw Error("a rank does not come", "bench comm", "", Exit::failed);
  }

  /// Whole numbers, so that no order of additions rounds.
  void check_equality(const at::Tensor& like) const {
    const at::Tensor mine = at::arange(like.numel(), at::kFloat).remainder_(1000).add_(ring_->rank());
    const at::Tensor other = mine.clone();
    finish(*ring_->all_reduce(mine, Reduce::sum));
    finish(*gloo_->all_reduce(other, Reduce::sum));
    if (!at::equal(mine, other)) {
      throw Error(fmt::format("ring and Gloo give different sums of {} bytes", like.nbytes()), "bench comm",
                  "", Exit::failed);
    }
  }

  double greatest(double value) const {
    const at::Tensor place = at::full({}, value, at::kDouble);
    finish(*control_->all_reduce(place, Reduce::max));
    return place.item<double>();
  }

  /// Microseconds a call, of the slowest rank; all begin together.
  template <typename Call>
  double block(const Call& call, int count) const {
    for (int i = 0; i < std::min(2, count); ++i) call();  // the caches hold the other side's data
    greatest(0);
    const std::int64_t begin_us = steady_us();
    for (int i = 0; i < count; ++i) call();
    return greatest(static_cast<double>(steady_us() - begin_us) / count);
  }

  template <typename Call>
  int block_size(const Call& call) const {
    block(call, 1);
    const double each_us = block(call, 2);
    return static_cast<int>(std::clamp(plan_.block_us / std::max(each_us, 0.1), 1.0, 20'000.0));
  }

  const Plan& plan_;
  std::unique_ptr<Transport> ring_;
  std::unique_ptr<Transport> gloo_;
  std::unique_ptr<Transport> control_;
};

int run(int argc, char** argv) {
  if (argc < 5)
    throw Error("what is to be measured?", "bench_comm_worker", "./isobar bench comm", Exit::failed);
  at::set_num_threads(1);
  Plan plan{.file = argv[1], .pairs = std::stoi(argv[2]), .block_us = std::stod(argv[3])};
  for (int i = 4; i < argc; ++i) plan.sizes.push_back(std::stoll(argv[i]));
  Ranks ranks(plan);
  for (const std::int64_t bytes : plan.sizes) ranks.measure(bytes);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("isobar bench comm", [&] { return run(argc, argv); });
}
