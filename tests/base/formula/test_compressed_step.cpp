// The predicted step of a scheme against a walk microsecond by microsecond, and where two of them cross.
#include <random>

#include "formula/bucket_plan.h"
#include "formula/compressed_step.h"
#include "support/catch.h"

namespace isobar::test_compressed_step {

namespace {

constexpr int kRanks = 2;
constexpr int kLateParts = 3;  // one of three parts of the arithmetic comes behind backward

/// What the thread that computes does, in turn.
struct Action {
  enum class Kind { compute, send, wait } kind;
  int us = 0;               ///< compute
  std::size_t message = 0;  ///< send, wait
};

/// Microsecond by microsecond: the thread and the link each do one thing at a time.
int walk_us(const std::vector<Action>& actions, const std::vector<int>& costs_us) {
  std::vector<bool> sent(costs_us.size()), summed(costs_us.size());
  std::size_t at = 0, carried = 0;
  int left_us = 0, link_left_us = 0, now_us = 0;
  for (;; ++now_us) {
    if (link_left_us > 0 && --link_left_us == 0) summed[carried++] = true;
    if (left_us > 0 && --left_us == 0) ++at;
    for (bool goes_on = true; goes_on && at < actions.size();) {
      const Action& act = actions[at];
      goes_on = false;
      if (act.kind == Action::Kind::send) sent[act.message] = goes_on = true;
      if (act.kind == Action::Kind::wait) goes_on = summed[act.message];
      if (act.kind == Action::Kind::compute && left_us == 0) {
        left_us = act.us;
        goes_on = act.us == 0;
      }
      if (goes_on) ++at;
    }
    if (link_left_us == 0 && carried < sent.size() && sent[carried]) link_left_us = costs_us[carried];
    if (at == actions.size()) return now_us;
  }
}

/// Whole microseconds throughout: 12 parts of backward, arithmetic in thirds and halves of a part.
SchemeStep made_step(int backward_us, int arithmetic_us, StepMessages messages) {
  return {.computing = {.forward_us = 40, .backward_us = 12.0 * backward_us, .optimize_us = 7},
          .arithmetic_us = 12.0 * 6 * arithmetic_us,
          .turns = {std::move(messages)}};
}

int brute_us(int backward_us, int arithmetic_us, const StepMessages& messages, const Link& link) {
  std::vector<Action> actions = {{Action::Kind::compute, 40}};
  std::vector<int> costs_us;
  std::vector<int> shares;
  std::vector<std::size_t> last;
  std::vector<int> count;
  int done = 0;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const PlannedMessage& message = messages[i];
    costs_us.push_back(
        static_cast<int>(ring_all_reduce_us(link, kRanks, static_cast<double>(message.bytes)) + 0.5));
    if (message.is_second) {
      ++count[message.bucket];
      last[message.bucket] = i;
      continue;
    }
    const int there = static_cast<int>(message.ready * 12 + 0.5);
    shares.push_back(there - done);
    last.push_back(i);
    count.push_back(1);
    done = there;
  }
  done = 0;
  std::vector<std::size_t> first(shares.size());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const PlannedMessage& message = messages[i];
    const int there = static_cast<int>(message.ready * 12 + 0.5);
    actions.push_back({Action::Kind::compute, backward_us * (there - done)});
    done = there;
    if (message.is_second)
      actions.push_back({Action::Kind::wait, 0, first[message.bucket]});
    else
      first[message.bucket] = i;
    actions.push_back(
        {Action::Kind::compute, 4 * arithmetic_us * shares[message.bucket] / count[message.bucket]});
    actions.push_back({Action::Kind::send, 0, i});
  }
  for (std::size_t bucket = 0; bucket < shares.size(); ++bucket) {
    actions.push_back({Action::Kind::wait, 0, last[bucket]});
    actions.push_back({Action::Kind::compute, 6 / kLateParts * arithmetic_us * shares[bucket]});
  }
  actions.push_back({Action::Kind::compute, 7});
  return walk_us(actions, costs_us);
}

/// So many buckets of equal shares; with second messages or without.
StepMessages even_messages(std::size_t buckets, bool in_pairs, std::int64_t bytes) {
  StepMessages out;
  for (std::size_t bucket = 0; bucket <= buckets; ++bucket) {
    const double ready = static_cast<double>(std::min(bucket + 1, buckets)) / static_cast<double>(buckets);
    if (bucket < buckets) out.push_back({bucket, false, ready, bytes});
    if (in_pairs && bucket > 0) out.push_back({bucket - 1, true, ready, bytes / 2});
  }
  return out;
}

