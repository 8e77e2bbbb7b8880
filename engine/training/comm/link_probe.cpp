#include "comm/link_probe.h"

#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>

#include "comm/comm_core.h"
#include "core/clock.h"
#include "core/text.h"

namespace isobar {

/// What is sent while this lives does not count.
class Probing {
 public:
  explicit Probing(Comm& comm) : core_(*comm.core_) { core_.is_counted = false; }
  ~Probing() { core_.is_counted = true; }
  Probing(const Probing&) = delete;
  Probing& operator=(const Probing&) = delete;

 private:
  CommCore& core_;
};

namespace {

constexpr double kBudget_us = 300'000;

/// Time of one all-reduce, on the slowest rank. A device is waited for by reading a value of it.
double all_reduce_us(Comm& comm, const at::Tensor& values) {
  const std::int64_t begin_us = steady_us();
  comm.all_reduce(values, Reduce::sum, "probe").wait();
  if (!values.device().is_cpu()) values.narrow(0, 0, 1).item<float>();
  return std::max(1.0, static_cast<double>(steady_us() - begin_us));
}

double slowest(Comm& comm, double mine) {
  const std::vector<double> all = comm.all_gather_numbers(mine, "probe");
  return *std::max_element(all.begin(), all.end());
}

}  // namespace

LinkProbe probe_link(Comm& comm, c10::Device device, std::int64_t most_bytes) {
  const Probing probing(comm);
  const std::int64_t begin_us = steady_us();
  const auto left_us = [&] { return kBudget_us - static_cast<double>(steady_us() - begin_us); };
  const auto zeros = [&](std::int64_t bytes) {
    return at::zeros({bytes / 4}, at::TensorOptions(at::kFloat).device(device));
  };
  LinkProbe out;
  const at::Tensor small = zeros(64);
  // The first one sets connections up; two show how many more there is time for.
  all_reduce_us(comm, small);
  const double first_us = slowest(comm, all_reduce_us(comm, small));
  const int repeats = static_cast<int>(std::clamp(kBudget_us / 10 / first_us, 1.0, 31.0));
  std::vector<double> times_us;
  for (int i = 0; i < repeats; ++i) times_us.push_back(all_reduce_us(comm, small));
  std::nth_element(times_us.begin(), times_us.begin() + repeats / 2, times_us.end());
  out.latency_us = slowest(comm, times_us[static_cast<std::size_t>(repeats / 2)]);
  double budget_us = slowest(comm, left_us());  // one number for all, so that all stop together
  for (std::int64_t bytes = 16 << 10; bytes <= most_bytes; bytes *= 4) {
    const at::Tensor values = zeros(bytes);
    double time_us = slowest(comm, all_reduce_us(comm, values));
    budget_us -= time_us;
    if (budget_us > time_us) {  // the first one touched new memory
      const double again_us = slowest(comm, all_reduce_us(comm, values));
      budget_us -= again_us;
      time_us = std::min(time_us, again_us);
    }
    out.bytes = bytes;
    out.algbw_gb_per_s = static_cast<double>(bytes) / time_us * 1e-3;
    if (budget_us < 10 * time_us) break;
  }
  const double n = comm.size();
  out.busbw_gb_per_s = out.algbw_gb_per_s * 2 * (n - 1) / n;
  return out;
}

std::string probe_text(const LinkProbe& probe, const Comm& comm) {
  return fmt::format("{} of {} ranks: latency {:.0f} us, {:.3g} GB/s (algbw), {:.3g} GB/s (busbw) at {}",
                     comm.backend(), comm.size(), probe.latency_us, probe.algbw_gb_per_s,
                     probe.busbw_gb_per_s, human_bytes(static_cast<std::uint64_t>(probe.bytes)));
}

}  // namespace isobar
