#include "device/stage_timer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/clock.h"

namespace isobar {

PendingStageTimes::PendingStageTimes(PendingStageTimes&& other) noexcept
    : events_(other.events_),
      marks_(std::exchange(other.marks_, {})),
      intervals_(std::exchange(other.intervals_, {})),
      times_(other.times_) {}

PendingStageTimes& PendingStageTimes::operator=(PendingStageTimes&& other) noexcept {
  if (this == &other) return *this;
  give_back();
  events_ = other.events_;
  marks_ = std::exchange(other.marks_, {});
  intervals_ = std::exchange(other.intervals_, {});
  times_ = other.times_;
  return *this;
}

PendingStageTimes::~PendingStageTimes() { give_back(); }

void PendingStageTimes::give_back() noexcept {
  for (const Mark& mark : marks_) events_->give_back(mark.event);
  marks_.clear();
}

void PendingStageTimes::move(Stage from, Stage to, std::int64_t time_us) {
  if (time_us <= 0 || events_ != nullptr) return;
  const auto source = static_cast<std::size_t>(from);
  const auto target = static_cast<std::size_t>(to);
  for (auto* const times : {&times_.stage_us, &times_.stage_host_us}) {
    const std::int64_t moved = std::min(time_us, (*times)[source]);
    (*times)[source] -= moved;
    (*times)[target] += moved;
  }
  times_.entered[target] = true;
}

bool PendingStageTimes::ready() const { return marks_.empty() || events_->passed(marks_.back().event); }

StageTimes PendingStageTimes::take() {
  if (marks_.empty()) return times_;
  for (const Mark& mark : marks_) events_->wait_for(mark.event);
  std::array<double, kStageNames.size() + 1> sums{};
  for (std::size_t i = 1; i < marks_.size(); ++i) {
    sums[marks_[i].ended] += events_->elapsed_us(marks_[i - 1].event, marks_[i].event);
  }
  for (std::size_t stage = 0; stage < kStageNames.size(); ++stage) {
    times_.stage_us[stage] = std::llround(sums[stage]);
  }
  times_.rest_us = std::llround(sums.back());
  times_.step_us = std::llround(events_->elapsed_us(marks_.front().event, marks_.back().event));
  give_back();
  return times_;
}

std::vector<StageInterval> PendingStageTimes::device_intervals(const DeviceClock& clock) const {
  std::vector<StageInterval> out;
  if (marks_.empty()) return out;
  for (const Mark& mark : marks_) events_->wait_for(mark.event);
  // The step's first point is placed by the reference; the others by their distance from the one before,
  // which is exact however long ago the reference was.
  auto begin_us = static_cast<double>(clock.host_us(marks_.front().event));
  for (std::size_t i = 1; i < marks_.size(); ++i) {
    const double end_us = begin_us + events_->elapsed_us(marks_[i - 1].event, marks_[i].event);
    if (marks_[i].ended < kStageNames.size())
      out.push_back({static_cast<Stage>(marks_[i].ended), std::llround(begin_us), std::llround(end_us)});
    begin_us = end_us;
  }
  return out;
}

StageTimer::StageTimer(EventPool* events, bool keeps_intervals)
    : begin_us_(steady_us()), since_us_(begin_us_), keeps_intervals_(keeps_intervals) {
  if (keeps_intervals) pending_.intervals_.reserve(2 * kStageNames.size());
  pending_.events_ = events;
  if (events == nullptr) return;
  pending_.marks_.reserve(2 * kStageNames.size());
  pending_.marks_.push_back({events->record(), current_});
}

void StageTimer::close() {
  StageTimes& times = pending_.times_;
  const std::int64_t now_us = steady_us();
  std::int64_t& running = current_ < kStageNames.size() ? times.stage_host_us[current_] : times.rest_host_us;
  running += now_us - since_us_;
  if (keeps_intervals_ && current_ < kStageNames.size())
    pending_.intervals_.push_back({static_cast<Stage>(current_), since_us_, now_us});
  since_us_ = now_us;
  if (pending_.events_ != nullptr) pending_.marks_.push_back({pending_.events_->record(), current_});
}

void StageTimer::enter(Stage stage) {
  close();
  current_ = static_cast<std::size_t>(stage);
  pending_.times_.entered[current_] = true;
}

void StageTimer::leave() {
  close();
  current_ = kStageNames.size();
}

PendingStageTimes StageTimer::finish() {
  leave();
  StageTimes& times = pending_.times_;
  times.step_host_us = steady_us() - begin_us_;
  if (pending_.events_ == nullptr) {
    times.stage_us = times.stage_host_us;
    times.rest_us = times.rest_host_us;
    times.step_us = times.step_host_us;
  }
  return std::move(pending_);
}

}  // namespace isobar
