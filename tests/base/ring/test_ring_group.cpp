// Ranks that meet at a file and add up, as threads: a view of the memory each, as processes have.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/waiting.h"
#include "ring/ring_group.h"
#include "support/catch.h"
#include "support/deadline.h"
#include "support/errors.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

/// Runs `body` on `size` ranks at the same time.
void on_ranks(int size, const std::function<void(RingGroup&)>& body) {
  const Deadline deadline("ranks that meet", std::chrono::seconds(60));
  const TempFolder folder;
  std::vector<std::jthread> ranks;
  for (int rank = 0; rank < size; ++rank) {
    ranks.emplace_back([&, rank] {
      RingGroup group({.file = (folder / "meeting").string(), .rank = rank, .size = size});
      body(group);
    });
  }
}

/// A second goes by at each look, so that a wait of two minutes takes none.
class HurriedClock final : public Clock {
 public:
  HurriedClock() { set_clock(this); }
  ~HurriedClock() { set_clock(nullptr); }
  HurriedClock(const HurriedClock&) = delete;
  HurriedClock& operator=(const HurriedClock&) = delete;

  std::int64_t now_us() const override { return now_us_ += 1'000'000; }
  void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& condition, std::int64_t) override {
    condition.wait_for(lock, std::chrono::milliseconds(1));
  }

 private:
  mutable std::atomic<std::int64_t> now_us_ = 1'000'000'000'000;
};

}  // namespace

TEST_CASE("ranks that met have sum, mean and broadcast, the same bits on all") {
  for (const int size : {2, 3, 5}) {
    std::vector<std::vector<double>> sums(static_cast<std::size_t>(size)), means = sums, told = sums;
    std::atomic<int> wrong = 0;
    on_ranks(size, [&](RingGroup& group) {
      const auto own = static_cast<std::size_t>(group.rank());
      for (int i = 0; i < 7; ++i) sums[own].push_back(std::sin(1.0 + i + 10 * group.rank()));
      means[own] = told[own] = sums[own];
      group.sum(sums[own]);
      if (group.steps().size() != 2 * static_cast<std::size_t>(size - 1)) ++wrong;
      group.mean(means[own]);
      group.broadcast(told[own], size - 1);
      std::vector<double> highest = {static_cast<double>(group.rank()), -1.0 - group.rank()};
      group.largest(highest);
      if (highest != std::vector<double>{size - 1.0, -1.0}) ++wrong;
      for (const std::string& text : {std::string(100'003, 'x'), std::string()})
        if (group.broadcast(group.rank() == 0 ? text : "other") != text) ++wrong;
    });
    CHECK(wrong == 0);
    for (std::size_t i = 0; i < 7; ++i) {
      double expected = 0;
      for (int rank = 0; rank < size; ++rank) expected += std::sin(1.0 + static_cast<double>(i) + 10 * rank);
      for (std::size_t rank = 0; rank < sums.size(); ++rank) {
        CHECK(sums[rank][i] == Approx(expected).epsilon(1e-14));
        CHECK(sums[rank][i] == sums[0][i]);
        CHECK(means[rank][i] == sums[0][i] / size);
        CHECK(told[rank][i] == std::sin(1.0 + static_cast<double>(i) + 10 * (size - 1)));
      }
    }
  }
}

TEST_CASE("one rank alone meets nobody, and its numbers stay") {
  RingGroup group({.file = "/nowhere/meeting"});
  std::vector<double> values = {1, 2};
  group.sum(values);
  group.mean(values);
  group.broadcast(values);
  CHECK(values == std::vector<double>{1, 2});
  CHECK(group.steps().empty());
}

TEST_CASE("a rank that does not come is told, and so is one that left") {
  const TempFolder folder;
  const auto alone = [&](int rank) {
    return failure_of([&] {
      RingGroup({.file = (folder / "meeting").string(), .rank = rank, .size = 2, .timeout_us = 0});
    });
  };
  CHECK_THAT(alone(1), says("rank 0 did not come"));
  CHECK_THAT(alone(0), says("rank 1 did not come"));
  std::string said;
  on_ranks(2, [&](RingGroup& group) {
    if (group.rank() == 1) return;
    std::vector<double> values = {1};
    said = failure_of([&] { group.sum(values); });
  });
  CHECK_THAT(said, says("rank 1"));
}

TEST_CASE("a rank whose process is stopped is told, with how it continues") {
  const TempFolder folder;
  const std::string file = (folder / "meeting").string();
  const pid_t child = fork();
  if (child == 0) {
    const RingGroup group({.file = file, .rank = 1, .size = 2});
    raise(SIGSTOP);
    _exit(0);
  }
  std::string said;
  {
    RingGroup group({.file = file, .rank = 0, .size = 2});
    int status = 0;
    REQUIRE(waitpid(child, &status, WUNTRACED) == child);
    REQUIRE(WIFSTOPPED(status));
    const HurriedClock clock;
    std::vector<double> values = {1};
    said = failure_of([&] { group.sum(values); });
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  CHECK_THAT(said, says("rank 1 did not come within 120 s; its process is stopped"));
  CHECK_THAT(said, says("kill -CONT " + std::to_string(child)));
}

TEST_CASE("ranks that call different things are told what, instead of adding it up") {
  for (const int other : {0, 1, 2}) {
    std::string said;
    on_ranks(2, [&](RingGroup& group) {
      std::vector<double> values = {1, 2, 3};
      try {
        if (group.rank() == 0) {
          group.mean(values);
        } else if (other == 0) {
          group.broadcast(values);
        } else if (other == 1) {
          group.sum(values);
        } else {
          group.mean(std::span(values).first(2));
        }
      } catch (const Error& error) {
        if (group.rank() == 0) said = error.text();
      }
    });
    CHECK_THAT(said, says("rank 0 calls a mean of 3 numbers, and rank 1 a "));
    CHECK_THAT(said, says(other == 0   ? "broadcast of 3 numbers from rank 0"
                          : other == 1 ? "sum of 3 numbers"
                                       : "mean of 2 numbers"));
  }
}
