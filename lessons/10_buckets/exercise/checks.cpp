// What is asked of my/10_timed_buckets.cpp, easy things first.
#include <limits>

#include "10_buckets/exercise/driven_hook.h"
#include "10_buckets/exercise/timed_plans.h"
#include "check/check.h"

namespace isobar {
namespace exercise {
namespace {

void check_finish(const Part& part) {
  const TimedStep step = six_gradients();
  const Plan plan = three_buckets();
  const Times came = part.finishes_us(step, plan), wanted = timed(step, plan);
  const auto is_by = [&](const TimingRule& rule) { return are_near(came, timed(step, plan, rule)); };
  const char* look = "finishes_us: the later of two times, and the cost";
  if (is_by({.waits_for_link = false})) look = "the bucket before: the link carries one message at a time";
  if (is_by({.with_its_first = true})) look = "which gradient makes a bucket ready: its last one";
  if (is_by({.behind_backward = true})) look = "what a bucket waits for: not for the end of backward";
  if (is_by({.bytes_pile_up = true})) look = "whose bytes a bucket pays for: its own alone";
  if (is_by({.cost = 0.5})) look = "the cost: an all-reduce goes round the ring twice, not once";
  expect(
      are_near(came, wanted),
      {fmt::format("the buckets {} to be through at {} us", words(plan), words(wanted)), words(came), look});
}

void check_cost(const Part& part) {
  for (const auto& [ranks, link] : std::vector<std::pair<int, Link>>{
           {4, {10, 1}}, {2, {0, 2}}, {8, {25, 0}}, {1, {10, 1}}, {16, {3, 0.5}}}) {
    TimedStep step = six_gradients();
    step.ranks = ranks;
    step.link = link;
    const Times came = part.finishes_us(step, three_buckets()), wanted = timed(step, three_buckets());
    expect(are_near(came, wanted),
           {fmt::format("with {} ranks, {} us of latency and {}, the buckets {} to be through at {} us",
                        ranks, link.latency_us,
                        link.bytes_per_us > 0 ? fmt::format("{} bytes a us", link.bytes_per_us)
                                              : std::string("a bandwidth without limit"),
                        words(three_buckets()), words(wanted)),
            words(came), "the cost: ring_all_reduce_us of step.link, step.ranks and the bytes"});
  }
}

void check_exposed(const Part& part) {
  TimedStep step = six_gradients();
  const Plan plan = three_buckets();
  const double last = last_of(step, plan);
  for (const double backward_us : {320.0, 500.0}) {
    step.backward_us = backward_us;
    const double came = part.exposed_us(step, plan), wanted = std::max(0.0, last - backward_us);
    const char* look = "exposed_us: the last bucket, less backward";
    if (is_near(came, last)) look = "when communication is exposed: behind the end of backward only";
    if (is_near(came, last - step.gradients.back().ready_us))
      look = "what hides it: backward_us, which goes on behind the last gradient";
    if (came < 0) look = "a bucket that is through before backward ends: nothing is exposed";
    expect(is_near(came, wanted),
           {fmt::format("{} to be exposed of a last bucket that is through at {}, backward ending at {}",
                        us(wanted), us(last), us(backward_us)),
            us(came), look});
  }
  const double of_none = part.exposed_us({.gradients = {}, .backward_us = 5, .link = {}, .ranks = 2}, {});
  expect(of_none == 0, {"nothing to be exposed of no buckets", us(of_none), "exposed_us of an empty plan"});
}

void expect_whole(const TimedStep& step, const Plan& plan) {
  std::size_t next = 0;
  bool whole = true;
  for (const PlannedBucket& bucket : plan) {
    whole = whole && bucket.count > 0 && bucket.first == next;
    next += bucket.count;
  }
  const std::size_t count = step.gradients.size();
  expect(whole && next == count,
         {count == 0 ? std::string("no buckets of no gradients")
                     : fmt::format("each of gradients 0 to {} in one bucket, in order", count - 1),
          words(plan), "the walk back: each bucket ends where the one behind it begins"});
  for (const PlannedBucket& bucket : plan) {
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < bucket.count; ++i) bytes += step.gradients[bucket.first + i].bytes;
    expect(bucket.bytes == bytes, {fmt::format("the bucket {} to hold {} bytes", words(Plan{bucket}), bytes),
                                   fmt::format("{}", bucket.bytes), "what bytes of a bucket adds up"});
  }
}

void check_whole(const Part& part) {
  std::vector<TimedStep> steps = {six_gradients()};
  steps.emplace_back();
  for (TimedStep& step : made_steps(7)) steps.push_back(std::move(step));
  for (const TimedStep& step : steps) expect_whole(step, part.quickest_plan(step));
}

void expect_quickest(const Part& part, const TimedStep& step) {
  const Plan came = part.quickest_plan(step), best = best_of_all(step);
  expect_whole(step, came);
  const char* look = "quickest_plan: when k buckets are through with the first n gradients, for all k and n";
  if (came.size() == 1) look = "what one bucket costs: it waits for the last gradient";
  if (came.size() == step.gradients.size()) look = "what each message costs, however small: the latency";
  expect(
      is_near(last_of(step, came), last_of(step, best)),
      {fmt::format("{} buckets through at {}, such as {}", given(step), us(last_of(step, best)), words(best)),
       fmt::format("{}, through at {}", words(came), us(last_of(step, came))), look});
}

void check_quickest(const Part& part) {
  expect_quickest(part, six_gradients());
  // The first bucket starts early, and the link is busy from then on: no cap comes to that.
  expect_quickest(part, {.gradients = {{60, 100}, {60, 130}, {60, 150}, {60, 170}, {20, 190}},
                         .backward_us = 200,
                         .link = {.latency_us = 10, .bytes_per_us = 1},
                         .ranks = 2});
  for (const TimedStep& step : made_steps(8)) expect_quickest(part, step);
}

void expect_fewest(const Part& part, const TimedStep& step, const char* look) {
  const Plan came = part.quickest_plan(step), best = best_of_all(step);
  expect(came.size() == best.size(), {fmt::format("{} the buckets {}: {} is not later", given(step),
                                                  words(best), us(last_of(step, best))),
                                      words(came), look});
}

void check_fewest(const Part& part) {
  expect_fewest(part,
                {.gradients = {{100, 40}, {50, 40}, {10, 40}},
                 .backward_us = 40,
                 .link = {.latency_us = 0, .bytes_per_us = 1},
                 .ranks = 2},
                "whether more buckets replace fewer that are as quick");
  const char* const look =
      "what is through early and then waits: compare the last bucket, with each number of buckets";
  expect_fewest(part,
                {.gradients = {{50, 0}, {10, 100}, {20, 1000}},
                 .backward_us = 1000,
                 .link = {.latency_us = 10, .bytes_per_us = 1},
                 .ranks = 2},
                look);
  for (const TimedStep& step : made_steps(8)) expect_fewest(part, step, look);
}

void check_many(const Part& part) {
  TimedStep step{.link = {.latency_us = 15, .bytes_per_us = 2}, .ranks = 8};
  for (std::size_t i = 0; i < 200; ++i) {
    step.gradients.push_back(
        {.bytes = static_cast<std::int64_t>(1 + 37 * i % 101), .ready_us = step.backward_us});
    step.backward_us += static_cast<double>(53 * i % 61);
  }
  Times through = {0};  // by the number of gradients, in however many buckets
  for (std::size_t n = 1; n <= step.gradients.size(); ++n) {
    double bytes = 0;
    through.push_back(std::numeric_limits<double>::infinity());
    for (std::size_t first = n; first-- > 0;) {
      bytes += static_cast<double>(step.gradients[first].bytes);
      through[n] = std::min(through[n], std::max(through[first], step.gradients[n - 1].ready_us) +
                                            ring_all_reduce_us(step.link, step.ranks, bytes));
    }
  }
  const Plan came = part.quickest_plan(step);
  expect_whole(step, came);
  expect(is_near(last_of(step, came), through.back()),
         {fmt::format("of 200 gradients buckets that are through at {}", us(through.back())),
          fmt::format("{} that are through at {}", came.size(), us(last_of(step, came))),
          "whether all places are tried at which the last bucket may begin"});
}

Values times(Values values, float factor) {
  for (float& value : values) value *= factor;
  return values;
}

bool are_near(const Values& a, const Values& b) {
  return std::ranges::equal(a, b, [](float x, float y) { return std::abs(x - y) <= 1e-5F * std::abs(y); });
}

bool holds(const Values& values, float wanted) { return std::ranges::find(values, wanted) != values.end(); }

/// Every message that has left holds its gradients.
void expect_messages(const Drive& drive) {
  for (const auto& [bucket, came, memory] : drive.messenger.sent()) {
    const Values wanted = drive.own_message(bucket);
    Values sorted = came;
    std::ranges::sort(sorted);
    const char* look = "ready(): what is copied, and to which place of the message";
    if (came.size() != wanted.size()) look = "how large a message is: the values of its bucket's gradients";
    if (holds(came, kElsewhere)) look = "when a gradient is copied: before ready() returns";
    if (sorted == wanted)
      look = "where a gradient begins in its message: the plan says so, not who came first";
    if (are_near(times(came, static_cast<float>(drive.messenger.ranks())), wanted))
      look = "when sums are divided: not before there are sums";
    expect(came == wanted,
           {fmt::format("in step {} the message of bucket {} to hold {}", drive.step, bucket, words(wanted)),
            words(came), look});
  }
}

/// Every gradient is the mean over the ranks.
void expect_means(const Drive& drive) {
  const auto ranks = static_cast<float>(drive.messenger.ranks());
  for (std::size_t gradient = 0; gradient < drive.memory.size(); ++gradient) {
    const Values& came = drive.memory[gradient];
    const Values sum = times(drive.own(gradient), drive.messenger.sum_of_ones()),
                 mean = times(sum, 1 / ranks);
    const char* look = "finish(): which values of the message belong to this gradient";
    if (came == sum) look = "what makes a mean of a sum";
    if (are_near(times(came, ranks), mean)) look = "how often it is divided by the number of ranks: once";
    if (std::ranges::any_of(came, [](float value) { return std::isnan(value); }))
      look = "whether the message has come back: it is under way until wait() has returned";
    if (std::ranges::count(came, kElsewhere) == std::ssize(came))
      look = "finish(): nothing was unpacked into it";
    expect(are_near(came, mean), {fmt::format("behind step {} gradient {} to hold the mean over {} ranks, {}",
                                              drive.step, gradient, ranks, words(mean)),
                                  words(came), look});
  }
}

void check_packs(const Part& part) {
  Drive drive(part);
  drive.begin(1);
  drive.ready({0, 1, 2, 3, 4, 5});
  expect(!drive.sent().empty(), {"messages to leave while gradients become ready", "none",
                                 "ready(): a bucket none of whose gradients is missing"});
  expect_messages(drive);
}

void check_places(const Part& part) {
  Drive drive(part);
  drive.begin(1);
  drive.ready({1, 0, 4, 2, 3, 5});
  expect_messages(drive);
}

void check_turn(const Part& part) {
  Drive drive(part);
  const Places order = {1, 5, 0, 4, 3, 2};
  const std::vector<Places> sent_behind = {{}, {}, {0}, {0}, {0}, {0, 1, 2}};
  drive.begin(1);
  for (std::size_t i = 0; i < order.size(); ++i) {
    drive.ready({order[i]});
    const Places so_far(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    expect(drive.sent() == sent_behind[i],
           {fmt::format("messages that have left once gradients {} are ready: {}", words(so_far),
                        words(sent_behind[i])),
            words(drive.sent()), "which message may leave: one that is full, and next in turn"});
  }
}

void check_waits(const Part& part) {
  Drive drive(part);
  drive.begin(1);
  drive.ready({0, 1, 2, 3, 4, 5});
  expect(drive.messenger.waited().empty(),
         {"ready() to return at once, so that backward goes on",
          fmt::format("a wait for bucket {}", words(drive.messenger.waited())), "where wait is called"});
  drive.packed->finish();
  Places waited = drive.messenger.waited();
  std::ranges::sort(waited);
  expect(waited == Places{0, 1, 2}, {"finish() to wait for the buckets 0, 1, 2, each once", words(waited),
                                     "which buckets finish() waits for: all of the plan"});
}

void check_unpacks(const Part& part) {
  Drive drive(part);
  drive.run(1);
  expect_means(drive);
}

void check_mean(const Part& part) {
  for (const int ranks : {3, 4, 1}) {
    Drive drive(part, ranks);
    drive.run(1);
    expect_messages(drive);
    expect_means(drive);
  }
}

void check_memory(const Part& part) {
  Drive drive(part);
  std::map<std::size_t, const float*> memory;
  for (int step = 1; step <= 2; ++step) {
    drive.run(step);
    for (const Finding& complaint : drive.messenger.complaints()) not_yet(complaint);
    for (const auto& message : drive.messenger.sent()) {
      const bool same = memory.emplace(message.bucket, message.memory).first->second == message.memory;
      expect(same, {fmt::format("message {} to lie where it lay in step 1", message.bucket),
                    fmt::format("other memory in step {}", step),
                    "where memory is taken: once, by the constructor"});
    }
  }
}

void check_steps(const Part& part) {
  Drive drive(part);
  const std::vector<Places> orders = {{0, 1, 2, 3, 4, 5}, {5, 4, 3, 2, 1, 0}, {2, 0, 4, 1, 5, 3}};
  for (int step = 1; step <= 3; ++step) {
    drive.run(step, orders[static_cast<std::size_t>(step) - 1]);
    expect(drive.sent() == Places{0, 1, 2}, {fmt::format("step {} to send the buckets 0, 1, 2", step),
                                             words(drive.sent()), "what a step leaves behind"});
    expect_messages(drive);
    expect_means(drive);
  }
}

void check_edges(const Part& part) {
  Drive none(part, 2, {}, {});
  none.run(1, {});
  expect(none.sent().empty(), {"nothing to be sent of no gradients", words(none.sent()), "finish()"});
  Drive one(part, 2, {{0, 1, 12}}, {3});
  one.run(1, {0});
  expect_messages(one);
  expect_means(one);
  Drive many(part, 2, {{0, 1, 4}, {1, 1, 4}, {2, 2, 12}}, {1, 1, 1, 2});
  many.run(1, {3, 2, 1, 0});
  expect(many.sent() == Places{0, 1, 2},
         {"the messages 0, 1, 2 to leave with the last gradient", words(many.sent()), "ready()"});
  expect_messages(many);
  expect_means(many);
}

}  // namespace
}  // namespace exercise

Checks checks_of_part(const void* given) {
  return checks_of<exercise::Part>(given, {{"finish", exercise::check_finish},
                                           {"cost", exercise::check_cost},
                                           {"exposed", exercise::check_exposed},
                                           {"whole", exercise::check_whole},
                                           {"quickest", exercise::check_quickest},
                                           {"fewest", exercise::check_fewest},
                                           {"many", exercise::check_many},
                                           {"packs", exercise::check_packs},
                                           {"places", exercise::check_places},
                                           {"turn", exercise::check_turn},
                                           {"waits", exercise::check_waits},
                                           {"memory", exercise::check_memory},
                                           {"unpacks", exercise::check_unpacks},
                                           {"mean", exercise::check_mean},
                                           {"steps", exercise::check_steps},
                                           {"edges", exercise::check_edges}});
}

}  // namespace isobar
