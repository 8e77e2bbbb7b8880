#pragma once
// What the window shows, in words: for the title of its page, and for a screen reader.
#include <cstdint>
#include <string>

#include "state/state.h"

namespace isobar {

struct PageWords {
  std::string title;    ///< "812/1000 NN_name - Isobar"
  std::string shows;    ///< "Watch view, NN_name 11-20 10:00:00: running."
  std::string figures;  ///< "812 of 1,000 steps, 12 s left, loss 0.2131, 4021 samples/s."; "" = none

  std::string summary() const { return figures.empty() ? shows : shows + " " + figures; }
  bool operator==(const PageWords&) const = default;
};

PageWords page_words(const AppState& state, const Data& data);

/// When a page is told: something new at most every 5 s. A screen reader reads each change of the summary
/// aloud, so figures alone change it once a minute.
class PageWordsPace {
 public:
  /// Else `take` has no use for any words.
  bool is_due(std::int64_t now_us) const { return now_us >= look_at_us_; }
  /// True when `told` is new.
  bool take(PageWords now, std::int64_t now_us);
  const PageWords& told() const { return told_; }

 private:
  PageWords told_;
  std::int64_t look_at_us_ = INT64_MIN, figures_at_us_ = INT64_MIN;
};

}  // namespace isobar
