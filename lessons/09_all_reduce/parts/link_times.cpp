#include "09_all_reduce/parts/link_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace isobar {
namespace {

constexpr std::size_t kMostTaken = 64;  // what is asked for later came later than those before these

}  // namespace

LinkTimes::LinkTimes(const MessageLink& link) : link_(link) {
  const auto check = [](double value, bool is_fine, const char* what) {
    if (!std::isfinite(value) || !is_fine)
      throw Error(fmt::format("{:g} is no {}", value, what), "emulated link",
                  "numbers from 0 on, 0 = no limit");
  };
  check(link.link.latency_us, link.link.latency_us >= 0, "latency");
  check(link.link.bytes_per_us, link.link.bytes_per_us >= 0, "bandwidth");
  check(link.slower, link.slower > 0, "factor for a slow link");
}

double LinkTimes::length_us(std::int64_t bytes) const {
  return link_.link.bytes_per_us > 0 ? static_cast<double>(bytes) / link_.link.bytes_per_us : 0;
}

double LinkTimes::leave(std::int64_t bytes, std::int64_t now_us) {
  free_us_ = std::max(free_us_, static_cast<double>(now_us)) + link_.slower * length_us(bytes);
  return free_us_ + link_.slower * link_.link.latency_us;
}

double LinkTimes::land(std::int64_t bytes, double arrival_us) {
  const double length = length_us(bytes);
  if (length == 0) return arrival_us;
  double end_us = arrival_us;
  auto next = taken_.begin();
  for (; next != taken_.end() && end_us > next->begin_us; ++next)
    end_us = std::max(end_us, next->end_us + length);
  taken_.insert(next, {end_us - length, end_us});
  if (taken_.size() > kMostTaken) taken_.erase(taken_.begin());
  return end_us;
}

}  // namespace isobar
