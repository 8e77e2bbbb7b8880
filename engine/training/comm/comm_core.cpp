#include "comm/comm_core.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <optional>
#include <utility>

#include "comm/comm_watch.h"
#include "comm/lost_ranks.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/patience.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr std::int64_t kCheckedSteps = 3;
constexpr std::int64_t kCheckedCollectives = 16;  // of those before the first step, where nothing says so
constexpr std::int64_t kPatience_us = 1'000'000;

std::string track_of(std::string what) {
  std::replace(what.begin(), what.end(), ' ', '.');
  return what;
}

}  // namespace

Work::Work(std::shared_ptr<CommCore> core, std::shared_ptr<Pending> pending, std::int64_t number,
           std::string what, std::string track, const Span& span)
    : core_(std::move(core)),
      pending_(std::move(pending)),
      number_(number),
      what_(std::move(what)),
      track_(std::move(track)),
      span_(span) {}

bool Work::done() { return pending_ == nullptr || pending_->done(); }

CollectiveTimes Work::wait() {
  if (pending_ == nullptr) return {};
  const std::shared_ptr<Pending> pending = std::exchange(pending_, nullptr);
  if (const int signal = std::exchange(core_->shared->signal_in_wait, 0); signal != 0) {
    core_->arrive({number_, what_});
    std::raise(signal);
  }
  CollectiveTimes times{.ready_us = span_.begin_us, .begin_us = span_.begin_us};
  if (core_->payload && core_->payload->blocks_stream()) {
    core_->throw_if_broken();
    pending->wait(0);  // the stream waits; the thread that watches sees its end
    return times;
  }
  core_->await(*pending, {number_, what_});
  times.end_us = pending->end_us();
  if (times.end_us == 0) times.end_us = steady_us();
  if (core_->board && number_ >= 0) {
    if (const std::optional<RankArrival> last = core_->board->latest(number_)) {
      times.last_rank = last->rank;
      times.begin_us = std::min(times.end_us, std::max({times.ready_us, last->time_us, core_->last_end_us}));
    }
  }
  core_->last_end_us = times.end_us;
  core_->leave_spans(times, track_, span_);
  if (core_->shared->spans == nullptr || track_.empty()) return times;
  for (const CollectiveStep& step : pending->steps()) {
    core_->shared->spans->add({.track = "ring",
                               .name = step.phase == CollectivePhase::reduce ? "reduce" : "spread",
                               .step = core_->shared->step,
                               .begin_us = step.begin_us,
                               .end_us = step.end_us,
                               .bytes = step.bytes,
                               .of = track_,
                               .chunk_step = step.step,
                               .sent_chunk = step.sent_chunk,
                               .received_chunk = step.received_chunk});
  }
  return times;
}

Work CommSeam::start(CommCore& core, Collective job) { return core.launch(job); }

void CommSeam::backward(CommCore&, const BackwardPass& pass) { pass.run(pass.loss); }

CommCore::~CommCore() {
  watch_.reset();
  if (!is_world()) return;
  shared->own_status.end(shared->followed                                ? RankPhase::followed
                         : is_broken() || std::uncaught_exceptions() > 0 ? RankPhase::failed
                                                                         : RankPhase::done);
}

void CommCore::open(Reach reach) {
  if (size() == 1) {
    payload = make_solo_transport();
    control = make_solo_transport();
    return;
  }
  control = backends->make_control(key, members);
  const bool has_own_link = config.node_link.latency_us > 0 || config.node_link.gbit_per_s > 0;
  payload = backends->make_payload(
      key, members, reach == Reach::inside_node && has_own_link ? config.node_link : config.link);
  board = backends->make_board(key, members);
}

void CommCore::throw_if_broken() {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

bool CommCore::is_broken() {
  const std::lock_guard lock(mutex_);
  return failure_ != nullptr;
}

void CommCore::break_off(std::exception_ptr failure, Blame blame) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (failure_) return;
    if (blame == Blame::others) shared->followed = true;
    failure_ = std::move(failure);
  }
  if (payload) payload->abort();
  if (control) control->abort();
}

void CommCore::count(const Collective& job) {
  if (!is_counted) return;
  ++counts.calls;
  const auto bytes = static_cast<std::int64_t>(job.whole().nbytes());
  const std::int64_t n = size();
  switch (job.op) {
    case Op::all_reduce:
      counts.wire_bytes += 2 * (n - 1) * bytes / n;
      return;
    case Op::broadcast:
      counts.wire_bytes += rank() == job.root ? bytes : 0;
      return;
    case Op::all_to_all:
      counts.wire_bytes +=
          bytes - job.sends[static_cast<std::size_t>(rank())] * static_cast<std::int64_t>(job.in.itemsize());
      return;
    default:
      counts.wire_bytes += (n - 1) * bytes / n;
      return;
  }
}

std::shared_ptr<Pending> CommCore::dispatch(const Collective& job) {
  switch (job.op) {
    case Op::all_reduce:
      return payload->all_reduce(job.out, job.reduce);
    case Op::broadcast:
      return payload->broadcast(job.out, job.root);
    case Op::all_gather:
      return payload->all_gather(job.out, job.in);
    case Op::all_to_all:
      return payload->all_to_all(job.out, job.in, job.receives, job.sends);
    default:
      return payload->reduce_scatter(job.out, job.in, job.reduce);
  }
}

