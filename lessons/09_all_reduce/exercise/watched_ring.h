#pragma once
// A ring of threads in one process. What they send is written down. Once they can get no further, the check
// ends and says where each of them stands: nothing here waits for a clock.
#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "09_all_reduce/exercise/exercise.h"
#include "check/check.h"

namespace isobar::exercise {

class WatchedRing {
 public:
  struct Links {
    bool have_room = true;  ///< a sender does not wait until its message is taken
    bool join_neighbours_only = false;
  };
  struct Message {
    int from = 0;
    int to = 0;
    std::int64_t numbers = 0;
  };

  /// `ranks`: the rank at each place.
  WatchedRing(std::vector<int> ranks, Links links)
      : ranks_(std::move(ranks)), links_(links), seats_(ranks_.size()) {}
  explicit WatchedRing(int size) : WatchedRing(in_order(size), Links{}) {}

  static std::vector<int> in_order(int size) {
    std::vector<int> out;
    for (int rank = 0; rank < size; ++rank) out.push_back(rank);
    return out;
  }

  int size() const { return static_cast<int>(seats_.size()); }
  /// The rank at `place`, which goes round.
  int rank_at(int place) const { return ranks_[static_cast<std::size_t>((place + size()) % size())]; }
  /// Since the last `run` began.
  const std::vector<Message>& sent() const { return sent_; }

  /// Runs `body` on a thread for each place, until all have returned.
  void run(const std::function<void(Ring& ring)>& body) {
    sent_.clear();
    for (Seat& seat : seats_) seat.stands = Stands::computes;
    {
      std::vector<std::jthread> threads;
      for (int place = 0; place < size(); ++place) threads.emplace_back([&, place] { sit(place, body); });
    }
    for (int own = 0; own < size(); ++own)
      for (const Sent& message : seats_[static_cast<std::size_t>(own)].under_way)
        not_yet({"every message to be received",
                 fmt::format("one from rank {} that rank {} never took", own, message.to),
                 "the number of steps: as many messages come as go"});
  }

 private:
  enum class Stands { computes, waits, has_returned };
  static constexpr int kNobody = -1;

  struct Sent {
    int to = 0;
    std::vector<float> numbers;
  };
  struct Seat {
    Stands stands = Stands::computes;
    int to = kNobody;
    std::span<const float> out;
    int from = kNobody;
    std::span<float> into;
    std::deque<Sent> under_way;  ///< from here
    std::optional<Finding> refused;
  };

  class Place final : public Ring {
   public:
    Place(WatchedRing& all, int place) : all_(all), place_(place) {}
    int place() const override { return place_; }
    int size() const override { return all_.size(); }
    int left() const override { return all_.rank_at(place_ - 1); }
    int right() const override { return all_.rank_at(place_ + 1); }
    void send(int to, std::span<const float> out) override {
      all_.check_other(*this, to, "sends to");
      all_.talk(all_.rank_at(place_), to, out, kNobody, {});
    }
    void receive(int from, std::span<float> into) override {
      all_.check_other(*this, from, "receives from");
      all_.talk(all_.rank_at(place_), kNobody, {}, from, into);
    }
    void exchange(int to, std::span<const float> out, int from, std::span<float> into) override {
      all_.check_other(*this, to, "sends to");
      all_.check_other(*this, from, "receives from");
      const bool apart = out.empty() || into.empty() || out.data() + out.size() <= into.data() ||
                         into.data() + into.size() <= out.data();
      expect(apart, {"out and into of an exchange to be apart", "numbers that are in both",
                     "what comes in the exchange: it would overwrite numbers that are still to be sent"});
      all_.talk(all_.rank_at(place_), to, out, from, into);
    }

   private:
    WatchedRing& all_;
    int place_;
  };

  Seat& seat(int rank) { return seats_[static_cast<std::size_t>(rank)]; }

  void sit(int place, const std::function<void(Ring& ring)>& body) {
    Place ring(*this, place);
    try {
      body(ring);
    } catch (const std::exception& error) {
      not_yet({"no exception here", fmt::format("one on rank {}: {}", rank_at(place), error.what()),
               "what throws"});
    }
    const std::lock_guard lock(mutex_);
    seat(rank_at(place)).stands = Stands::has_returned;
    settle();
  }

