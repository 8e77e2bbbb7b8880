#include "cli/report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "cli/runs_table.h"
#include "core/text.h"

namespace isobar {

std::vector<std::string> hung(const std::string& line, std::size_t columns) {
  constexpr std::size_t kLabel = 15, kLeast = 20;
  if (line.size() <= columns || line.size() <= kLabel || columns < kLabel + kLeast) return {line};
  std::vector<std::string> out;
  for (const std::string& part : isobar::wrapped(line.substr(kLabel), columns - kLabel))
    out.push_back((out.empty() ? line.substr(0, kLabel) : std::string(kLabel, ' ')) + part);
  return out;
}

std::size_t text_columns() { return std::clamp<std::size_t>(terminal_columns(), 44, 110) - 4; }

std::size_t table_columns() { return isatty(STDOUT_FILENO) != 0 ? terminal_columns() : kAnyColumns; }

void Report::lines(const std::vector<std::string>& texts) {
  lines_.insert(lines_.end(), texts.begin(), texts.end());
}

namespace {

/// Widest cell of each column; rows of another number of cells, such as rules, do not count.
std::vector<std::size_t> widths_of(const std::vector<TableRow>& rows) {
  std::vector<std::size_t> out(rows.front().size(), 0);
  for (const TableRow& row : rows) {
    for (std::size_t c = 0; row.size() == out.size() && c < row.size(); ++c)
      out[c] = std::max(out[c], row[c].size());
  }
  return out;
}

std::string table_line(const TableRow& row, const std::vector<std::size_t>& widths, std::size_t left) {
  std::string out = left == 0 ? " " : "";
  for (std::size_t c = 0; c < row.size(); ++c) {
    out += c < left ? fmt::format("  {:<{}}", row[c], widths[c])
                    : fmt::format(" {:>{}}", row[c], widths[c] + (widths[c] > 1));  // a mark stands close
  }
  return out.substr(0, out.find_last_not_of(' ') + 1);
}

}  // namespace

namespace {

std::size_t width_of(const Table& table) { return table_width(lines_of(table), table.left); }

void leave_out_columns(Table& table, std::size_t columns) {
  while (width_of(table) > columns) {
    const auto least = std::ranges::min_element(table.columns, {}, &TableColumn::worth);
    if (least->worth == TableColumn::kAlways) return;
    const auto place = least - table.columns.begin();
    table.columns.erase(least);
    for (TableRow& row : table.rows) row.erase(row.begin() + place);
    if (static_cast<std::size_t>(place) < table.left) --table.left;
  }
}

void cut_cells(Table& table, std::size_t columns) {
  constexpr std::size_t kLeast = 12;
  const std::size_t first = table.cut.value_or(table.columns.size());
  const std::size_t last = std::min(table.cut_to.value_or(table.columns.size()), table.columns.size());
  std::size_t most = 0;
  for (const TableRow& row : table.rows) {
    for (std::size_t c = first; c < last; ++c) most = std::max(most, row[c].size());
  }
  for (std::size_t width = width_of(table); width > columns && most > kLeast; width = width_of(table)) {
    most =
        std::max(kLeast, most - std::max<std::size_t>(1, std::min(most, (width - columns) / (last - first))));
    for (TableRow& row : table.rows) {
      for (std::size_t c = first; c < last; ++c) row[c] = cut_in_middle(row[c], most);
    }
  }
}

}  // namespace

void Report::table(const Table& table, std::size_t columns) {
  if (table.empty()) return;
  Table fitted = table;
  leave_out_columns(fitted, columns);
  cut_cells(fitted, columns);
  this->table(lines_of(fitted), fitted.left);
}

void Report::table(const std::vector<TableRow>& rows, std::size_t left) {
  const std::vector<std::size_t> widths = widths_of(rows);
  for (const TableRow& row : rows) line(table_line(row, widths, left));
}

std::size_t table_width(const std::vector<TableRow>& rows, std::size_t left) {
  const std::vector<std::size_t> widths = widths_of(rows);
  std::size_t out = 0;
  for (const TableRow& row : rows) out = std::max(out, table_line(row, widths, left).size());
  return out;
}

void Report::wrapped(const std::string& sentence, std::size_t columns) {
  const char* indent = "  ";
  for (const std::string& part : isobar::wrapped(sentence, columns)) {
    line(indent + part);
    indent = "    ";
  }
}

void Report::wrapped(const std::string& head, const std::string& sentence, std::size_t columns) {
  std::string before = "  " + head;
  for (const std::string& part : isobar::wrapped(sentence, columns - std::min(columns, before.size()))) {
    line(before + part);
    before.assign(before.size(), ' ');
  }
}

void Report::headed(std::string_view head, const std::string& sentence, std::size_t columns) {
  constexpr std::size_t kHead = 11;
  if (sentence.empty()) return;
  std::string before(head);
  before.resize(std::max(kHead, before.size()), ' ');
  wrapped(before, sentence, columns);
}

void Report::labelled(const std::string& line) {
  for (const std::string& part :
       hung(line, isatty(STDOUT_FILENO) != 0 ? terminal_columns() : std::string::npos))
    lines_.push_back(part);
}

void Report::print(bool as_json) const {
  if (as_json) {
    std::puts(json.text().c_str());
  } else {
    Console console;
    print(console);
  }
}

Json number_or_null(double value) { return value > 0 ? Json(value) : Json(); }

Json left_out_json(const LeftOut& left_out) {
  Json out = Json::array();
  for (const LeftOut::Entry& one : left_out.entries())
    out.push_back({{"count", one.count}, {"what", one.what}, {"why", one.why}});
  return out;
}

std::string milliseconds(double time_us) { return time_us < 0 ? "-" : fmt::format("{:.2f}", time_us * 1e-3); }

std::string first_line(const std::string& failure, const std::string& otherwise, std::size_t most) {
  return failure.empty() ? otherwise : printable(failure.substr(0, failure.find('\n')), most);
}

}  // namespace isobar
