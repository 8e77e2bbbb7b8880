// PyTorch's text of a schedule: torch/distributed/pipelining/schedules.py, _load_csv of format compute_only.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/error.h"
#include "core/text.h"
#include "pipeline/schedule.h"

namespace isobar {
namespace {

constexpr int kLargestNumber = 65535;
constexpr std::string_view kWorks = "FBIW";
constexpr const char* kCells = "cells such as 2F0: stage; F, B, I or W; micro-batch";

struct CellPlace {
  std::string where;
  std::size_t line = 0;
  std::size_t cell = 0;

  [[noreturn]] void refuse(const std::string& what, const std::string& hint = kCells) const {
    throw Error(what, fmt::format("{}, line {}, cell {}", where, line, cell), hint);
  }
};

std::optional<int> number_of(std::string_view digits) {
  int out = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  const bool is_whole = code == std::errc() && end == digits.data() + digits.size();
  return is_whole && out >= 0 && out <= kLargestNumber ? std::optional(out) : std::nullopt;
}

PipelineAction action_of(std::string_view cell, const CellPlace& place) {
  const std::size_t at = cell.find_first_not_of("0123456789");
  const std::string_view rest = at == std::string_view::npos ? "" : cell.substr(at);
  const std::string_view word = rest.substr(0, rest.find_first_of("0123456789"));
  if (is_one_of(word, {"SEND_F", "RECV_F", "SEND_B", "RECV_B", "UNSHARD", "RESHARD", "REDUCE_GRAD"}))
    place.refuse(fmt::format("{} is communication", printable(cell)),
                 "what is computed alone: PyTorch's format compute_only");
  if (cell.ends_with("OVERLAP_F_B"))
    place.refuse(fmt::format("{} is two actions at a time", printable(cell)), "one action a cell");
  const std::size_t work = word.size() == 1 ? kWorks.find(word.front()) : std::string_view::npos;
  const auto stage = number_of(cell.substr(0, cell.size() - rest.size()));
  const auto part = rest.empty() ? std::nullopt : number_of(rest.substr(1));
  if (work == std::string_view::npos || !stage || !part)
    place.refuse(fmt::format("\"{}\" is no action of a pipeline", printable(cell, 40)));
  return {*stage, static_cast<PipelineWork>(work), *part};
}

}  // namespace

PipelineSchedule parse_schedule(std::string_view csv, const std::string& where) {
  PipelineSchedule out;
  out.stages = out.parts = 0;
  std::string_view text = csv;
  while (!text.empty() && trimmed(text.substr(text.size() - 1)).empty()) text.remove_suffix(1);
  if (text.empty()) throw Error("a schedule without ranks", where, "a line a rank");
  for (const std::string& line : split(text, '\n')) {
    CellPlace place = {where, out.ranks.size() + 1, 0};
    const int rank = static_cast<int>(out.ranks.size());
    std::vector<PipelineAction>& row = out.ranks.emplace_back();
    for (const std::string& untrimmed : split(line, ',')) {
      ++place.cell;
      const std::string_view cell = trimmed(untrimmed);
      if (cell.empty()) continue;
      const PipelineAction action = action_of(cell, place);
      const auto stage = static_cast<std::size_t>(action.stage);
      if (stage >= out.rank_of_stage.size()) out.rank_of_stage.resize(stage + 1, -1);
      int& home = out.rank_of_stage[stage];
      if (home < 0) home = rank;
      if (home != rank)
        place.refuse(fmt::format("{}: rank {} has stage {} already", cell, home, stage),
                     "all actions of a stage in one line");
      out.parts = std::max(out.parts, action.part + 1);
      row.push_back(action);
    }
    if (row.empty())
      throw Error(fmt::format("rank {} has no action", rank), fmt::format("{}, line {}", where, place.line),
                  "at least one stage for each rank");
  }
  out.stages = static_cast<int>(out.rank_of_stage.size());
  const auto lost = std::find(out.rank_of_stage.begin(), out.rank_of_stage.end(), -1);
  if (lost != out.rank_of_stage.end())
    throw Error(fmt::format("stage {} of {} is on no rank", lost - out.rank_of_stage.begin(), out.stages),
                where, "stages are numbered 0, 1, 2 ...");
  return out;
}

std::string to_csv(const PipelineSchedule& schedule) {
  std::string out;
  for (const auto& row : schedule.ranks) {
    std::vector<std::string> cells;
    for (const PipelineAction& action : row) cells.push_back(cell_of(action));
    out += joined(cells, ",") + "\n";
  }
  return out;
}

}  // namespace isobar
