#pragma once
// A messenger whose other ranks are made up: the gradients of rank r are r + 1 times those of rank 0, which
// is the one that is checked. It does its work in `wait`, so that nothing depends on time, and fills a
// message that is under way with what no gradient holds.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "10_buckets/exercise/exercise.h"
#include "check/check.h"

namespace isobar::exercise {

class WatchedMessenger final : public Messenger {
 public:
  struct Message {
    std::size_t bucket = 0;
    std::vector<float> values;  ///< values when they left
    const float* memory = nullptr;
  };

  explicit WatchedMessenger(int ranks) : ranks_(ranks) {}

  /// The sum over all ranks, where this one has 1.
  float sum_of_ones() const { return static_cast<float>(ranks_ * (ranks_ + 1)) / 2; }
  int ranks() const override { return ranks_; }

  void send(std::size_t bucket, std::span<float> message) override {
    expect(!under_way_.contains(bucket), {fmt::format("bucket {} to be sent once a step", bucket),
                                          "it was sent again", "what sent_ counts"});
    for (const auto& [other, memory] : under_way_)
      if (message.data() < memory.data() + memory.size() && memory.data() < message.data() + message.size())
        complaints_.push_back({fmt::format("bucket {} to have a message of its own", bucket),
                               fmt::format("memory of bucket {}, which is under way", other),
                               "messages_: one for each bucket"});
    sent_.push_back({bucket, {message.begin(), message.end()}, message.data()});
    under_way_[bucket] = message;
    std::ranges::fill(message, std::numeric_limits<float>::quiet_NaN());
  }

  void wait(std::size_t bucket) override {
    const auto found = under_way_.find(bucket);
    expect(found != under_way_.end(), {fmt::format("bucket {} to be sent, then waited for", bucket),
                                       fmt::format("wait({}), and nothing of it is under way", bucket),
                                       "which buckets are waited for, and how often"});
    const std::span<float> message = found->second;
    if (!std::ranges::all_of(message, [](float value) { return std::isnan(value); }))
      complaints_.push_back({fmt::format("nobody to write into message {} between send and wait", bucket),
                             "other values than those of the messenger", "who else uses its memory"});
    const auto message_sent = std::ranges::find(sent_, bucket, &Message::bucket);
    for (std::size_t i = 0; i < message.size(); ++i) message[i] = message_sent->values[i] * sum_of_ones();
    waited_.push_back(bucket);
    under_way_.erase(found);
  }

  /// Forgets the step before.
  void begin() {
    sent_.clear();
    waited_.clear();
    under_way_.clear();
  }
  const std::vector<Message>& sent() const { return sent_; }
  std::vector<std::size_t> waited() const { return waited_; }
  /// Findings of all steps.
  const std::vector<Finding>& complaints() const { return complaints_; }

 private:
  int ranks_;
  std::vector<Message> sent_;
  std::vector<std::size_t> waited_;
  std::map<std::size_t, std::span<float>> under_way_;
  std::vector<Finding> complaints_;
};

}  // namespace isobar::exercise
