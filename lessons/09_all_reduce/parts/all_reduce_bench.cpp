#include "09_all_reduce/parts/all_reduce_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "config/fault.h"
#include "core/text.h"
#include "formula/link.h"
#include "formula/link_fit.h"

namespace isobar {
namespace {

constexpr std::int64_t kLeast_bytes = 1024;
constexpr std::int64_t kTimesLarger = 4;
constexpr std::int64_t kDifferent = 7;  // values of a buffer
constexpr double kSlowLink = 10;
constexpr double kRounding = 0x1p-23;
constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));

std::vector<std::int64_t> bench_sizes(const CommConfig& config) {
  std::vector<std::int64_t> out;
  for (std::int64_t bytes = kLeast_bytes; bytes < config.bench_bytes; bytes *= kTimesLarger)
    out.push_back(bytes / kFloat);
  out.push_back(config.bench_bytes / kFloat);
  return out;
}

/// FNV-1a over the bits: the same where all values are.
double bits_of(std::span<const float> values) {
  std::uint32_t hash = 0x811c9dc5U;
  for (const float value : values) hash = (hash ^ std::bit_cast<std::uint32_t>(value)) * 0x01000193U;
  return hash;
}

bool is_emulated(const LinkConfig& link) { return link.latency_us > 0 || link.gbit_per_s > 0; }

std::string link_text(const LinkConfig& link) {
  if (!is_emulated(link)) return "shared memory as fast as it goes";
  const std::string rate = link.gbit_per_s > 0 ? fmt::format("{:g} Gb/s", link.gbit_per_s) : "any rate";
  return fmt::format("emulated, {:g} us a message and {}", link.latency_us, rate);
}

}  // namespace

RingPlace place_in_ring(const StandaloneRun& run) {
  const int n = run.size(), r = run.rank();
  const bool apart = has_fault(Fault::rank_order);
  std::vector<int> order;
  for (int i = 0; i < n; ++i) order.push_back(apart ? i / 2 + i % 2 * ((n + 1) / 2) : i);
  const auto at = static_cast<int>(std::find(order.begin(), order.end(), r) - order.begin());
  const auto rank_at = [&](int place) { return order[static_cast<std::size_t>((place + n) % n)]; };
  return {.place = at, .left = rank_at(at - 1), .right = rank_at(at + 1)};
}

MessageLink link_of_run(const StandaloneRun& run) {
  const LinkConfig& config = run.config().comm.link;
  MessageLink out{link_of(config.latency_us, config.gbit_per_s)};
  if (has_fault(Fault::slow_link) && made_fault().strikes_here()) out.slower = kSlowLink;
  if (has_fault(Fault::rank_order)) out.link.bytes_per_us /= run.size() / 2.0;
  return out;
}

std::int64_t wrong_sums(std::span<const float> values, float scale, int ranks) {
  const auto n = static_cast<std::int64_t>(ranks);
  const double allowed = scale == 1 ? 0 : kRounding * static_cast<double>(n);
  std::int64_t out = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t whole = n * (n + 1) / 2 + n * (static_cast<std::int64_t>(i) % kDifferent);
    const double sum = static_cast<double>(scale) * static_cast<double>(whole);
    const bool right = std::abs(static_cast<double>(values[i]) - sum) <= allowed * sum;  // NaN is not
    if (!right) ++out;
  }
  return out;
}

AllReduceBench::AllReduceBench(StandaloneRun& run, Messages& messages)
    : run_(run), messages_(messages), sizes_(bench_sizes(run.config().comm)) {
  if (has_fault(Fault::race)) messages.forget_to_wait();
}

std::vector<std::string> AllReduceBench::text() const {
  const CommConfig& comm = run_.config().comm;
  return {
      fmt::format("  sums    {} all-reduces by {}", run_.config().train.steps, name_of(comm.algorithm)),
      fmt::format("  buffer  float32, {} up to {}", counted(static_cast<std::int64_t>(sizes_.size()), "size"),
                  human_bytes(static_cast<std::uint64_t>(comm.bench_bytes))),
      "  link    " + link_text(comm.link)};
}

std::span<float> AllReduceBench::fill(std::int64_t step) {
  const auto sizes = static_cast<std::int64_t>(sizes_.size());
  scale_ = step / sizes % 2 == 0 ? 1.0F : 1.0F / 3;
  values_.resize(static_cast<std::size_t>(sizes_[static_cast<std::size_t>(step % sizes)]));
  for (std::size_t i = 0; i < values_.size(); ++i)
    values_[i] =
        scale_ * static_cast<float>(messages_.rank() + 1 + static_cast<std::int64_t>(i) % kDifferent);
  const FaultSetting& fault = made_fault();
  if (fault.fault == Fault::drop_message && fault.strikes_here() && fault.step == step) messages_.drop_next();
  return values_;
}

