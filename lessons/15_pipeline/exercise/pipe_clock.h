#pragma once
// A step of a pipeline on a clock of events: an action begins when its rank is through with the one before
// and the message that it waits for is there. Messages take no time, and nobody waits for one to be taken.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "15_pipeline/exercise/part.h"
#include "check/check.h"
#include "core/text.h"

namespace isobar::exercise {

using PipeRow = std::vector<PipeAction>;

inline std::string words(const PipeAction& action) {
  return fmt::format("{}{}", "FBIW"[static_cast<std::size_t>(action.work)], action.part);
}

inline std::string words(const PipeRow& row) {
  std::vector<std::string> out;
  for (const PipeAction& action : row) out.push_back(words(action));
  return out.empty() ? "nothing" : joined(out, " ");
}

inline std::string words(const PipeRank& at) {
  return fmt::format("rank {} of {} with {} micro-batch{}", at.rank, at.ranks, at.parts,
                     at.parts == 1 ? "" : "es");
}

/// F, I and W take a unit of time each, B takes two.
inline int units_of(PipeWork work) { return work == PipeWork::backward ? 2 : 1; }

/// The most micro-batches that `row` keeps: from F to B, or to W.
inline int kept_by(const PipeRow& row) {
  int kept = 0, most = 0;
  for (const auto& [work, part] : row) {
    if (work == PipeWork::forward) most = std::max(most, ++kept);
    if (work == PipeWork::backward || work == PipeWork::weights) --kept;
  }
  return most;
}

class PipeClock {
 public:
  /// One row a rank. The check ends where ranks wait for one another.
  PipeClock(const Part& part, int parts, std::vector<PipeRow> rows) : rows_(std::move(rows)) {
    const int ranks = static_cast<int>(rows_.size());
    std::vector<int> ends(rows_.size());
    std::vector<std::size_t> next(rows_.size());
    std::map<std::tuple<int, PipeWork, int>, int> sent;  // to which rank, what, which micro-batch; when
    lines_.resize(rows_.size());
    for (bool moves = true; std::exchange(moves, false);) {
      for (int rank = 0; rank < ranks; ++rank) {
        const auto at = static_cast<std::size_t>(rank);
        while (next[at] < rows_[at].size()) {
          const PipeAction& action = rows_[at][next[at]];
          const auto& [from, to] = part.partners_of({ranks, rank, parts}, action.work);
          const auto message = sent.find({rank, action.work, action.part});
          if (from && message == sent.end()) break;
          const int begin = std::max(ends[at], from ? message->second : 0);
          draw(at, begin - ends[at], action);
          ends[at] = begin + units_of(action.work);
          if (to) sent.insert({{*to, action.work, action.part}, ends[at]});
          ++next[at];
          moves = true;
        }
      }
    }
    std::vector<std::string> waits;
    for (std::size_t at = 0; at < rows_.size(); ++at)
      if (next[at] < rows_[at].size())
        waits.push_back(fmt::format("rank {} waits in front of {}", at, words(rows_[at][next[at]])));
    if (!waits.empty())
      not_yet({fmt::format("the step of {} ranks with {} micro-batches to end", ranks, parts),
               joined(waits, ", "), "who waits for whom: the rank that is to send waits for the other one"});
    units = *std::ranges::max_element(ends);
  }

  /// A line a rank, in columns of one unit of time.
  std::vector<std::string> picture() const { return lines_; }

  int units = 0;  ///< how long the step is

 private:
  void draw(std::size_t rank, int idle, const PipeAction& action) {
    std::string& line = lines_[rank];
    if (line.empty()) line = fmt::format("rank {}  ", rank);
    line += std::string(3 * static_cast<std::size_t>(idle), ' ');
    line += fmt::format("{:-<{}} ", words(action), 3 * units_of(action.work) - 1);
  }

  std::vector<PipeRow> rows_;
  std::vector<std::string> lines_;
};

}  // namespace isobar::exercise
