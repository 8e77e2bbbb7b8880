#pragma once
// Ranks that send messages, as threads: a view of the memory each, as processes have.
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "09_all_reduce/parts/messages.h"
#include "support/catch.h"
#include "support/deadline.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace isobar::testing {

inline constexpr std::int64_t kTimeout_us = 60'000'000;
inline const MessageLink kNoLink;

inline float value_at(int from, int to, std::size_t i) {
  return static_cast<float>(i % 9973) + static_cast<float>(10'000 * (1 + from + 10 * to));
}
inline std::vector<float> message_of(int from, int to, std::size_t size) {
  std::vector<float> out(size);
  for (std::size_t i = 0; i < size; ++i) out[i] = value_at(from, to, i);
  return out;
}

using Links = std::vector<MessageLink>;

/// Ranks that have met, each with a link of its own.
class Met {
 public:
  explicit Met(const Links& links, std::int64_t timeout_us = kTimeout_us)
      : followed_(links.size()), ranks_(links.size()) {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < links.size(); ++rank) {
      threads.emplace_back([&, rank] {
        ranks_[rank] = std::make_unique<Messages>(RingMeeting{.file = (folder_ / "meeting").string(),
                                                              .rank = static_cast<int>(rank),
                                                              .size = static_cast<int>(links.size()),
                                                              .timeout_us = timeout_us,
                                                              .followed = &followed_[rank]},
                                                  links[rank]);
      });
    }
  }
  Messages& operator[](int rank) { return *ranks_.at(static_cast<std::size_t>(rank)); }
  bool followed(int rank) const { return followed_.at(static_cast<std::size_t>(rank)); }
  bool has(int rank) const { return ranks_[static_cast<std::size_t>(rank)] != nullptr; }
  void leave(int rank) { ranks_.at(static_cast<std::size_t>(rank)).reset(); }

 private:
  const Deadline deadline_{"ranks that send messages", std::chrono::seconds(120)};
  const TempFolder folder_;
  std::deque<bool> followed_;
  std::vector<std::unique_ptr<Messages>> ranks_;
};

inline Links same(int size, const MessageLink& link = kNoLink) {
  return Links(static_cast<std::size_t>(size), link);
}

/// Runs `body` on all of them at the same time; what each of them threw, by rank.
inline std::vector<std::string> at_once(Met& met, int size, const std::function<void(Messages&)>& body) {
  std::vector<std::string> said(static_cast<std::size_t>(size));
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < size; ++rank) {
      if (!met.has(rank)) continue;
      threads.emplace_back([&, rank] {
        try {
          body(met[rank]);
        } catch (const Error& error) {
          said[static_cast<std::size_t>(rank)] = error.text();
        }
      });
    }
  }
  return said;
}

}  // namespace isobar::testing