SchemeStep scheme_step(CompressKind kind, double backward_us, double arithmetic_us) {
  CommConfig config;
  config.compress = kind;
  config.bucket_mb = config.first_bucket_mb = 5;
  return {.computing = {.forward_us = backward_us / 2, .backward_us = backward_us, .optimize_us = 1000},
          .arithmetic_us = arithmetic_us,
          .turns = planned_messages(gradient_matrices({}, true), config)};
}

}  // namespace

TEST_CASE("a predicted step is as long as one that is walked through microsecond by microsecond") {
  for (const std::size_t buckets : {1u, 2u, 3u, 4u, 6u, 12u}) {
    for (const bool in_pairs : {false, true}) {
      for (const int backward_us : {0, 3, 20}) {
        for (const int arithmetic_us : {0, 1, 5}) {
          for (const std::int64_t bytes : {2, 40, 200}) {
            const Link link{.latency_us = 2, .bytes_per_us = 1};
            const StepMessages messages = even_messages(buckets, in_pairs, bytes);
            INFO(buckets << " buckets" << (in_pairs ? " in pairs, " : ", ") << backward_us << " us, "
                         << arithmetic_us << " us, " << bytes << " bytes");
            const double found =
                compressed_step_us(made_step(backward_us, arithmetic_us, messages), link, kRanks);
            CHECK(found == Approx(brute_us(backward_us, arithmetic_us, messages, link)));
          }
        }
      }
    }
  }
}

TEST_CASE("without compression it is the overlapped step") {
  const Link link = link_of(50, 1);
  for (const double slowdown : {0.0, 0.15}) {
    SchemeStep step = scheme_step(CompressKind::none, 400'000, 0);
    step.computing.slowdown = slowdown;
    const std::vector<PlannedBucket> plan = bucket_plan(gradient_bytes({}, true), mebibytes(5), mebibytes(5));
    const auto cost_us = [&](double bytes) { return ring_all_reduce_us(link, 4, bytes); };
    CHECK(compressed_step_us(step, link, 4) ==
          Approx(overlapped_step_us(step.computing,
                                    even_bucket_times(plan, step.computing.backward_us, cost_us))));
  }
}

TEST_CASE("a step is no shorter on a slower link, with more ranks, or with more arithmetic") {
  using enum CompressKind;
  for (const CompressKind kind : {none, bf16, powersgd, acpsgd}) {
    double before = 0;
    for (const double gbit : {100.0, 10.0, 1.0, 0.1}) {
      const double now = compressed_step_us(scheme_step(kind, 20'000, 3000), link_of(100, gbit), 2);
      CHECK(now >= before);
      CHECK(compressed_step_us(scheme_step(kind, 20'000, 3000), link_of(100, gbit), 4) >= now);
      CHECK(compressed_step_us(scheme_step(kind, 20'000, 4000), link_of(100, gbit), 2) >= now);
      before = now;
    }
  }
}

TEST_CASE("two schemes cross where both steps are as long, and once") {
  using enum CompressKind;
  const SchemeStep plain = scheme_step(none, 20'000, 0), power = scheme_step(powersgd, 20'000, 20'000);
  const std::optional<double> found = crossing_gbit_per_s(plain, power, 100, 2);
  REQUIRE(found);
  const Link there = link_of(100, *found);
  CHECK(compressed_step_us(plain, there, 2) == Approx(compressed_step_us(power, there, 2)));
  const auto wins = [&](double gbit) {
    return compressed_step_us(power, link_of(100, gbit), 2) <
           compressed_step_us(plain, link_of(100, gbit), 2);
  };
  CHECK(wins(*found * 0.99));
  CHECK(wins(0.01));
  CHECK_FALSE(wins(*found * 1.01));
  CHECK_FALSE(wins(900));
  CHECK(crossing_gbit_per_s(power, plain, 100, 2) == found);
  // Less arithmetic pays on faster links.
  CHECK(*crossing_gbit_per_s(plain, scheme_step(powersgd, 20'000, 10'000), 100, 2) > *found);
}

TEST_CASE("schemes of which one is never the quicker do not cross") {
  using enum CompressKind;
  const SchemeStep plain = scheme_step(none, 20'000, 0);
  CHECK_FALSE(crossing_gbit_per_s(plain, plain, 100, 2));
  CHECK_FALSE(crossing_gbit_per_s(plain, scheme_step(bf16, 20'000, 0), 100, 2));
  CHECK_FALSE(crossing_gbit_per_s(plain, scheme_step(powersgd, 20'000, 1e9), 100, 2));
}

}  // namespace isobar::test_compressed_step
