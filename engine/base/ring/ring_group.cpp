#include "ring/ring_group.h"

#include <fmt/format.h>

namespace isobar {
namespace {

std::string text_of(const RingCall& call) {
  static constexpr const char* kReduced[] = {"sum", "mean", "largest"};
  if (call.kind == RingKind::broadcast)
    return fmt::format("broadcast of {} numbers from rank {}", call.elements, call.root);
  return fmt::format("{} of {} numbers", kReduced[call.reduced], call.elements);
}

}  // namespace

RingGroup::RingGroup(const RingMeeting& meeting)
    : rank_(meeting.rank), size_(meeting.size), timeout_us_(meeting.timeout_us), followed_(meeting.followed) {
  if (size_ == 1) return;
  std::vector<SharedMemory> shared =
      meet_at_file(meeting, "ring", {RingEngine::bytes(size_), CallBoard::bytes(size_)});
  engine_ = std::make_unique<RingEngine>(std::move(shared[0]), rank_, size_);
  calls_ = std::make_unique<CallBoard>(std::move(shared[1]), rank_, size_);
}

void RingGroup::broadcast(std::span<double> values, int root) {
  auto* const bytes = reinterpret_cast<std::byte*>(values.data());
  run({.kind = RingKind::broadcast,
       .type = CombineType::f64,
       .root = root,
       .elements = static_cast<std::int64_t>(values.size()),
       .in = bytes,
       .out = bytes});
}

std::string RingGroup::broadcast(std::string text) {
  auto size = static_cast<double>(text.size());
  broadcast({&size, 1});
  text.resize(static_cast<std::size_t>(size));
  auto* const bytes = reinterpret_cast<std::byte*>(text.data());
  run({.kind = RingKind::broadcast,
       .type = CombineType::u8,
       .elements = static_cast<std::int64_t>(text.size()),
       .in = bytes,
       .out = bytes});
  return text;
}

void RingGroup::all_reduce(std::span<double> values, Reduced reduced) {
  auto* const bytes = reinterpret_cast<std::byte*>(values.data());
  run({.kind = RingKind::all_reduce,
       .type = CombineType::f64,
       .takes_larger = reduced == Reduced::largest,
       .divides = reduced == Reduced::mean,
       .elements = static_cast<std::int64_t>(values.size()),
       .in = bytes,
       .out = bytes});
}

void RingGroup::run(RingRequest request) {
  if (engine_ == nullptr) return;
  const RingCall own{.kind = request.kind,
                     .reduced = request.takes_larger ? 2
                                : request.divides    ? 1
                                                     : 0,
                     .root = request.root,
                     .elements = request.elements};
  const std::int64_t number = called_++;
  calls_->post(number, own);
  const std::shared_ptr<RingJob> job = engine_->start(std::move(request));
  try {
    const bool in_time = engine_->wait(*job, timeout_us_);
    check_calls(number, own);
    if (!in_time) throw late_error(own);
  } catch (const Error&) {
    if (followed_ != nullptr) *followed_ = true;
    check_calls(number, own);  // a rank that ended, perhaps since it saw what is seen here
    throw;
  }
  steps_ = job->steps();
}

Error RingGroup::late_error(const RingCall& own) const {
  const double timeout_s = 1e-6 * static_cast<double>(timeout_us_);
  const std::string where = fmt::format("rank {}, {}", rank_, text_of(own));
  if (const std::optional<CallBoard::Stopped> other = calls_->stopped_rank())
    return {fmt::format("rank {} did not come within {:g} s; its process is stopped", other->rank, timeout_s),
            where, fmt::format("kill -CONT {} lets it continue", other->process), Exit::failed};
  return {fmt::format("another rank did not come within {:g} s", timeout_s), where,
          "do all ranks call the same things in the same order?", Exit::failed};
}

void RingGroup::check_calls(std::int64_t number, const RingCall& own) const {
  const std::optional<CallBoard::Other> other = calls_->other_than(number, own);
  if (!other) return;
  engine_->abort();
  throw Error(fmt::format("rank {} calls a {}, and rank {} a {}", rank_, text_of(own), other->rank,
                          text_of(other->call)),
              fmt::format("collective {}", number + 1), "all ranks call the same things in the same order",
              Exit::failed);
}

}  // namespace isobar
