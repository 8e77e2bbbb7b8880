#include "09_all_reduce/parts/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "core/text.h"
#include "core/waiting.h"
#include "ring/link_clock.h"
#include "ring/ring_links.h"
#include "ring/wait_board.h"

namespace isobar {
namespace {

constexpr std::int64_t kNap_us = 100;  // for a rank that waits for two others, and is woken by one
constexpr int kTurns = 20;             // before it
constexpr int kNobody = -1;
constexpr double kRounding_us = 1e-3;
constexpr const char* kWhere = "messages between ranks";
constexpr const char* kFasterLink = "a faster comm.link, or a longer comm.timeout_s";
constexpr const char* kLast = "see the last output of that rank";
constexpr const char* kOrder = "has every receive its send on the other rank, in the same order and size?";

/// In front of the values of each piece; the first one of a message describes what comes.
struct PieceHead {
  alignas(64) std::int64_t number;  ///< number of the message between the two ranks, from 0
  std::int64_t bytes;
  double arrival_us;
};

constexpr std::size_t kPiece = (RingLinks::kSlotBytes - sizeof(PieceHead)) / sizeof(float);

/// The index of a pair in the order of the lower rank, then of the higher one.
std::uint64_t pair_index(int low, int high, int size) {
  const auto before = static_cast<std::uint64_t>(low), of = static_cast<std::uint64_t>(size);
  return before * of - before * (before + 1) / 2 + static_cast<std::uint64_t>(high - low - 1);
}

std::uint64_t bytes_of_all(int size) {
  const std::uint64_t pairs = pair_index(size - 2, size - 1, size) + 1;
  return WaitBoard::bytes(size) + RingLinks::bytes(size) + pairs * RingLinks::bytes(2);
}

/// A message on its way out, piece by piece.
class Outgoing {
 public:
  Outgoing(RingLinks& links, std::span<const float> values, std::int64_t number, double arrival_us)
      : links_(links),
        values_(values),
        head_{.number = number,
              .bytes = static_cast<std::int64_t>(values.size_bytes()),
              .arrival_us = arrival_us} {}

  bool is_done() const { return begun_ && sent_ == values_.size(); }
  void drop() { begun_ = true, sent_ = values_.size(); }
  bool move() {
    if (is_done() || !links_.has_slot()) return false;
    const std::size_t count = std::min(kPiece, values_.size() - sent_);
    std::memcpy(links_.slot(), &head_, sizeof(head_));
    if (count > 0) std::memcpy(links_.slot() + sizeof(head_), &values_[sent_], count * sizeof(float));
    links_.send();
    sent_ += count;
    begun_ = true;
    return true;
  }

 private:
  RingLinks& links_;
  std::span<const float> values_;
  PieceHead head_;
  std::size_t sent_ = 0;
  bool begun_ = false;
};

/// A message on its way in, likewise.
class Incoming {
 public:
  Incoming(RingLinks& links, std::span<float> values, std::int64_t number)
      : links_(links), values_(values), number_(number) {}

  bool is_done() const { return begun_ && taken_ == values_.size(); }
  bool has_begun() const { return begun_; }
  bool has_piece() const { return !is_done() && links_.has_message() && head().number == number_; }
  /// Another message is there instead.
  bool is_lost() const { return !is_done() && links_.has_message() && head().number != number_; }
  PieceHead head() const {
    PieceHead out;
    std::memcpy(&out, links_.message(), sizeof(out));
    return out;
  }
  void begin(bool keeps) { begun_ = true, keeps_ = keeps; }
  void move() {
    const std::size_t count = std::min(kPiece, values_.size() - taken_);
    if (count > 0 && keeps_)
      std::memcpy(&values_[taken_], links_.message() + sizeof(PieceHead), count * sizeof(float));
    links_.take();
    taken_ += count;
  }
  std::size_t bytes() const { return values_.size_bytes(); }

