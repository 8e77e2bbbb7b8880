#pragma once
// Discrete-event simulation of activities on resources: a stream that computes, a link, a network card. A
// resource serves one activity at a time, in the order in which they become ready; those that become ready at
// once, in the order in which they were added. Times are microseconds from 0.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace isobar {

class EventSimulation {
 public:
  using Id = std::int32_t;
  static constexpr Id kNoResource = -1;  ///< for an activity that waits for no turn

  Id add_resource();

  /// An activity that holds `resource` for `busy_us`, and whose end others see `latency_us` later.
  /// Error (exit code 2) for a time that is negative or not finite.
  Id add(Id resource, double busy_us, double latency_us = 0);
  /// `later` begins when `earlier` has ended.
  void depend(Id later, Id earlier);

  /// Runs all activities. Error (exit code 2) for activities that wait for each other.
  void run();

  std::size_t size() const { return activities_.size(); }
  // Times of an activity, once `run` returned.
  double ready_us(Id id) const { return at(id).ready_us; }  ///< all that it depends on has ended
  double start_us(Id id) const { return at(id).start_us; }
  double end_us(Id id) const { return at(id).end_us; }  ///< latency included

 private:
  struct Activity {
    Id resource = kNoResource;
    double busy_us = 0, latency_us = 0;
    std::int32_t waits_for = 0;  ///< dependencies that have not ended
    double ready_us = 0, start_us = 0, end_us = 0;
  };
  struct Edge {
    Id earlier = 0, later = 0;
  };

  const Activity& at(Id id) const { return activities_[static_cast<std::size_t>(id)]; }

  std::vector<Activity> activities_;
  std::vector<Edge> edges_;
  Id resources_ = 0;
};

}  // namespace isobar
