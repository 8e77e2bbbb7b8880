#pragma once
// Ranks as threads of one process, which meet in each collective. Once they cannot meet any more, the check
// ends and names what each of them asked for.
#include <fmt/format.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "13_zero/exercise/exercise.h"
#include "check/check.h"

namespace isobar::exercise {

class WatchedShares {
 public:
  /// How often a rank asked for each collective.
  struct Asked {
    int reduce_scatters = 0;
    int all_gathers = 0;
    int sums = 0;
  };

  explicit WatchedShares(int count) : seats_(static_cast<std::size_t>(count)) {}

  /// Runs `body` on a thread for each rank, until all have returned.
  void run(const std::function<void(ShareRanks& ranks)>& body) {
    std::vector<std::jthread> threads;
    for (int own = 0; own < count(); ++own) threads.emplace_back([this, own, &body] { sit(own, body); });
  }

  int count() const { return static_cast<int>(seats_.size()); }
  const Asked& asked(int rank) const { return seats_[static_cast<std::size_t>(rank)].asked; }

 private:
  struct Seat {
    Asked asked = {};
    std::string wants = {};  ///< "" = computes
    bool has_returned = false;
    std::span<const float> in = {};
    std::span<float> out = {};
    double number = 0;
  };

  class Rank final : public ShareRanks {
   public:
    Rank(WatchedShares& all, int own) : all_(all), own_(own) {}
    int rank() const override { return own_; }
    int count() const override { return all_.count(); }

    void reduce_scatter(std::span<const float> bucket, std::span<float> share) override {
      all_.check_sizes("reduce_scatter()", bucket.size(), share.size());
      ++seat().asked.reduce_scatters;
      all_.meet(own_, fmt::format("a reduce-scatter of {} values", bucket.size()), bucket, share,
                [&] { all_.add_up(); });
    }
    void all_gather(std::span<const float> share, std::span<float> bucket) override {
      all_.check_sizes("all_gather()", bucket.size(), share.size());
      ++seat().asked.all_gathers;
      all_.meet(own_, fmt::format("an all-gather of {} values", bucket.size()), share, bucket,
                [&] { all_.spread(); });
    }
    double sum(double value) override {
      ++seat().asked.sums;
      seat().number = value;
      all_.meet(own_, "a sum", {}, {}, [&] {
        double total = 0;
        for (const Seat& one : all_.seats_) total += one.number;
        for (Seat& one : all_.seats_) one.number = total;
      });
      return seat().number;
    }

   private:
    Seat& seat() { return all_.seats_[static_cast<std::size_t>(own_)]; }

    WatchedShares& all_;
    int own_;
  };

  void sit(int own, const std::function<void(ShareRanks& ranks)>& body) {
    Rank rank(*this, own);
    try {
      body(rank);
    } catch (const std::exception& error) {
      not_yet({"no exception here", fmt::format("the part threw one: {}", error.what()), "what throws"});
    }
    const std::lock_guard lock(mutex_);
    seats_[static_cast<std::size_t>(own)].has_returned = true;
    settle();
  }

  void check_sizes(const char* what, std::size_t bucket, std::size_t share) const {
    expect(bucket == share * seats_.size(),
           {fmt::format("{} to get a bucket {} times as long as a share", what, count()),
            fmt::format("{} values and {}", bucket, share), "which spans are handed over"});
  }

  /// Returns once all ranks have asked for it, and the last of them has done it.
  void meet(int own, const std::string& wants, std::span<const float> in, std::span<float> out,
            const std::function<void()>& act) {
    std::unique_lock lock(mutex_);
    Seat& seat = seats_[static_cast<std::size_t>(own)];
    seat.wants = wants;
    seat.in = in;
    seat.out = out;
    const int round = round_;
    if (settle()) {
      act();
      for (Seat& one : seats_) one.wants.clear();
      ++round_;
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return round_ != round; });
  }

  /// Whether all ranks ask for one thing. The check ends where they cannot any more.
  bool settle() {
    const Seat* waits = nullptr;
    const Seat* other = nullptr;
    for (const Seat& seat : seats_) {
      if (seat.wants.empty() && !seat.has_returned) return false;
      if (!seat.wants.empty() && waits == nullptr) waits = &seat;
      if (seat.has_returned || (waits != nullptr && seat.wants != waits->wants)) other = &seat;
    }
    if (waits == nullptr) return false;
    if (other == nullptr) return true;
    const auto words = [&](const Seat& seat) {
      return fmt::format("rank {} {}", &seat - seats_.data(),
                         seat.has_returned ? "has returned" : "asks for " + seat.wants);
    };
    not_yet({"all ranks to ask for the same", words(*waits) + ", " + words(*other),
             "what decides whether a rank asks: it must be equal on all of them"});
  }

  void add_up() {
    const std::size_t length = seats_[0].out.size();
    for (std::size_t rank = 0; rank < seats_.size(); ++rank)
      for (std::size_t i = 0; i < length; ++i) {
        float total = 0;
        for (const Seat& seat : seats_) total += seat.in[rank * length + i];
        seats_[rank].out[i] = total;
      }
  }

  /// A share may lie in the bucket of its rank, so that all are read before one is written.
  void spread() {
    std::vector<float> whole;
    for (const Seat& seat : seats_) whole.insert(whole.end(), seat.in.begin(), seat.in.end());
    for (const Seat& seat : seats_) std::copy(whole.begin(), whole.end(), seat.out.begin());
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Seat> seats_;
  int round_ = 0;
};

}  // namespace isobar::exercise
