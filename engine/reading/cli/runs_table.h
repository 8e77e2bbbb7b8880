#pragma once
// Runs in columns that fit a terminal.
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace isobar {

/// A line of the table; "" leaves a cell empty.
struct RunsRow {
  std::string name, state, preset, steps, rmse, rate, bytes, note;
};

/// Nothing is cut or left out for it: what is no terminal reads all of it.
inline constexpr std::size_t kAnyColumns = std::numeric_limits<std::size_t>::max();

/// The rows below their heads. Where they do not fit, presets, steps, scores and sizes are left out, as many
/// as must be and in that order; then notes are cut at their end and names in their middle.
std::vector<std::string> runs_table(const std::vector<RunsRow>& rows, std::size_t columns = kAnyColumns);

/// `text` in at most `most` (3 or more) letters: "01_base...-3f2a".
std::string cut_in_middle(const std::string& text, std::size_t most);

}  // namespace isobar
