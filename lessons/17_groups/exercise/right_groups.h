#pragma once
// Groups of ranks as the exercise promises them, for its checks, and how they are written in findings.
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

#include "17_groups/exercise/exercise.h"
#include "core/text.h"

namespace isobar::exercise {

using Axes = std::vector<GroupAxis>;

inline std::string words(const std::vector<int>& numbers) { return "[" + joined(numbers) + "]"; }

inline std::string words(const GroupList& groups) {
  constexpr std::size_t kShown = 6;
  std::string out;
  for (std::size_t i = 0; i < std::min(kShown, groups.size()); ++i) out += words(groups[i]) + " ";
  if (groups.size() > kShown) out += fmt::format("and {} more", groups.size() - kShown);
  return groups.empty() ? "none" : out.substr(0, out.find_last_not_of(' ') + 1);
}

/// "tp 2, cp 2, dp 8"
inline std::string words(const Axes& axes) {
  std::vector<std::string> out;
  for (const GroupAxis& axis : axes) out.push_back(fmt::format("{} {}", axis.name, axis.size));
  return out.empty() ? "no axis" : joined(out);
}

inline std::string words(const GroupJob& job) {
  return fmt::format("{} GPUs, {} a model, {} an ensemble", job.gpus, job.gpus_per_model,
                     job.gpus_per_ensemble);
}

inline int ranks_of(const Axes& axes) {
  int out = 1;
  for (const GroupAxis& axis : axes) out *= axis.size;
  return out;
}

inline Axes strides_of(Axes axes) {
  int stride = 1;
  for (GroupAxis& axis : axes) {
    axis.stride = stride;
    stride *= axis.size;
  }
  return axes;
}

inline int place_of(int rank, const GroupAxis& axis) { return rank / axis.stride % axis.size; }

inline GroupList groups_of(int ranks, const Axes& along) {
  GroupList out;
  std::vector<int> firsts;
  for (int rank = 0; rank < ranks; ++rank) {
    int first = rank;
    for (const GroupAxis& axis : along) first -= place_of(rank, axis) * axis.stride;
    const auto found = std::ranges::find(firsts, first);
    const auto at = static_cast<std::size_t>(found - firsts.begin());
    if (found == firsts.end()) {
      firsts.push_back(first);
      out.emplace_back();
    }
    out[at].push_back(rank);
  }
  return out;
}

/// A look for what a mistake gives, if that came.
struct Other {
  bool came;
  const char* look;
};

inline const char* look_at(const char* otherwise, std::initializer_list<Other> others) {
  for (const Other& one : others)
    if (one.came) return one.look;
  return otherwise;
}

}  // namespace isobar::exercise
