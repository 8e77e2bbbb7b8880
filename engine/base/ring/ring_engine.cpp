#include "ring/ring_engine.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "core/waiting.h"

namespace isobar {
namespace {

constexpr std::int64_t kRound = RingLinks::kSlots / 2;  // the other half of the slots is with the neighbour
constexpr std::int64_t kForever_us = std::int64_t{1} << 60;
constexpr std::size_t kAtOnceBytes = 64 << 10;
constexpr std::int64_t kAtOnce_us = 5;

int chunks_of(RingKind kind, int size) { return kind == RingKind::broadcast ? 1 : size; }

}  // namespace

RingJob::RingJob(RingRequest request, int rank, int size)
    : request_(std::move(request)),
      actions_(ring_actions(request_.kind, rank, size, request_.root)),
      steps_(ring_steps(actions_, size)),
      cut_(cut_ring(request_.elements, chunks_of(request_.kind, size), bytes_of(request_.type),
                    RingLinks::kSlotBytes)) {
  if (request_.kind != RingKind::all_to_all) return;
  const auto each = static_cast<std::int64_t>(bytes_of(request_.type));
  for (std::vector<std::int64_t>* counts : {&request_.sends, &request_.receives})
    for (std::int64_t& count : *counts) count *= each;
  exchange_.emplace(PairMessages{request_.in, request_.out, request_.sends, request_.receives}, rank);
}

RingEngine::RingEngine(SharedMemory memory, int rank, int size)
    : memory_(std::move(memory)),
      links_(memory_.data(), rank, size),
      pairs_(size == 2 ? std::make_unique<PairLinks>(links_) : nullptr),
      thread_([this](const std::stop_token& stop) { work(stop); }) {
  pthread_setname_np(thread_.native_handle(), "ring");
}

RingEngine::~RingEngine() {
  thread_.request_stop();
  links_.leave();
  if (pairs_) pairs_->leave();
}

void RingEngine::connect_pairs(SharedMemory memory) {
  auto made = std::make_unique<PairLinks>(std::move(memory), rank(), size());
  std::unique_lock lock(mutex_);  // moving a collective reads pairs_ without it
  wait_until(lock, changed_, kNever_us, [&] { return open_.empty() && !is_moving_; });
  pairs_ = std::move(made);
}

void RingEngine::abort() noexcept {
  links_.abort();
  const std::lock_guard lock(mutex_);
  if (pairs_) pairs_->abort();
}

std::optional<std::string> RingEngine::what_broke() const {
  std::optional<std::string> what = links_.what_broke();
  return what || !pairs_ ? what : pairs_->what_broke();
}

std::shared_ptr<RingJob> RingEngine::start(RingRequest request) {
  const std::size_t bytes = static_cast<std::size_t>(request.elements) * bytes_of(request.type);
  std::shared_ptr<RingJob> job(new RingJob(std::move(request), rank(), size()));
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    open_.push_back(job);
    is_first = open_.size() == 1 && !is_moving_;
    if (is_first && bytes <= kAtOnceBytes) is_moving_ = true;
  }
  if (is_first && bytes <= kAtOnceBytes) try_at_once(*job);
  if (!job->is_done()) changed_.notify_all();
  return job;
}

/// A small one is over before another thread would be awake, when all ranks come together.
void RingEngine::try_at_once(RingJob& job) {
  const std::int64_t due_us = steady_us() + kAtOnce_us;
  Outcome outcome = Outcome::moved;
  while (outcome == Outcome::moved && (is_ready(job) || steady_us() < due_us)) {
    if (is_ready(job)) outcome = advance_piece(job, due_us);
  }
  const std::lock_guard lock(mutex_);
  is_moving_ = false;
  close_first(outcome);
}

/// Takes the first job from the line unless it is to continue; with mutex_ held.
void RingEngine::close_first(Outcome outcome) {
  if (outcome == Outcome::late || outcome == Outcome::moved) return;
  RingJob& job = *open_.front();
  job.end_us_ = steady_us();
  job.request_.keep.reset();
  job.state_.store(outcome == Outcome::done ? RingJob::State::done : RingJob::State::broken,
                   std::memory_order_release);
  open_.pop_front();
}

bool RingEngine::wait(const RingJob& job, std::int64_t timeout_us) {
  const std::int64_t due_us = steady_us() + std::min(timeout_us, kForever_us);
  std::unique_lock lock(mutex_);
  while (!job.is_done()) {
    if (steady_us() >= due_us) return false;
    if (is_moving_) {
      wait_until(lock, changed_, due_us, [&] { return job.is_done() || !is_moving_; });
      continue;
    }
    is_moving_ = true;
    RingJob& first = *open_.front();
    lock.unlock();
    const Outcome outcome = advance(first, due_us);
    lock.lock();
    is_moving_ = false;
    close_first(outcome);
    if (!open_.empty() || outcome != Outcome::late) changed_.notify_all();
  }
  if (job.state_.load() == RingJob::State::done) return true;
  throw Error(what_broke().value_or("the ring was given up"), fmt::format("ring, rank {}", rank()),
              "see the last output of that rank", Exit::failed);
}

