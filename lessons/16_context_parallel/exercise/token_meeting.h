#pragma once
// The collectives of ranks that are threads of one process: a result is there once all have asked for it.
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>
#include <fmt/format.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "16_context_parallel/exercise/part.h"
#include "check/check.h"
#include "core/text.h"

namespace isobar::exercise {

inline std::string shape_of(const at::Tensor& t) {
  return t.defined() ? fmt::format("[{}]", joined(t.sizes())) : "an undefined tensor";
}

/// What a rank asked for since it was last looked at.
struct AskedTokens {
  int gathers = 0;
  int sums = 0;
  at::Tensor last;  ///< what it gave to the newest of them
};

class TokenMeeting {
 public:
  explicit TokenMeeting(int count) : given_(static_cast<std::size_t>(count)), asked_(given_.size()) {}

  at::Tensor all_gather(int index, const at::Tensor& part) {
    expect(part.defined(), {"a tensor to gather", "an undefined one", "what all_gather() is given"});
    return exchange(index, part, /*sums=*/false);
  }

  at::Tensor reduce_scatter(int index, const at::Tensor& parts) {
    expect(parts.defined(),
           {"a tensor of parts to add up", "an undefined one", "what reduce_scatter() is given"});
    expect(parts.dim() == 2 && parts.size(0) % std::ssize(given_) == 0,
           {fmt::format("reduce_scatter() to be given {} parts of one length", given_.size()),
            shape_of(parts), "parts that are not equally long: padded() to the longest"});
    return exchange(index, parts, /*sums=*/true);
  }

  /// This rank asks for nothing more.
  void end() {
    const std::lock_guard lock(mutex_);
    gone_ = true;
    changed_.notify_all();
  }

  AskedTokens asked(int index) {
    const std::lock_guard lock(mutex_);
    return std::exchange(asked_[static_cast<std::size_t>(index)], {});
  }

 private:
  at::Tensor exchange(int index, const at::Tensor& given, bool sums) {
    std::unique_lock lock(mutex_);
    const auto own = static_cast<std::size_t>(index);
    ++(sums ? asked_[own].sums : asked_[own].gathers);
    given_[own] = given.detach().clone();
    asked_[own].last = given_[own];
    const std::int64_t round = round_;
    if (there_ == 0) sums_ = sums;
    expect(sums_ == sums, {"all ranks to ask for the same collective", "one gathers while another adds up",
                           "whether what a rank asks for depends on its number"});
    if (++there_ == given_.size()) finish();
    changed_.notify_all();
    changed_.wait(lock, [&] { return round_ != round || gone_; });
    expect(round_ != round, {"all ranks to ask for the same collectives",
                             "one rank asks for one that another does not ask for",
                             "whether what a rank asks for depends on its number"});
    if (!sums) return made_.clone();
    const std::int64_t rows = made_.size(0) / std::ssize(given_);
    return made_.narrow(0, index * rows, rows).clone();
  }

  void finish() {
    for (const at::Tensor& one : given_) {
      expect(one.sizes() == given_.front().sizes(),
             {"all ranks to send parts of one shape",
              fmt::format("{} and {}", shape_of(given_.front()), shape_of(one)),
              "shares that are not equally long: padded() to the longest"});
      expect(one.scalar_type() == given_.front().scalar_type(),
             {"all ranks to send one type", "several", "what turns a tensor into another type"});
    }
    made_ = sums_ ? at::stack(given_).sum(0) : at::cat(given_);
    there_ = 0;
    ++round_;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<at::Tensor> given_;
  std::vector<AskedTokens> asked_;
  std::size_t there_ = 0;
  std::int64_t round_ = 0;
  bool sums_ = false, gone_ = false;
  at::Tensor made_;
};

inline std::string first_line(const std::exception& error) {
  const std::string what = error.what();
  return what.substr(0, what.find('\n'));
}

using OnTokenRank = std::function<void(const RankOfTokens&, TokenMeeting&)>;

/// Runs it on `count` ranks at once.
inline void on_ranks(int count, const OnTokenRank& run) {
  at::set_num_threads(1);
  TokenMeeting meeting(count);
  std::vector<std::thread> threads;
  for (int index = 0; index < count; ++index) {
    threads.emplace_back([&, index] {
      const RankOfTokens rank{
          index, count, [&meeting, index](const at::Tensor& x) { return meeting.all_gather(index, x); },
          [&meeting, index](const at::Tensor& x) { return meeting.reduce_scatter(index, x); }};
      try {
        run(rank, meeting);
      } catch (const std::exception& error) {
        not_yet({"no exception here", "the part threw one: " + first_line(error), "what throws"});
      }
      meeting.end();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace isobar::exercise
