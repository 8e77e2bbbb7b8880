#include "cluster/events.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <queue>
#include <tuple>

#include "core/error.h"

namespace isobar {
namespace {

enum class What : unsigned char { freed, ended };

/// At one time resources are freed before activities end, so that who becomes ready finds them free.
struct Event {
  double at_us = 0;
  What what = What::ended;
  EventSimulation::Id id = 0;
  auto order() const { return std::tuple(at_us, what, id); }
  friend bool operator>(const Event& one, const Event& other) { return one.order() > other.order(); }
};
using Events = std::priority_queue<Event, std::vector<Event>, std::greater<>>;

}  // namespace

EventSimulation::Id EventSimulation::add_resource() { return resources_++; }

EventSimulation::Id EventSimulation::add(Id resource, double busy_us, double latency_us) {
  if (!(busy_us >= 0) || !(latency_us >= 0) || !std::isfinite(busy_us) || !std::isfinite(latency_us))
    throw Error(fmt::format("an activity of {:g} us and a latency of {:g} us", busy_us, latency_us),
                "simulation", "times are numbers from 0");
  activities_.push_back({.resource = resource, .busy_us = busy_us, .latency_us = latency_us});
  return static_cast<Id>(activities_.size() - 1);
}

void EventSimulation::depend(Id later, Id earlier) {
  edges_.push_back({.earlier = earlier, .later = later});
  ++activities_[static_cast<std::size_t>(later)].waits_for;
}

void EventSimulation::run() {
  // Dependants of each activity, one behind the other.
  std::vector<std::size_t> first(activities_.size() + 1, 0);
  for (const Edge& edge : edges_) ++first[static_cast<std::size_t>(edge.earlier) + 1];
  for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
  std::vector<Id> later(edges_.size());
  std::vector<std::size_t> next(first.begin(), first.end() - 1);
  for (const Edge& edge : edges_) later[next[static_cast<std::size_t>(edge.earlier)]++] = edge.later;

  Events events;
  std::vector<bool> is_busy(static_cast<std::size_t>(resources_), false);
  std::vector<std::queue<Id>> waiting(static_cast<std::size_t>(resources_));
  const auto start = [&](Id id, double now_us) {
    Activity& activity = activities_[static_cast<std::size_t>(id)];
    activity.start_us = now_us;
    activity.end_us = now_us + activity.busy_us + activity.latency_us;
    if (activity.resource != kNoResource) events.push({now_us + activity.busy_us, What::freed, id});
    events.push({activity.end_us, What::ended, id});
  };
  const auto become_ready = [&](Id id, double now_us) {
    Activity& activity = activities_[static_cast<std::size_t>(id)];
    activity.ready_us = now_us;
    const auto resource = static_cast<std::size_t>(activity.resource);
    if (activity.resource == kNoResource) return start(id, now_us);
    if (is_busy[resource]) return waiting[resource].push(id);
    is_busy[resource] = true;
    start(id, now_us);
  };
  for (std::size_t i = 0; i < activities_.size(); ++i)
    if (activities_[i].waits_for == 0) become_ready(static_cast<Id>(i), 0);
  std::size_t ended = 0;
  while (!events.empty()) {
    const Event event = events.top();
    events.pop();
    if (event.what == What::freed) {
      const auto resource = static_cast<std::size_t>(at(event.id).resource);
      is_busy[resource] = !waiting[resource].empty();
      if (waiting[resource].empty()) continue;
      const Id id = waiting[resource].front();
      waiting[resource].pop();
      start(id, event.at_us);
      continue;
    }
    ++ended;
    const auto done = static_cast<std::size_t>(event.id);
    for (std::size_t i = first[done]; i < first[done + 1]; ++i)
      if (--activities_[static_cast<std::size_t>(later[i])].waits_for == 0)
        become_ready(later[i], event.at_us);
  }
  if (ended != activities_.size())
    throw Error(fmt::format("{} of {} activities wait for each other", activities_.size() - ended,
                            activities_.size()),
                "simulation", "no activity depends on one that depends on it");
}

}  // namespace isobar