void RingEngine::work(const std::stop_token& stop) {
  const std::stop_callback wake(stop, [this] {
    { const std::lock_guard guard(mutex_); }  // a thread that is about to wait does so first
    changed_.notify_all();
  });
  std::unique_lock lock(mutex_);
  while (true) {
    wait_until(lock, changed_, kNever_us,
               [&] { return stop.stop_requested() || (!open_.empty() && !is_moving_); });
    if (stop.stop_requested()) return;
    is_moving_ = true;
    RingJob& first = *open_.front();
    lock.unlock();
    const Outcome outcome = advance(first, steady_us() + kForever_us);
    lock.lock();
    is_moving_ = false;
    close_first(outcome);
    changed_.notify_all();
    if (stop.stop_requested()) return;
  }
}

RingEngine::Outcome RingEngine::advance(RingJob& job, std::int64_t due_us) {
  Outcome outcome = Outcome::moved;
  while (outcome == Outcome::moved) outcome = advance_piece(job, due_us);
  return outcome;
}

/// Whether the next piece can be moved without waiting.
bool RingEngine::is_ready(const RingJob& job) const {
  if (job.exchange_) return job.exchange_->is_ready(*pairs_);
  if (job.cut_.pieces == 0) return true;
  const RingAction& action = job.actions_[job.action_];
  return (action.receives_step < 0 || links_.has_message()) && (action.sends_step < 0 || links_.has_slot());
}

RingEngine::Outcome RingEngine::advance_piece(RingJob& job, std::int64_t due_us) {
  if (what_broke()) {
    if (pairs_) pairs_->break_too(links_);
    return Outcome::broken;
  }
  if (job.exchange_) return advance_exchange(job, due_us);
  if (job.cut_.pieces == 0) return Outcome::done;
  const RingAction& action = job.actions_[job.action_];
  std::int64_t waited_us = 0;
  RingWait wait = RingWait::there;
  if (action.receives_step >= 0) wait = links_.wait_for_message(due_us, waited_us);
  if (action.sends_step >= 0 && wait == RingWait::there) wait = links_.wait_for_slot(due_us, waited_us);
  const int step = std::max(action.receives_step, action.sends_step);
  if (step >= 0) job.steps_[static_cast<std::size_t>(step)].waited_us += waited_us;
  if (wait == RingWait::broken) return Outcome::broken;
  if (wait == RingWait::late) return Outcome::late;
  move_piece(job, action);
  if (++job.piece_ < std::min(kRound, job.cut_.pieces - job.round_ * kRound)) return Outcome::moved;
  job.piece_ = 0;
  if (++job.action_ < job.actions_.size()) return Outcome::moved;
  job.action_ = 0;
  ++job.round_;
  return job.round_ * kRound >= job.cut_.pieces ? Outcome::done : Outcome::moved;
}

RingEngine::Outcome RingEngine::advance_exchange(RingJob& job, std::int64_t due_us) {
  const RingWait wait = job.exchange_->advance(*pairs_, due_us);
  if (wait == RingWait::broken) {
    pairs_->break_too(links_);
    return Outcome::broken;
  }
  if (wait == RingWait::late) return Outcome::late;
  return job.exchange_->is_done() ? Outcome::done : Outcome::moved;
}

void RingEngine::move_piece(RingJob& job, const RingAction& action) {
  const std::int64_t begin_us = steady_us();
  const RingCut::Range range = job.cut_.piece_of(action.chunk, job.round_ * kRound + job.piece_);
  const bool sends = action.sends_step >= 0;
  pass_on(job, action, range, sends ? links_.slot() : nullptr);
  if (action.receives_step >= 0) links_.take();
  if (sends) links_.send();
  const std::int64_t end_us = steady_us();
  if (sends) {
    CollectiveStep& step = job.steps_[static_cast<std::size_t>(action.sends_step)];
    if (step.begin_us == 0) step.begin_us = begin_us;
    step.end_us = end_us;
    step.bytes += range.count * static_cast<std::int64_t>(bytes_of(job.request_.type));
  }
  if (action.receives_step >= 0) {
    CollectiveStep& step = job.steps_[static_cast<std::size_t>(action.receives_step)];
    if (step.begin_us == 0) step.begin_us = begin_us;
    step.end_us = end_us;
  }
}

/// From the message or this rank's buffer, with or without a sum, to the slot, this rank's buffer, or both.
void RingEngine::pass_on(RingJob& job, const RingAction& action, const RingCut::Range& range,
                         std::byte* slot) {
  const RingRequest& request = job.request_;
  const std::size_t size = bytes_of(request.type);
  const std::size_t bytes = static_cast<std::size_t>(range.count) * size;
  if (bytes == 0) return;
  const auto at = static_cast<std::size_t>(range.begin) * size;
  const auto part = static_cast<std::size_t>(range.begin - job.cut_.chunk(action.chunk).begin) * size;
  const std::byte* const own =
      request.in + (request.kind == RingKind::all_gather ? part : at);  // its `in` is one chunk
  std::byte* const kept = request.out + (request.kind == RingKind::reduce_scatter ? part : at);
  const std::byte* const message = action.receives_step >= 0 ? links_.message() : own;
  if (action.adds) {
    combine(set_, {.type = request.type,
                   .takes_larger = request.takes_larger,
                   .divisor = action.is_last_sum && request.divides ? links_.size() : 1,
                   .n = range.count,
                   .a = message,
                   .b = own,
                   .out = action.keeps ? kept : slot,
                   .also = action.keeps ? slot : nullptr});
    return;
  }
  if (slot != nullptr) std::memcpy(slot, message, bytes);
  if (action.keeps && kept != message) std::memcpy(kept, message, bytes);
}

}  // namespace isobar