bool CommCore::is_checked() const {
  if (size() == 1 || !is_counted || !compares) return false;  // a probe is to measure the network alone
  if (shared->records) return false;  // a graph holds the collective, not the talk about it
  return config.check ||
         (shared->steps_begun == 0 ? next_ < kCheckedCollectives : shared->steps_begun <= kCheckedSteps);
}

void CommCore::check_member(const std::string& what) const {
  if (payload) return;
  throw Error("this rank is not part of group " + name, what, "ask Comm::is_member() first", Exit::failed);
}

Work CommCore::start(Collective job) {
  throw_if_broken();
  check_member(job.text());
  check_collective(job, rank(), size());
  return shared->seam->start(*this, std::move(job));
}

Work CommCore::launch(const Collective& job) {
  const std::int64_t ready_us = steady_us();
  const bool checked = is_checked();
  const std::int64_t number = next_++;
  const std::string text = job.text();
  count(job);
  const Waited waited{number, text};
  if (board) board->arrive(number, ready_us);
  arrive(waited);  // a rank that has arrived is on the board
  if (checked) compare(job, number, text);
  std::shared_ptr<Pending> pending = started(waited, [&] { return dispatch(job); });
  if (shared->status != nullptr) shared->status->leave();
  Span span{.track = "", .name = job.name(), .step = shared->step, .begin_us = ready_us, .end_us = 0};
  span.bytes = static_cast<std::int64_t>(job.whole().nbytes());
  if (payload->blocks_stream() && !shared->records)
    watch(pending, waited, track_of(is_counted ? job.what : ""), span);
  return {shared_from_this(), std::move(pending), number, text, track_of(is_counted ? job.what : ""), span};
}

void CommCore::arrive(const Waited& waited) noexcept {
  StatusSlot* const status = shared->status;
  if (status == nullptr) return;
  if (!is_world()) return status->enter(-1, status_text(*this, waited).c_str());
  status->enter(waited.is_exchange ? -1 : waited.number, waited.what.c_str());
}

void CommCore::leave_spans(const CollectiveTimes& times, const std::string& track, Span span) {
  if (shared->spans == nullptr || track.empty() || !shared->spans->wants(span.step)) return;
  span.track = track;
  if (times.begin_us > times.ready_us) {
    Span wait = span;
    wait.name = "wait";
    wait.bytes = 0;
    wait.end_us = times.begin_us;
    shared->spans->add(wait);
  }
  span.begin_us = times.begin_us;
  span.end_us = times.end_us;
  shared->spans->add(span);
}

void CommCore::await(Pending& pending, const Waited& waited) {
  throw_if_broken();
  arrive(waited);
  const auto limit_us = static_cast<std::int64_t>(config.timeout_s * 1e6);
  const std::int64_t begin_us = steady_us();
  const std::int64_t patience_us = std::min(kPatience_us, limit_us / 4 + 1000);
  Patience patience(2 * patience_us);
  std::int64_t waited_us = 0;
  const auto is_done = [&] {
    try {
      return pending.wait(patience_us);
    } catch (const std::exception& error) {  // an Error too: no transport has the world's rank numbers
      lose(waited, begin_us, error.what());
    }
  };
  for (bool first = true; !is_done(); first = false) {
    if (first) leave_waiting(*this, waited);
    throw_if_broken();
    std::string how;
    if (ended_rank(*this, how)) lose(waited, begin_us, "");
    waited_us += patience.pass();
    if (waited_us < limit_us) continue;
    const Error error = late_error(*this, waited, static_cast<double>(waited_us) * 1e-6);
    break_off(std::make_exception_ptr(error), Blame::others);
    throw error;
  }
  if (shared->status != nullptr) shared->status->leave();
}

std::shared_ptr<Pending> CommCore::started(const Waited& waited,
                                           const std::function<std::shared_ptr<Pending>()>& start) {
  const std::int64_t begin_us = steady_us();
  try {
    return start();
  } catch (const std::exception& error) {
    throw_if_broken();
    std::string how;
    if (ended_rank_soon(*this, how)) lose(waited, begin_us, error.what());
    const Error* const ours = dynamic_cast<const Error*>(&error);
    const Error told("this rank cannot start " + waited.text() + ": " + printable_line(error.what(), 200),
                     place(), ours != nullptr ? ours->hint() : "see whether the others could", Exit::failed);
    break_off(std::make_exception_ptr(told), Blame::this_rank);
    throw told;
  }
}

void CommCore::lose(const Waited& waited, std::int64_t begin_us, const std::string& raw) {
  throw_if_broken();  // what was aborted here is no news
  const double waited_s = static_cast<double>(steady_us() - begin_us) * 1e-6;
  const Error error = lost_error(*this, waited, waited_s, raw);
  break_off(std::make_exception_ptr(error), Blame::others);
  throw error;
}

void CommCore::watch(const std::shared_ptr<Pending>& pending, const Waited& waited, const std::string& track,
                     const Span& span) {
  if (!watch_) watch_ = std::make_unique<CommWatch>(*this);
  watch_->add({pending, waited, track, span});
}

}  // namespace isobar
