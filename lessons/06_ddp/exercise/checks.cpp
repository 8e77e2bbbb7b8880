// What is asked of my/06_buckets.cpp, easy things first.
#include <fmt/format.h>

#include <numeric>

#include "06_ddp/exercise/part.h"
#include "check/check.h"
#include "core/text.h"

namespace isobar {
namespace exercise {
namespace {

using Sizes = std::vector<std::int64_t>;
using Plan = std::vector<PlannedBucket>;
using Places = std::vector<std::size_t>;

std::string words(const Plan& plan) { return plan_text(plan); }

std::string words(const Places& places) { return places.empty() ? "none" : joined(places); }

struct PlanCase {
  Sizes sizes;
  std::int64_t first_cap, cap;
  Places counts;  ///< gradients by bucket, as they should be
  const char* look;
};

void expect_plan(const Part& part, const PlanCase& wanted) {
  const Plan came = part.bucket_plan(wanted.sizes, wanted.first_cap, wanted.cap);
  Plan plan;
  std::size_t first = 0;
  for (const std::size_t count : wanted.counts) {
    const auto begin = wanted.sizes.begin() + static_cast<std::ptrdiff_t>(first);
    plan.push_back(
        {first, count, std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(count), std::int64_t{0})});
    first += count;
  }
  const std::string given = wanted.sizes.empty()
                                ? std::string("no gradients")
                                : fmt::format("gradients of {} bytes (caps {} and {})", joined(wanted.sizes),
                                              wanted.first_cap, wanted.cap);
  expect(words(came) == words(plan),
         {fmt::format("of {} the buckets {}", given, words(plan)), words(came), wanted.look});
  for (std::size_t i = 0; i < plan.size(); ++i)
    expect(came[i].bytes == plan[i].bytes,
           {fmt::format("bucket {} to hold {} bytes", i, plan[i].bytes), fmt::format("{}", came[i].bytes),
            "what bytes of a bucket adds up"});
}

void check_plan(const Part& part) {
  expect_plan(part,
              {{40, 30, 30, 50, 60, 20},
               60,
               100,
               {2, 3, 1},
               "when a bucket is closed: once it holds its cap, the gradient that reached it included"});
}

void check_exact(const Part& part) {
  expect_plan(part, {{10, 10, 10, 10, 10, 10, 10},
                     20,
                     30,
                     {2, 3, 2},
                     "whether a bucket that holds exactly its cap is closed"});
}

void check_caps(const Part& part) {
  expect_plan(part,
              {{10, 10, 10, 10, 10}, 40, 20, {2, 2, 1}, "the cap of the first bucket: the smaller one"});
  expect_plan(part, {{5, 100, 5, 5, 90, 7},
                     10,
                     20,
                     {2, 3, 1},
                     "a gradient that is larger than a cap: it is never divided"});
}

void check_rest(const Part& part) {
  const char* const look = "what is pushed behind the loop: what is left, if there is something left";
  expect_plan(part, {{10, 1}, 10, 100, {1, 1}, look});
  expect_plan(part, {{10, 100}, 10, 100, {1, 1}, look});
  expect_plan(part, {{}, 10, 100, {}, look});
}

/// Six gradients in three buckets: 0-1, 2-4, 5.
Plan three_buckets() { return {{0, 2, 20}, {2, 3, 30}, {5, 1, 10}}; }
const Places kAll = {0, 1, 2};

/// A sender, and what it has sent in this step.
struct Watched {
  explicit Watched(const Part& part, Plan plan = three_buckets())
      : sender(part.make_bucket_sender(std::move(plan),
                                       [this](std::size_t bucket) { sent.push_back(bucket); })) {}
  void begin() {
    sent.clear();
    sender->begin();
  }
  void ready(const Places& gradients) {
    for (const std::size_t gradient : gradients) sender->ready(gradient);
  }
  Places sent;
  std::unique_ptr<BucketSender> sender;
};

void check_sends(const Part& part) {
  Watched watched(part);
  watched.begin();
  const std::vector<Places> sent_behind = {{}, {0}, {0}, {0}, {0, 1}, {0, 1, 2}};
  for (std::size_t gradient = 0; gradient < sent_behind.size(); ++gradient) {
    watched.ready({gradient});
    expect(watched.sent == sent_behind[gradient],
           {fmt::format("sent once gradients 0 to {} are there: {}", gradient, words(sent_behind[gradient])),
            words(watched.sent), "when ready() calls send_: as soon as all gradients of a bucket are there"});
  }
  watched.sender->finish();
  expect(watched.sent == kAll,
         {"nothing to be sent by finish() after all buckets have left", words(watched.sent), "finish()"});
}

void check_turn(const Part& part) {
  Watched watched(part);
  watched.begin();
  watched.ready({5, 3, 2, 4, 1});
  expect(watched.sent.empty(),
         {"nothing to be sent while bucket 0 is not full, though buckets 1 and 2 are", words(watched.sent),
          "which bucket may leave: the next in turn, on every rank the same"});
  watched.ready({0});
  expect(watched.sent == kAll, {"buckets 0, 1, 2 to leave once bucket 0 is full, the others being so already",
                                words(watched.sent), "whether ready() goes on after it has sent one bucket"});
  watched.sender->finish();
}

void check_steps(const Part& part) {
  Watched watched(part);
  for (int step = 1; step <= 3; ++step) {
    watched.begin();
    watched.ready({0, 2, 1, 3, 5, 4});
    watched.sender->finish();
    expect(watched.sent == kAll, {fmt::format("step {} to send each bucket once: 0, 1, 2", step),
                                  words(watched.sent), "what begin() sets back"});
  }
}

void expect_twice(Watched& watched, std::size_t gradient, const char* when) {
  std::string came = "it was taken";
  try {
    watched.ready({gradient});
  } catch (const GradientCameTwice& error) {
    came = fmt::format("GradientCameTwice for {}", error.gradient);
  }
  expect(came == fmt::format("GradientCameTwice for {}", gradient),
         {fmt::format("GradientCameTwice for gradient {} that comes again {}", gradient, when), came,
          "whether ready() asks came_ first"});
}

void check_twice(const Part& part) {
  Watched watched(part);
  watched.begin();
  watched.ready({0});
  try {
    watched.ready({0});
  } catch (const GradientCameTwice&) {
  }
  expect(watched.sent.empty(), {"bucket 0 to wait for gradient 1 when gradient 0 comes twice",
                                "it was sent without gradient 1", "what is counted: gradients, not calls"});
  expect_twice(watched, 0, "before its bucket left");
  watched.ready({1});
  expect_twice(watched, 1, "after its bucket left");
  watched.begin();
  watched.ready({0, 1, 2, 3, 4, 5});
  expect(watched.sent == kAll, {"the step behind one that threw to send 0, 1, 2", words(watched.sent),
                                "whether begin() sets everything back"});
}

void check_missing(const Part& part) {
  Watched watched(part);
  watched.begin();
  watched.ready({0, 5, 3, 2});
  std::string came = "it returned";
  try {
    watched.sender->finish();
  } catch (const GradientsMissing& error) {
    came = "GradientsMissing: " + words(error.gradients);
  }
  expect(came == "GradientsMissing: 1, 4",
         {"finish() to throw GradientsMissing: 1, 4", came, "which of came_ are false"});
  expect(watched.sent.empty(), {"no bucket to be sent that is not full, nor one behind it",
                                words(watched.sent), "whether finish() sends what is not whole"});
  watched.ready({1, 4});
  expect(watched.sent.empty(), {"nothing to be sent behind a finish() that threw", words(watched.sent),
                                "whether the step is over before finish() throws"});
}

void check_outside(const Part& part) {
  Watched watched(part);
  for (int step = 1; step <= 2; ++step) {
    watched.sent.clear();
    watched.ready({0, 1, 2, 3, 4, 5});  // a micro-batch that is not the last
    expect(watched.sent.empty(), {fmt::format("nothing to be sent before begin() of step {}", step),
                                  words(watched.sent), "whether ready() asks if a step is under way"});
    watched.begin();
    watched.ready({0, 1, 2, 3, 4, 5});
    watched.sender->finish();
    expect(watched.sent == kAll, {fmt::format("step {} with two micro-batches to send 0, 1, 2", step),
                                  words(watched.sent), "begin()"});
  }
}

void check_edges(const Part& part) {
  Watched none(part, {});
  none.begin();
  none.sender->finish();
  expect(none.sent.empty(), {"nothing to be sent of no gradients", words(none.sent), "begin() and finish()"});
  Watched one(part, {{0, 1, 4}});
  one.begin();
  one.ready({0});
  expect(one.sent == Places{0}, {"the only bucket to be sent", words(one.sent), "ready()"});
  one.sender->finish();
}

}  // namespace
}  // namespace exercise

Checks checks_of_part(const void* given) {
  return checks_of<exercise::Part>(given, {{"plan", exercise::check_plan},
                                           {"exact", exercise::check_exact},
                                           {"caps", exercise::check_caps},
                                           {"rest", exercise::check_rest},
                                           {"sends", exercise::check_sends},
                                           {"turn", exercise::check_turn},
                                           {"steps", exercise::check_steps},
                                           {"outside", exercise::check_outside},
                                           {"twice", exercise::check_twice},
                                           {"missing", exercise::check_missing},
                                           {"edges", exercise::check_edges}});
}

}  // namespace isobar