  void check_other(const Place& own, int other, const char* does) {
    const int rank = rank_at(own.place());
    if (links_.join_neighbours_only && other != own.left() && other != own.right())
      refuse(
          rank,
          {fmt::format("rank {} to talk to its neighbours, ranks {} and {}", rank, own.left(), own.right()),
           fmt::format("it {} rank {}", does, other),
           "ring.left() and ring.right(): they know the order of the ranks, and no others have a link here"});
    if (other < 0 || other >= size())
      refuse(rank, {fmt::format("messages among ranks 0 to {}", size() - 1),
                    fmt::format("rank {} {} rank {}", rank, does, other),
                    "ring.left() and ring.right(): they know where the ring closes"});
    if (other == rank)
      refuse(rank, {"messages between two ranks",
                    fmt::format("rank {} {} itself, in a ring of {}", rank, does, size()),
                    "the number of steps: one less than there are ranks, so none for a rank that is alone"});
  }

  /// Told when no rank gets further, so that it is the same one each time.
  void refuse(int rank, Finding finding) {
    std::unique_lock lock(mutex_);
    seat(rank).refused = std::move(finding);
    seat(rank).stands = Stands::waits;
    settle();
    changed_.wait(lock, [] { return false; });
  }

  void talk(int own, int to, std::span<const float> out, int from, std::span<float> into) {
    std::unique_lock lock(mutex_);
    Seat& here = seat(own);
    if (to != kNobody) sent_.push_back({own, to, static_cast<std::int64_t>(out.size())});
    if (to != kNobody && links_.have_room) {
      here.under_way.push_back({to, {out.begin(), out.end()}});
    } else {
      here.to = to;
      here.out = out;
    }
    here.from = from;
    here.into = into;
    here.stands = Stands::waits;
    deliver();
    settle();
    changed_.wait(lock, [&] { return here.stands != Stands::waits; });
  }

  /// Under the lock: all messages whose other end is there.
  void deliver() {
    for (int own = 0; own < size(); ++own) {
      Seat& taker = seat(own);
      if (taker.from != kNobody) take(own, taker, seat(taker.from));
    }
    for (Seat& one : seats_) {
      if (one.to == kNobody && one.from == kNobody && one.stands == Stands::waits && !one.refused)
        one.stands = Stands::computes;
    }
    changed_.notify_all();
  }

  void take(int own, Seat& taker, Seat& giver) {
    const auto fits = [&](std::size_t numbers) {
      expect(numbers == taker.into.size(),
             {fmt::format("rank {} to receive the {} numbers that rank {} sends", own, numbers, taker.from),
              fmt::format("room for {}", taker.into.size()),
              "the chunk that comes: the left neighbour's, cut as that one has cut it"});
    };
    if (giver.to == own && giver.stands == Stands::waits) {
      fits(giver.out.size());
      std::copy(giver.out.begin(), giver.out.end(), taker.into.begin());
      giver.to = kNobody;
    } else {
      const auto first = std::find_if(giver.under_way.begin(), giver.under_way.end(),
                                      [&](const Sent& message) { return message.to == own; });
      if (first == giver.under_way.end()) return;
      fits(first->numbers.size());
      std::copy(first->numbers.begin(), first->numbers.end(), taker.into.begin());
      giver.under_way.erase(first);
    }
    taker.from = kNobody;
  }

  /// Under the lock: whether any rank still gets further.
  void settle() {
    const auto any = [&](Stands how) {
      return std::any_of(seats_.begin(), seats_.end(), [&](const Seat& one) { return one.stands == how; });
    };
    if (any(Stands::computes) || !any(Stands::waits)) return;
    for (const Seat& one : seats_)
      if (one.refused) not_yet(*one.refused);
    bool sends_wait = true;  // of all that wait: nobody has begun to receive
    for (const Seat& one : seats_) sends_wait = sends_wait && one.to != kNobody && one.from == kNobody;
    not_yet({"every message to be sent and received, and all ranks to return", where_each_stands(),
             sends_wait
                 ? "send: it returns when the message is taken, and here nobody is left to take one"
                 : "who waits for whom: each message is sent once and received once, in the same order"});
  }

  std::string where_each_stands() const {
    std::string out;
    for (std::size_t own = 0; own < seats_.size(); ++own) {
      const Seat& one = seats_[own];
      std::string where = one.stands == Stands::has_returned ? "has returned" : "waits";
      if (one.to != kNobody) where += fmt::format(" for rank {} to take a message", one.to);
      if (one.to != kNobody && one.from != kNobody) where += " and";
      if (one.from != kNobody) where += fmt::format(" for a message of rank {}", one.from);
      out += fmt::format("{}rank {} {}", own == 0 ? "" : "; ", own, where);
    }
    return out;
  }

  const std::vector<int> ranks_;  ///< by place
  const Links links_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Seat> seats_;  ///< by rank
  std::vector<Message> sent_;
};

}  // namespace isobar::exercise
