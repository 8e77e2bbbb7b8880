#include "ring/pair_exchange.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "core/clock.h"

namespace isobar {
namespace {

constexpr std::int64_t kLookAtBoth_us = 200;  // where a rank may send and receive, and sleeps on one of these
constexpr std::int64_t kLook_us = 50'000;     // how often it looks for what broke elsewhere

std::vector<std::int64_t> begins_of(const std::vector<std::int64_t>& counts) {
  std::vector<std::int64_t> out(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), out.begin(), std::int64_t{0});
  return out;
}

std::int64_t piece_of(std::int64_t left) {
  return std::min(left, static_cast<std::int64_t>(RingLinks::kSlotBytes));
}

}  // namespace

std::uint64_t PairLinks::bytes(int size) {
  const auto ranks = static_cast<std::uint64_t>(size);
  return ranks * (ranks - 1) / 2 * RingLinks::bytes(2);
}

PairLinks::PairLinks(SharedMemory memory, int rank, int size)
    : memory_(std::move(memory)), links_(static_cast<std::size_t>(size), nullptr) {
  std::byte* place = memory_.data();
  for (int low = 0; low < size; ++low) {
    for (int high = low + 1; high < size; ++high, place += RingLinks::bytes(2)) {
      if (low != rank && high != rank) continue;
      own_.push_back(std::make_unique<RingLinks>(place, rank == low ? 0 : 1, 2,
                                                 RingPart{.ranks = {low, high}, .of = size}));
      links_[static_cast<std::size_t>(low + high - rank)] = own_.back().get();
    }
  }
}

PairLinks::PairLinks(RingLinks& ring) : links_(2, nullptr) {
  links_[static_cast<std::size_t>(1 - ring.rank())] = &ring;
}

void PairLinks::abort() const noexcept {
  for (const auto& link : own_) link->abort();
}

void PairLinks::leave() const noexcept {
  for (const auto& link : own_) link->leave();
}

std::optional<std::string> PairLinks::what_broke() const {
  for (const auto& link : own_) {
    if (std::optional<std::string> what = link->what_broke()) return what;
  }
  return std::nullopt;
}

void PairLinks::break_too(RingLinks& ring) const {
  for (const auto& link : own_) ring.break_like(*link);
}

PairExchange::PairExchange(PairMessages messages, int rank)
    : messages_(std::move(messages)),
      rank_(rank),
      in_at_(begins_of(messages_.sends)),
      out_at_(begins_of(messages_.receives)) {}

void PairExchange::keep_own() const {
  const auto own = static_cast<std::size_t>(rank_);
  if (const std::int64_t bytes = messages_.sends[own]; bytes > 0)
    std::memcpy(messages_.out + out_at_[own], messages_.in + in_at_[own], static_cast<std::size_t>(bytes));
}

/// The next one in which this rank sends or receives anything.
void PairExchange::begin_next_step() {
  sent_ = received_ = 0;
  do {
    ++step_;
  } while (step_ < size() && left_to_send() == 0 && left_to_receive() == 0);
}

bool PairExchange::is_ready(const PairLinks& links) const {
  return step_ == 0 || is_done() || (left_to_send() > 0 && links.with(to()).has_slot()) ||
         (left_to_receive() > 0 && links.with(from()).has_message());
}

bool PairExchange::move(const PairLinks& links) {
  bool moved = false;
  if (RingLinks& link = links.with(to()); left_to_send() > 0 && link.has_slot()) {
    const std::int64_t bytes = piece_of(left_to_send());
    std::memcpy(link.slot(), messages_.in + in_at_[static_cast<std::size_t>(to())] + sent_,
                static_cast<std::size_t>(bytes));
    link.send();
    sent_ += bytes;
    moved = true;
  }
  if (RingLinks& link = links.with(from()); left_to_receive() > 0 && link.has_message()) {
    const std::int64_t bytes = piece_of(left_to_receive());
    std::memcpy(messages_.out + out_at_[static_cast<std::size_t>(from())] + received_, link.message(),
                static_cast<std::size_t>(bytes));
    link.take();
    received_ += bytes;
    moved = true;
  }
  return moved;
}

RingWait PairExchange::advance(const PairLinks& links, std::int64_t due_us) {
  if (step_ == 0) {
    keep_own();
    begin_next_step();
  }
  if (is_done()) return RingWait::there;
  if (!move(links)) return wait(links, due_us);
  if (left_to_send() == 0 && left_to_receive() == 0) begin_next_step();
  return RingWait::there;
}

RingWait PairExchange::wait(const PairLinks& links, std::int64_t due_us) const {
  const bool both = left_to_send() > 0 && left_to_receive() > 0;
  const std::int64_t look_us = std::min(due_us, steady_us() + (both ? kLookAtBoth_us : kLook_us));
  std::int64_t waited_us = 0;
  const RingWait wait = left_to_receive() > 0 ? links.with(from()).wait_for_message(look_us, waited_us)
                                              : links.with(to()).wait_for_slot(look_us, waited_us);
  if (wait != RingWait::late) return wait;
  // It is before its time where this process leaves.
  return steady_us() < look_us || look_us == due_us ? RingWait::late : RingWait::there;
}

}  // namespace isobar
