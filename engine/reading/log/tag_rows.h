#pragma once
// Where a scalar of an event file goes among those of its tag.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "record/left_out.h"

namespace isobar {

struct TagRow {
  double step = 0;
  double wall_s = 0;
  double value = 0;
};

/// So many steps may come late, as those of a thread beside the training loop do.
inline constexpr std::size_t kMostLateRows = 64;

/// Puts `row` behind the others, which go by their steps. A step that goes back in a new session begins the
/// tag again from there: a restarted program repeats what it lost. In the same session a row that is late by
/// at most kMostLateRows goes where it belongs, in place of one at its step; else the tag begins again from
/// there too. What is dropped is counted. `Rows` has size(), step(i), row(i), truncate(size) and push(row).
template <typename Rows>
void put_row(Rows& rows, const TagRow& row, bool is_new_session, LeftOut& left_out) {
  std::size_t behind = rows.size();
  while (behind > 0 && rows.step(behind - 1) >= row.step) --behind;
  if (is_new_session || rows.size() - behind > kMostLateRows) {
    left_out.add("value",
                 is_new_session ? "a later start of the program repeats their steps, and its values count"
                                : "their tag goes back to an earlier step, and what follows counts",
                 static_cast<std::int64_t>(rows.size() - behind));
    rows.truncate(behind);
    return rows.push(row);
  }
  std::vector<TagRow> later;
  for (std::size_t i = behind; i < rows.size(); ++i) {
    if (rows.step(i) > row.step) later.push_back(rows.row(i));
  }
  left_out.add("value", "their tag has a later value at the same step",
               static_cast<std::int64_t>(rows.size() - behind - later.size()));
  rows.truncate(behind);
  rows.push(row);
  for (const TagRow& one : later) rows.push(one);
}

}  // namespace isobar
