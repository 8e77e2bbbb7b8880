#pragma once
// Plans in words and in time: by the right rule, by those that people take for it, and by trying every cut.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "10_buckets/exercise/exercise.h"
#include "core/text.h"

namespace isobar::exercise {

using Plan = std::vector<PlannedBucket>;
using Times = std::vector<double>;
using Places = std::vector<std::size_t>;
using Values = std::vector<float>;

inline std::string words(const Plan& plan) { return plan_text(plan); }

inline std::string words(const auto& numbers) {
  std::vector<std::string> out;
  for (const auto& number : numbers) out.push_back(fmt::format("{:.6g}", number));
  return out.empty() ? "none" : joined(out);
}

inline std::string words(const Places& places) { return places.empty() ? "none" : joined(places); }

inline std::string us(double time_us) { return fmt::format("{:.6g} us", time_us); }

inline bool is_near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(1.0, std::abs(b)); }

inline bool are_near(const Times& a, const Times& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), is_near);
}

/// Ways to time a bucket, the right one and those that people take for it.
struct TimingRule {
  bool waits_for_link = true;
  bool with_its_first = false;  ///< gradient
  bool behind_backward = false;
  bool bytes_pile_up = false;
  double cost = 1;
};

inline Times timed(const TimedStep& step, const Plan& plan, const TimingRule& rule = {}) {
  Times out;
  double bytes = 0;
  for (const PlannedBucket& bucket : plan) {
    bytes = (rule.bytes_pile_up ? bytes : 0) + static_cast<double>(bucket.bytes);
    const std::size_t last = bucket.first + bucket.count - 1;
    double start = step.gradients.at(rule.with_its_first ? bucket.first : last).ready_us;
    if (rule.behind_backward) start = step.backward_us;
    if (rule.waits_for_link && !out.empty()) start = std::max(start, out.back());
    out.push_back(start + rule.cost * ring_all_reduce_us(step.link, step.ranks, bytes));
  }
  return out;
}

inline double last_of(const TimedStep& step, const Plan& plan) {
  return plan.empty() ? 0 : timed(step, plan).back();
}

/// Cut in front of each gradient i + 1 for which bit i is set.
inline Plan plan_of(const TimedStep& step, std::uint64_t cuts) {
  Plan out;
  for (std::size_t i = 0; i < step.gradients.size(); ++i) {
    if (i == 0 || ((cuts >> (i - 1)) & 1) != 0) out.push_back({.first = i});
    ++out.back().count;
    out.back().bytes += step.gradients[i].bytes;
  }
  return out;
}

/// Over two ranks a message of s bytes takes 20 + s us.
inline TimedStep six_gradients() {
  return {.gradients = {{40, 50}, {30, 100}, {30, 150}, {50, 200}, {60, 250}, {20, 300}},
          .backward_us = 320,
          .link = {.latency_us = 10, .bytes_per_us = 1},
          .ranks = 2};
}

inline Plan three_buckets() { return plan_of(six_gradients(), 0b10010); }

/// Steps of 1 to `most` gradients.
inline std::vector<TimedStep> made_steps(std::size_t most) {
  std::vector<TimedStep> out;
  for (std::size_t seed = 0; seed < 24; ++seed) {
    TimedStep step{.link = {.latency_us = static_cast<double>(seed % 4) * 8, .bytes_per_us = 1}, .ranks = 2};
    for (std::size_t i = 0; i < 1 + seed % most; ++i) {
      step.gradients.push_back({.bytes = static_cast<std::int64_t>(1 + (31 * i * i + 17 * seed) % 97),
                                .ready_us = step.backward_us});
      step.backward_us += static_cast<double>((53 * i + 29 * seed) % 61);
    }
    out.push_back(std::move(step));
  }
  return out;
}

inline std::string given(const TimedStep& step) {
  std::vector<std::int64_t> bytes;
  Times ready;
  for (const TimedGradient& gradient : step.gradients) {
    bytes.push_back(gradient.bytes);
    ready.push_back(gradient.ready_us);
  }
  return fmt::format("of gradients of {} bytes that are ready at {} us, latency {} us,", joined(bytes),
                     words(ready), step.link.latency_us);
}

/// By trying every cut: the quickest, with the fewest buckets.
inline Plan best_of_all(const TimedStep& step) {
  Plan best = plan_of(step, 0);
  for (std::uint64_t cuts = 1; cuts < std::uint64_t{1} << (step.gradients.size() - 1); ++cuts) {
    Plan plan = plan_of(step, cuts);
    const double better_us = last_of(step, best) - last_of(step, plan);
    if (better_us > 0 || (better_us == 0 && plan.size() < best.size())) best = std::move(plan);
  }
  return best;
}

}  // namespace isobar::exercise