 private:
  RingLinks& links_;
  std::span<float> values_;
  std::int64_t number_;
  std::size_t taken_ = 0;
  bool begun_ = false;
  bool keeps_ = true;
};

}  // namespace

struct Messages::Impl {
  Impl(const RingMeeting& asked, const MessageLink& link) : meeting(asked), times(link) {
    if (meeting.size > 1) join();
  }
  void join();

  RingLinks& with(int other);
  Outgoing begin(int to, std::span<const float> values);
  void pass(int to, Outgoing* out, int from, Incoming* in);
  void open(int from, Incoming& in);
  Incoming expect(int from, std::span<float> into);
  void await(int to, int from, bool is_lost, std::int64_t due_us);
  void tell(int to, int from);
  void await_either(RingLinks& to, RingLinks& from, std::int64_t due_us);
  [[noreturn]] void await_lost(std::int64_t due_us);
  void meet();

  void check_all_well();
  void check(RingWait wait, const RingLinks& links);
  [[noreturn]] void fail_late();
  [[noreturn]] void fail(const std::string& what, const std::string& where, const char* hint);

  RingMeeting meeting;
  LinkTimes times;
  SharedMemory memory;
  std::unique_ptr<WaitBoard> board;               ///< null alone
  std::unique_ptr<RingLinks> around;              ///< for meetings; likewise
  std::vector<std::unique_ptr<RingLinks>> pairs;  ///< by the other rank; null: this one
  std::vector<std::int64_t> next_out, next_in;    ///< numbers of messages, by the other rank
  double landed_us = 0;                           ///< when the message that was taken last has arrived
  std::int64_t since_us = 0;                      ///< when the call that waits was made
  std::int64_t sent_messages = 0, sent_bytes = 0, meetings = 0;
  bool drops = false, forgets = false;
};

void Messages::Impl::join() {
  const int size = meeting.size, own = meeting.rank;
  memory = std::move(meet_at_file(meeting, "messages", {bytes_of_all(size)}).front());
  board = std::make_unique<WaitBoard>(memory.data(), own, size);
  std::byte* const ring = memory.data() + WaitBoard::bytes(size);
  around = std::make_unique<RingLinks>(ring, own, size);
  pairs.resize(static_cast<std::size_t>(size));
  next_out = next_in = std::vector<std::int64_t>(pairs.size(), 0);
  for (int other = 0; other < size; ++other) {
    if (other == own) continue;
    const int low = std::min(own, other), high = std::max(own, other);
    std::byte* const place =
        ring + RingLinks::bytes(size) + pair_index(low, high, size) * RingLinks::bytes(2);
    pairs[static_cast<std::size_t>(other)] =
        std::make_unique<RingLinks>(place, own == low ? 0 : 1, 2, RingPart{.ranks = {low, high}, .of = size});
  }
}

RingLinks& Messages::Impl::with(int other) {
  if (other < 0 || other >= meeting.size || other == meeting.rank)
    throw Error(fmt::format("rank {} has no link to rank {}", meeting.rank, other), kWhere,
                fmt::format("of {} ranks; none sends to itself", meeting.size), Exit::failed);
  check_all_well();
  return *pairs[static_cast<std::size_t>(other)];
}

Outgoing Messages::Impl::begin(int to, std::span<const float> values) {
  RingLinks& links = with(to);
  const auto bytes = static_cast<std::int64_t>(values.size_bytes());
  ++sent_messages;
  sent_bytes += bytes;
  Outgoing out(links, values, next_out[static_cast<std::size_t>(to)]++, times.leave(bytes, steady_us()));
  if (std::exchange(drops, false)) out.drop();
  return out;
}

Incoming Messages::Impl::expect(int from, std::span<float> into) {
  RingLinks& links = with(from);
  return {links, into, next_in[static_cast<std::size_t>(from)]++};
}

void Messages::Impl::pass(int to, Outgoing* out, int from, Incoming* in) {
  const auto sends = [&] { return out != nullptr && !out->is_done(); };
  const auto takes = [&] { return in != nullptr && !in->is_done(); };
  since_us = steady_us();
  tell(sends() ? to : kNobody, from);
  for (std::int64_t due_us = due_of(meeting); sends() || takes();) {
    bool moved = sends() && out->move();
    if (takes() && in->has_piece()) {
      if (!in->has_begun()) open(from, *in);
      in->move();
      moved = true;
    }
    if (moved)
      due_us = due_of(meeting);
    else
      await(sends() ? to : kNobody, takes() ? from : kNobody, takes() && in->is_lost(), due_us);
  }
  if (in != nullptr) {
    if (landed_us > static_cast<double>(steady_us())) board->begin(AwaitedThing::link, from, steady_us());
    wait_for_link(static_cast<std::int64_t>(std::ceil(landed_us - kRounding_us)));
  }
  board->end();
}

/// The first piece of a message is there: whether it is the one that is wanted, and when it will have
/// arrived.
void Messages::Impl::open(int from, Incoming& in) {
  const PieceHead head = in.head();
  if (static_cast<std::size_t>(head.bytes) != in.bytes())
    fail(fmt::format("rank {} sent {} numbers, and rank {} takes {}", from,
                     static_cast<std::size_t>(head.bytes) / sizeof(float), meeting.rank,
                     in.bytes() / sizeof(float)),
         fmt::format("rank {}, message from rank {}", meeting.rank, from), kOrder);
  const auto now_us = static_cast<double>(steady_us());
  landed_us = times.land(head.bytes, head.arrival_us);
  const bool keeps = !forgets || landed_us <= now_us;
  if (!keeps) landed_us = 0;
  if (!(landed_us - now_us <= static_cast<double>(meeting.timeout_us)))
    fail(fmt::format("the message of rank {} is under way for {:.3g} s, and ranks wait for {:g} s", from,
                     1e-6 * (landed_us - now_us), 1e-6 * static_cast<double>(meeting.timeout_us)),
         fmt::format("rank {}, message from rank {}", meeting.rank, from), kFasterLink);
  in.begin(keeps);
}

/// Until there is room for a piece to `to`, or a piece of `from`; or one of them only.
void Messages::Impl::await(int to, int from, bool is_lost, std::int64_t due_us) {
  std::int64_t waited_us = 0;
  tell(to, from);
  if (is_lost && to == kNobody) await_lost(due_us);
  if (from == kNobody || is_lost) {
    check(with(to).wait_for_slot(due_us, waited_us), with(to));
  } else if (to == kNobody) {
    check(with(from).wait_for_message(due_us, waited_us), with(from));
  } else {
    await_either(with(to), with(from), due_us);
  }
}

/// What the others may blame another rank for, from before it sends: they must not run ahead of it.
void Messages::Impl::tell(int to, int from) {
  if (from != kNobody)
    board->begin(AwaitedThing::message, from, since_us);
  else if (to != kNobody)
    board->begin(AwaitedThing::room, to, since_us);
}

/// A rank sleeps until one other has moved on, so it sleeps briefly, in turn for each of the two.
void Messages::Impl::await_either(RingLinks& to, RingLinks& from, std::int64_t due_us) {
  const auto is_there = [&] { return to.has_slot() || from.has_message(); };
  for (int turn = 0; turn < kTurns; ++turn) {
    if (is_there()) return;
    std::this_thread::yield();
  }
  for (bool looks_right = false; !is_there(); looks_right = !looks_right) {
    if (steady_us() >= due_us) fail_late();
    RingLinks& links = looks_right ? to : from;
    const RingWait wait =
        links.nap(looks_right ? RingLinks::Awaited::slot : RingLinks::Awaited::message, kNap_us);
    if (wait == RingWait::broken) check(wait, links);
  }
}

/// What comes from a rank is not what is next: that was lost on the way, which is certain when the time is
/// over.
void Messages::Impl::await_lost(std::int64_t due_us) {
  while (steady_us() < due_us) {
    pause_us(kNap_us);
    check_all_well();
  }
  fail_late();
}

/// One token for each other rank goes round: the last one that comes has heard of all.
void Messages::Impl::meet() {
  if (meeting.size == 1) return;
  check_all_well();
  const std::int64_t due_us = due_of(meeting);
  std::int64_t waited_us = 0;
  board->come(++meetings);
  board->begin(AwaitedThing::meeting, (meeting.rank + meeting.size - 1) % meeting.size, steady_us());
  for (int token = 1; token < meeting.size; ++token) {
    check(around->wait_for_slot(due_us, waited_us), *around);
    around->send();
    check(around->wait_for_message(due_us, waited_us), *around);
    around->take();
  }
  board->end();
}

void Messages::Impl::check_all_well() {
  if (board != nullptr && board->blamed()) fail("another rank failed", kWhere, kLast);
}

void Messages::Impl::check(RingWait wait, const RingLinks& links) {
  if (wait == RingWait::there) return;
  if (wait == RingWait::late) fail_late();
  fail(links.what_broke().value_or("another rank failed"),
       fmt::format("messages between ranks, rank {}", meeting.rank), kLast);
}

void Messages::Impl::fail_late() {
  const WaitBoard::Wait cause = board->cause();
  const std::string time = fmt::format("{:.3g} s", 1e-6 * static_cast<double>(steady_us() - cause.since_us));
  switch (cause.thing) {
    case AwaitedThing::message:
      fail(fmt::format("rank {} did not send its next message for {}", cause.other, time),
           fmt::format("rank {}, message from rank {}", cause.rank, cause.other), kOrder);
    case AwaitedThing::room:
      fail(fmt::format("rank {} did not take a message for {}", cause.other, time),
           fmt::format("rank {}, message to rank {}", cause.rank, cause.other), kOrder);
    case AwaitedThing::link:
      fail(fmt::format("messages to rank {} are under way for longer than the {:g} s that ranks wait",
                       cause.rank, 1e-6 * static_cast<double>(meeting.timeout_us)),
           fmt::format("rank {}, message from rank {}", cause.rank, cause.other), kFasterLink);
    case AwaitedThing::meeting:
      break;
  }
  fail(fmt::format("rank {} did not come for {}", cause.other, time),
       fmt::format("rank {}, meeting of all ranks", cause.rank), kLast);
}

/// All ranks report one error: what the first of them found.
void Messages::Impl::fail(const std::string& what, const std::string& where, const char* hint) {
  const std::vector<std::string> said = split(board->blame(what + '\n' + where + '\n' + hint), '\n');
  if (meeting.followed != nullptr) *meeting.followed = true;
  around->abort();
  for (const auto& links : pairs) {
    if (links != nullptr) links->abort();
  }
  throw Error(said.at(0), said.at(1), said.at(2), Exit::failed);
}

Messages::Messages(const RingMeeting& meeting, const MessageLink& link)
    : impl_(std::make_unique<Impl>(meeting, link)) {}
Messages::~Messages() = default;

int Messages::rank() const { return impl_->meeting.rank; }
int Messages::size() const { return impl_->meeting.size; }

void Messages::send(int to, std::span<const float> values) {
  Outgoing out = impl_->begin(to, values);
  impl_->pass(to, &out, kNobody, nullptr);
}

void Messages::receive(int from, std::span<float> into) {
  Incoming in = impl_->expect(from, into);
  impl_->pass(kNobody, nullptr, from, &in);
}

void Messages::exchange(int to, std::span<const float> out, int from, std::span<float> into) {
  Incoming in = impl_->expect(from, into);
  Outgoing outgoing = impl_->begin(to, out);
  impl_->pass(to, &outgoing, from, &in);
}

void Messages::meet() { impl_->meet(); }
std::int64_t Messages::sent_messages() const { return impl_->sent_messages; }
std::int64_t Messages::sent_bytes() const { return impl_->sent_bytes; }
void Messages::drop_next() { impl_->drops = true; }
void Messages::forget_to_wait() { impl_->forgets = true; }

}  // namespace isobar