void AllReduceBench::finish(StandaloneStep& step) {
  const auto bytes = static_cast<std::int64_t>(values_.size()) * kFloat;
  const auto size = static_cast<double>(bytes);
  const double time_us = run_.largest(static_cast<double>(step.timer().times().of(Stage::comm)));
  const double wrong = run_.largest(static_cast<double>(wrong_sums(values_, scale_, messages_.size())));
  const double bits = bits_of(values_);
  const bool same_bits = run_.largest(bits) == -run_.largest(-bits);
  wrong_ = std::max(wrong_, wrong);
  other_bits_ += same_bits ? 0 : 1;
  times_us_[bytes].push_back(time_us);
  const std::int64_t calls = messages_.sent_messages() - messages_before_;
  const std::int64_t wire = messages_.sent_bytes() - bytes_before_;
  messages_before_ += calls;
  bytes_before_ += wire;
  step.finish({.figures = {{"bytes", size},
                           {"all_reduce_us", time_us},
                           {"comm_calls", static_cast<double>(calls)},
                           {"wire_bytes", static_cast<double>(wire)},
                           {"algbw_gb_per_s", algorithm_bandwidth(size, time_us) * 1e-3},
                           {"busbw_gb_per_s", bus_bandwidth(messages_.size(), size, time_us) * 1e-3},
                           {"wrong_values", wrong},
                           {"same_bits", same_bits ? 1.0 : 0.0}}});
}

std::vector<std::string> AllReduceBench::fit_lines() const {
  std::vector<TimedSize> times;
  for (const auto& [bytes, all] : times_us_) {
    for (const double time_us : all) times.push_back({static_cast<double>(bytes), time_us});
  }
  const auto fit = fit_link(run_.config().comm.algorithm, messages_.size(), times);
  if (!fit) return {};
  const std::string rate = fit->link.bytes_per_us > 0
                               ? fmt::format(" + bytes / {:.3g} GB/s", fit->link.bytes_per_us * 1e-3)
                               : ", whatever its size";
  return {fmt::format("  fit      a message takes {:.3g} us{}; medians are within {:.0f} % of it",
                      fit->link.latency_us, rate, 100 * fit->worst)};
}

std::vector<std::string> AllReduceBench::table() const {
  const CommConfig& comm = run_.config().comm;
  const int ranks = messages_.size();
  const Link link = link_of(comm.link.latency_us, comm.link.gbit_per_s);
  const bool has_model = ranks > 1 && is_emulated(comm.link);
  std::vector<std::string> out = {fmt::format("  {:>10} {:>6} {:>20} {:>10}{} {:>9}", "bytes", "runs",
                                              "us: least to most", "median", has_model ? "      model" : "",
                                              "busbw GB/s")};
  for (const auto& [bytes, all] : times_us_) {
    std::vector<double> times = all;
    std::sort(times.begin(), times.end());
    const double median = (times[(times.size() - 1) / 2] + times[times.size() / 2]) / 2;
    const auto size = static_cast<double>(bytes);
    const std::string model =
        has_model ? fmt::format(" {:>10.0f}", all_reduce_us(comm.algorithm, link, ranks, size)) : "";
    out.push_back(fmt::format("  {:>10} {:>6} {:>20} {:>10.0f}{} {:>9.3f}", human_count(bytes), times.size(),
                              fmt::format("{:.0f} to {:.0f}", times.front(), times.back()), median, model,
                              bus_bandwidth(ranks, size, median) * 1e-3));
  }
  for (std::string& line : fit_lines()) out.push_back(std::move(line));
  if (wrong_ > 0)
    out.push_back(fmt::format("  WRONG    up to {} values of a buffer are not the sum over the ranks",
                              human_count(static_cast<std::int64_t>(wrong_))));
  else
    out.emplace_back("  sums     every value is the sum over the ranks");
  if (other_bits_ > 0)
    out.push_back(fmt::format("  WRONG    {} sums are not the same on all ranks", other_bits_));
  else if (ranks > 1)
    out.emplace_back("  bits     the same on all ranks, whole numbers or rounded ones");
  return out;
}

}  // namespace isobar
