#include <limits>

#include "cluster/events.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace isobar;

TEST_CASE("an activity begins when all that it depends on has ended, latency included") {
  EventSimulation events;
  const auto stream = events.add_resource();
  const auto first = events.add(stream, 10, 5);
  const auto second = events.add(EventSimulation::kNoResource, 2);
  const auto third = events.add(EventSimulation::kNoResource, 1);
  events.depend(second, first);
  events.depend(third, first);
  events.depend(third, second);
  events.run();
  CHECK(events.start_us(first) == 0);
  CHECK(events.end_us(first) == 15);
  CHECK(events.start_us(second) == 15);
  CHECK(events.start_us(third) == 17);
  CHECK(events.end_us(third) == 18);
}

TEST_CASE("a resource serves in the order in which activities become ready") {
  EventSimulation events;
  const auto card = events.add_resource();
  const auto late = events.add(card, 4);  // added first, ready last
  const auto early = events.add(card, 10);
  const auto middle = events.add(card, 1);
  const auto gate = events.add(EventSimulation::kNoResource, 6);
  const auto sooner = events.add(EventSimulation::kNoResource, 3);
  events.depend(late, gate);
  events.depend(middle, sooner);
  events.run();
  CHECK(events.start_us(early) == 0);
  CHECK(events.start_us(middle) == 10);
  CHECK(events.start_us(late) == 11);
  CHECK(events.ready_us(late) == 6);
}

TEST_CASE("who becomes ready as a resource is freed does not pass those that wait") {
  EventSimulation events;
  const auto link = events.add_resource();
  const auto first = events.add(link, 5);
  const auto waiting = events.add(link, 5);
  const auto gate = events.add(EventSimulation::kNoResource, 5);
  const auto comes = events.add(link, 5);
  events.depend(comes, gate);
  events.run();
  CHECK(events.start_us(first) == 0);
  CHECK(events.start_us(waiting) == 5);
  CHECK(events.start_us(comes) == 10);
}

TEST_CASE("a latency does not hold the resource") {
  EventSimulation events;
  const auto link = events.add_resource();
  events.add(link, 1, 100);
  const auto second = events.add(link, 1, 100);
  events.run();
  CHECK(events.start_us(second) == 1);
  CHECK(events.end_us(second) == 102);
}

TEST_CASE("activities that wait for each other, and times that are none, are refused") {
  EventSimulation events;
  const auto one = events.add(EventSimulation::kNoResource, 1);
  const auto other = events.add(EventSimulation::kNoResource, 1);
  events.depend(one, other);
  events.depend(other, one);
  CHECK_THAT(error_of([&] { events.run(); }), Says("2 of 2 activities wait for each other"));
  CHECK_THAT(error_of([&] { events.add(EventSimulation::kNoResource, -1); }),
             Says("times are numbers from 0"));
  CHECK_THAT(
      error_of([&] { events.add(EventSimulation::kNoResource, std::numeric_limits<double>::quiet_NaN()); }),
      Says("times are numbers from 0"));
}
