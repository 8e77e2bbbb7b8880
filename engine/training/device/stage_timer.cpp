#include "device/stage_timer.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace isobar {

void PendingStageTimes::move(Stage from, Stage to, std::int64_t time_us) {
  if (time_us <= 0 || events_ != nullptr) return;
  const auto source = static_cast<std::size_t>(from);
  const auto target = static_cast<std::size_t>(to);
  for (auto* const times : {&times_.stage_us, &times_.host.stage_us}) {
    const std::int64_t moved = std::min(time_us, (*times)[source]);
    (*times)[source] -= moved;
    (*times)[target] += moved;
  }
  times_.entered[target] = true;
}

bool PendingStageTimes::ready() const { return marks_.empty() || events_->passed(marks_.back().event.get()); }

double PendingStageTimes::length_us(std::size_t i) const {
  return events_->elapsed_us(marks_[i - 1].event.get(), marks_[i].event.get());
}

DeviceTimes PendingStageTimes::take() {
  if (marks_.empty()) return times_;
  for (const Mark& mark : marks_) events_->wait_for(mark.event.get());
  std::array<double, StageClock::kRest + 1> sums{};
  for (std::size_t i = 1; i < marks_.size(); ++i) sums[marks_[i].ended] += length_us(i);
  for (std::size_t stage = 0; stage < StageClock::kRest; ++stage)
    times_.stage_us[stage] = std::llround(sums[stage]);
  times_.rest_us = std::llround(sums.back());
  times_.step_us = std::llround(events_->elapsed_us(marks_.front().event.get(), marks_.back().event.get()));
  marks_.clear();
  return times_;
}

std::vector<StageInterval> PendingStageTimes::device_intervals(const DeviceClock& clock) const {
  std::vector<StageInterval> out;
  if (marks_.empty()) return out;
  for (const Mark& mark : marks_) events_->wait_for(mark.event.get());
  // The step's first point is placed by the reference; the others by their distance from the one before,
  // which is exact however long ago the reference was.
  auto begin_us = static_cast<double>(clock.host_us(marks_.front().event.get()));
  for (std::size_t i = 1; i < marks_.size(); ++i) {
    const double end_us = begin_us + length_us(i);
    if (marks_[i].ended != StageClock::kRest)
      out.push_back({static_cast<Stage>(marks_[i].ended), std::llround(begin_us), std::llround(end_us)});
    begin_us = end_us;
  }
  return out;
}

StageTimer::StageTimer(EventPool* events, bool keeps_intervals) : host_(keeps_intervals) {
  pending_.events_ = events;
  if (events != nullptr) pending_.marks_.reserve(2 * kStageNames.size());
  mark(StageClock::kRest);
}

void StageTimer::mark(std::size_t ended) {
  if (EventPool* const events = pending_.events_)
    pending_.marks_.push_back({{events->record(), PendingStageTimes::GiveBack{events}}, ended});
}

void StageTimer::enter(Stage stage) {
  const std::size_t ended = host_.running();
  host_.enter(stage);
  mark(ended);
}

void StageTimer::leave() {
  const std::size_t ended = host_.running();
  host_.leave();
  mark(ended);
}

PendingStageTimes StageTimer::finish() {
  leave();
  DeviceTimes& times = pending_.times_;
  times.host = host_.times();
  times.entered = times.host.entered;
  if (pending_.events_ == nullptr) static_cast<StageTimes&>(times) = times.host;
  pending_.intervals_ = host_.intervals();
  return std::move(pending_);
}

}  // namespace isobar
