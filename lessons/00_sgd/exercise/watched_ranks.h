#pragma once
// Ranks as threads of one process. They meet in each collective as ranks do, and all that they call is
// written down. Once they can never meet any more, the check ends and says where each of them stands.
#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "00_sgd/exercise/exercise.h"
#include "check/check.h"

namespace isobar::exercise {

struct RankCall {
  enum class What { join, broadcast, sum, batch, open_log, write_log };
  What what;
  int rank = 0;  ///< the rank asked for; the root of a broadcast
  int size = 0;
  std::int64_t step = 0;
  std::vector<double> values = {};  ///< the values handed over; the line of a write
  std::string log = {};
};

class WatchedRanks {
 public:
  using What = RankCall::What;

  explicit WatchedRanks(int size) : seats_(static_cast<std::size_t>(size)) {}

  int size() const { return static_cast<int>(seats_.size()); }
  /// Runs `body` on a thread for each rank, until all have returned.
  void run(const std::function<void(int own)>& body) {
    std::vector<std::jthread> threads;
    for (int own = 0; own < size(); ++own) {
      threads.emplace_back([&, own] {
        try {
          body(own);
        } catch (const std::exception& error) {
          not_yet({"no exception here", fmt::format("one on rank {}: {}", own, error.what()), "what throws"});
        }
        const std::lock_guard lock(mutex_);
        seat(own).stands = Stands::has_returned;
        settle();
      });
    }
  }

  // What the ranks are given.
  std::unique_ptr<RankGroup> group(int own) { return std::make_unique<Group>(*this, own); }
  std::unique_ptr<RankGroup> join(int own, int rank, int size) {
    meet(own, {.what = What::join, .rank = rank, .size = size}, {}, "join");
    return group(own);
  }
  std::unique_ptr<RankLog> open_log(int own, const std::string& name) {
    note(own, {.what = What::open_log, .log = name});
    return std::make_unique<Log>(*this, own, name);
  }
  void note(int own, RankCall call) {
    const std::lock_guard lock(mutex_);
    seat(own).calls.push_back(std::move(call));
  }

  /// What a rank has called, in order; of one kind.
  std::vector<RankCall> calls(int own) const { return seats_.at(static_cast<std::size_t>(own)).calls; }
  std::vector<RankCall> calls(int own, What what) const {
    std::vector<RankCall> out = calls(own);
    std::erase_if(out, [&](const RankCall& call) { return call.what != what; });
    return out;
  }

 private:
  enum class Stands { computes, waits, has_returned };

  struct Seat {
    std::vector<RankCall> calls;
    Stands stands = Stands::computes;
    std::string waits_in;
    std::span<double> values;
  };

  class Group final : public RankGroup {
   public:
    Group(WatchedRanks& ranks, int own) : ranks_(ranks), own_(own) {}
    int rank() const override { return own_; }
    int size() const override { return ranks_.size(); }
    void sum(std::span<double> values) override {
      ranks_.meet(own_, {.what = What::sum}, values, fmt::format("a sum of {} numbers", values.size()));
    }
    void broadcast(std::span<double> values, int root) override {
      ranks_.meet(own_, {.what = What::broadcast, .rank = root}, values,
                  fmt::format("a broadcast of {} numbers from rank {}", values.size(), root));
    }

   private:
    WatchedRanks& ranks_;
    int own_;
  };

  class Log final : public RankLog {
   public:
    Log(WatchedRanks& ranks, int own, std::string name) : ranks_(ranks), own_(own), name_(std::move(name)) {}
    void write(std::int64_t step, const Line& line) override {
      ranks_.note(
          own_,
          {.what = What::write_log, .step = step, .values = {line.slope, line.intercept}, .log = name_});
    }

   private:
    WatchedRanks& ranks_;
    int own_;
    std::string name_;
  };

  Seat& seat(int own) { return seats_.at(static_cast<std::size_t>(own)); }

  void meet(int own, RankCall call, std::span<double> values, std::string words) {
    std::unique_lock lock(mutex_);
    Seat& here = seat(own);
    call.values.assign(values.begin(), values.end());
    here.calls.push_back(std::move(call));
    here.waits_in = std::move(words);
    here.values = values;
    here.stands = Stands::waits;
    settle();
    changed_.wait(lock, [&] { return here.stands != Stands::waits; });
  }

  /// Under the lock: if no rank computes any more, what they all wait for is done, or can never be.
  void settle() {
    const auto all = [&](const auto& holds) { return std::all_of(seats_.begin(), seats_.end(), holds); };
    if (!all([](const Seat& one) { return one.stands != Stands::computes; })) return;
    if (all([](const Seat& one) { return one.stands == Stands::has_returned; })) return;
    const std::string& words = seats_.front().waits_in;
    expect(all([&](const Seat& one) { return one.stands == Stands::waits && one.waits_in == words; }),
           {"all ranks to make the same calls in the same order", where_each_stands(),
            "what makes one rank call what another one does not: an if, a return"});
    do_what_all_wait_for();
    for (Seat& one : seats_) one.stands = Stands::computes;
    changed_.notify_all();
  }

  std::string where_each_stands() const {
    std::string out;
    for (std::size_t own = 0; own < seats_.size(); ++own) {
      const Seat& one = seats_[own];
      out += fmt::format("{}rank {} {}", own == 0 ? "" : "; ", own,
                         one.stands == Stands::waits ? "waits in " + one.waits_in : "has returned");
    }
    return out;
  }

  void do_what_all_wait_for() {
    const RankCall call = seats_.front().calls.back();
    if (call.what == What::join) {
      for (int own = 0; own < size(); ++own) {
        const RankCall& asked = seat(own).calls.back();
        expect(asked.rank == own && asked.size == size(),
               {fmt::format("rank {} of {} to join as such", own, size()),
                fmt::format("join({}, {})", asked.rank, asked.size),
                "the arguments of join: which rank this is, then how many there are"});
      }
    } else if (call.what == What::broadcast) {
      expect(call.rank >= 0 && call.rank < size(),
             {"a broadcast from a rank that there is", fmt::format("one from rank {}", call.rank),
              "the root of the broadcast"});
      const std::vector<double> values = seat(call.rank).calls.back().values;
      for (Seat& one : seats_) std::copy(values.begin(), values.end(), one.values.begin());
    } else {
      std::vector<double> total(call.values.size());
      for (const Seat& one : seats_)
        for (std::size_t i = 0; i < total.size(); ++i) total[i] += one.values[i];
      for (Seat& one : seats_) std::copy(total.begin(), total.end(), one.values.begin());
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Seat> seats_;  ///< by rank
};

}  // namespace isobar::exercise
