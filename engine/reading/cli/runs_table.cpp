#include "cli/runs_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/text.h"

namespace isobar {
namespace {

struct Column {
  std::string RunsRow::*cell;
  const char* head;
  bool right;
};

constexpr std::size_t kName = 0, kNote = 7, kGap = 2;
constexpr std::array<Column, 8> kColumns = {{{&RunsRow::name, "run", false},
                                             {&RunsRow::state, "state", false},
                                             {&RunsRow::preset, "preset", false},
                                             {&RunsRow::steps, "steps", true},
                                             {&RunsRow::rmse, "RMSE", true},
                                             {&RunsRow::rate, "samples/s", true},
                                             {&RunsRow::bytes, "size", true},
                                             {&RunsRow::note, "note", false}}};
constexpr std::array<std::size_t, 4> kLeftOut = {2, 3, 4, 6};  // first to last
constexpr std::array<std::size_t, 2> kLeast = {36, 12};        // letters of a name, and of a note
using Widths = std::array<std::size_t, kColumns.size()>;       // 0 = the column is left out

std::size_t all_of(const Widths& widths) {
  std::size_t out = 0;
  for (const std::size_t width : widths) out += width > 0 ? width + kGap : 0;
  return out - kGap;
}

Widths widths_of(const std::vector<RunsRow>& rows, std::size_t columns) {
  Widths out{};
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    for (const RunsRow& row : rows) out[i] = std::max(out[i], (row.*kColumns[i].cell).size());
    if (out[i] > 0) out[i] = std::max(out[i], std::string_view(kColumns[i].head).size());
  }
  const std::size_t name = std::min(out[kName], kLeast[0]), note = std::min(out[kNote], kLeast[1]);
  const auto others = [&] { return all_of(out) - out[kName] - out[kNote]; };
  for (const std::size_t column : kLeftOut) {
    if (name + note + others() > columns) out[column] = 0;
  }
  if (all_of(out) <= columns) return out;
  const std::size_t room = columns > others() ? columns - others() : 0;
  out[kName] = std::min(out[kName], room > name + note ? room - note : std::max<std::size_t>(room, 12));
  out[kNote] = std::min(out[kNote], room - std::min(room, out[kName]));
  return out;
}

std::string line_of(const RunsRow& row, const Widths& widths) {
  std::string out;
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    if (widths[i] == 0) continue;
    std::string cell = row.*kColumns[i].cell;
    if (i == kName) cell = printable(cut_in_middle(cell, widths[i]));
    if (i == kNote && cell.size() > widths[i])
      cell = printable(cell, std::max<std::size_t>(widths[i], 4) - 3);
    if (!out.empty()) out.append(kGap, ' ');
    out +=
        kColumns[i].right ? fmt::format("{:>{}}", cell, widths[i]) : fmt::format("{:<{}}", cell, widths[i]);
  }
  return out.substr(0, out.find_last_not_of(' ') + 1);
}

}  // namespace

std::vector<std::string> runs_table(const std::vector<RunsRow>& rows, std::size_t columns) {
  const Widths widths = widths_of(rows, columns);
  RunsRow head;
  for (const Column& column : kColumns) head.*column.cell = column.head;
  std::vector<std::string> out = {line_of(head, widths)};
  for (const RunsRow& row : rows) out.push_back(line_of(row, widths));
  return out;
}

std::string cut_in_middle(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  const std::size_t kept = most - 3, end = kept / 2;
  return text.substr(0, kept - end) + "..." + text.substr(text.size() - end);
}

}  // namespace isobar
