// When messages arrive on an emulated link, on a clock that goes on when all that run wait.
#include <atomic>

#include "core/clock.h"
#include "formula/link_fit.h"
#include "lessons/parts/met_messages.h"
#include "support/event_clock.h"

using namespace isobar;
using namespace isobar::testing;

namespace {

constexpr std::size_t kValues = 250;  // 1000 bytes: 10 us on this link
const MessageLink kLink{.link = {.latency_us = 50, .bytes_per_us = 100}};

/// How long `body` takes on the clock of the process, which goes on when this thread sleeps.
std::int64_t time_of(const std::function<void()>& body) {
  const std::int64_t begin_us = steady_us();
  body();
  return steady_us() - begin_us;
}

}  // namespace

TEST_CASE("messages arrive when the link says, also one behind the other") {
  Met met(same(2, kLink));
  EventClock clock(1);
  std::vector<float> into(kValues);
  const auto receive = [&] { return time_of([&] { met[1].receive(0, into); }); };
  CHECK(time_of([&] { met[0].send(1, into); }) == 0);
  CHECK(receive() == 60);
  met[0].send(1, message_of(0, 1, kValues));
  met[0].send(1, into);
  CHECK(receive() == 60);
  CHECK(into == message_of(0, 1, kValues));
  CHECK(receive() == 10);
  met[0].send(1, {});
  CHECK(time_of([&] { met[1].receive(0, {}); }) == 50);
  met[0].send(1, into);
  sleep_us(45);
  CHECK(receive() == 15);
  met[0].send(1, into);
  sleep_us(100);
  CHECK(receive() == 0);
}

TEST_CASE("messages to one rank queue on its link, whichever it takes first") {
  Met met(same(4, kLink));
  EventClock clock(1);
  std::vector<float> into(kValues);
  const auto receive = [&](int from) { return time_of([&] { met[0].receive(from, into); }); };
  for (const int from : {1, 2, 3}) met[from].send(0, into);
  CHECK(receive(2) == 60);
  CHECK(receive(1) == 10);
  CHECK(receive(3) == 10);
  met[2].send(0, into);  // is over when that of rank 1 comes
  sleep_us(30);
  met[1].send(0, into);
  CHECK(receive(1) == 60);
  CHECK(receive(2) == 0);
  for (const int to : {1, 2}) met[0].send(to, into);
  CHECK(time_of([&] { met[1].receive(0, into); }) == 60);
  CHECK(time_of([&] { met[2].receive(0, into); }) == 10);
}

TEST_CASE("messages of a slow rank take so many times as long, and those to it do not") {
  MessageLink slow = kLink;
  slow.slower = 3;
  Met met({kLink, slow});
  EventClock clock(1);
  std::vector<float> into(kValues);
  met[1].send(0, into);
  met[1].send(0, into);
  CHECK(time_of([&] { met[0].receive(1, into); }) == 180);
  CHECK(time_of([&] { met[0].receive(1, into); }) == 30);
  met[0].send(1, into);
  CHECK(time_of([&] { met[1].receive(0, into); }) == 60);
}

TEST_CASE("a link without a limit has its latency, and no link takes no time") {
  Met met({{.link = {.latency_us = 50}}, kNoLink});
  EventClock clock(1);
  std::vector<float> into(kValues);
  met[0].send(1, into);
  CHECK(time_of([&] { met[1].receive(0, into); }) == 50);
  met[1].send(0, into);
  CHECK(time_of([&] { met[0].receive(1, into); }) == 0);
}

namespace {

/// On the clock of the events, of a ring of `ranks` ranks that sums `bytes` bytes, a chunk for each; of the
/// slowest rank.
double ring_us(int ranks, std::int64_t bytes) {
  Met met(same(ranks, kLink));
  EventClock clock(ranks);
  std::atomic<std::int64_t> longest = 0;
  const auto said = at_once(met, ranks, [&](Messages& own) {
    const auto values = static_cast<std::size_t>(bytes / 4 / ranks);
    std::vector<float> chunk = message_of(0, 0, values), into(values);
    const std::int64_t begin_us = 1'000'000'000;  // where such a clock begins
    for (int step = 0; step < 2 * (ranks - 1); ++step)
      own.exchange((own.rank() + 1) % ranks, chunk, (own.rank() + ranks - 1) % ranks, into);
    const std::int64_t own_us = steady_us() - begin_us;
    std::int64_t so_far = longest;
    while (so_far < own_us && !longest.compare_exchange_weak(so_far, own_us)) continue;
    clock.one_less();
  });
  CHECK(said == std::vector<std::string>(static_cast<std::size_t>(ranks)));
  return static_cast<double>(longest);
}

}  // namespace

TEST_CASE("steps around a ring take what the formula says, and the link comes back out of their times") {
  for (const int ranks : {2, 3, 4}) {
    std::vector<TimedSize> times;
    for (const std::int64_t values : {250, 1000, 4000, 16'000}) {
      const std::int64_t bytes = 4 * values * ranks;
      times.push_back({static_cast<double>(bytes), ring_us(ranks, bytes)});
      CHECK(times.back().time_us ==
            Approx(ring_all_reduce_us(kLink.link, ranks, static_cast<double>(bytes))));
    }
    const auto fit = fit_link(AllReduceKind::ring, ranks, times);
    REQUIRE(fit.has_value());
    CHECK(fit->link.latency_us == Approx(kLink.link.latency_us).epsilon(0.01));
    CHECK(fit->link.bytes_per_us == Approx(kLink.link.bytes_per_us).epsilon(0.01));
  }
}

TEST_CASE("who forgets to wait keeps what it had until the message has arrived") {
  Met met(same(2, kLink));
  EventClock clock(1);
  const std::vector<float> stale(kValues, -7);
  std::vector<float> into = stale;
  met[1].forget_to_wait();
  const std::vector<float> first = message_of(0, 1, kValues), second = message_of(0, 2, kValues);
  met[0].send(1, first);
  sleep_us(59);
  CHECK(time_of([&] { met[1].receive(0, into); }) == 0);
  CHECK(into == stale);
  met[0].send(1, second);
  sleep_us(60);
  met[1].receive(0, into);
  CHECK(into == second);
}

TEST_CASE("what would be under way for longer than ranks wait is refused at once") {
  for (const Link& link : {Link{.latency_us = 2e9}, {.bytes_per_us = 1e-9}, {.bytes_per_us = 5e-324}}) {
    Met met(same(2, {.link = link}));
    std::vector<float> into(kValues);
    met[0].send(1, into);
    CHECK_THAT(failure_of([&] { met[1].receive(0, into); }), says("the message of rank 0 is under way for "));
  }
}
