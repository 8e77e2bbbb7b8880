#include "cli/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "analyse/wrapped.h"

namespace isobar {

void print_table(const std::vector<TableRow>& rows) {
  const std::size_t columns = rows.front().size();
  std::vector<std::size_t> widths(columns, 0);
  for (const TableRow& row : rows) {
    for (std::size_t c = 0; row.size() == columns && c < columns; ++c)
      widths[c] = std::max(widths[c], row[c].size());
  }
  for (const TableRow& row : rows) {
    std::string line = " ";
    for (std::size_t c = 0; c < row.size(); ++c)
      line += fmt::format(" {:>{}}", row[c], widths[c] + (widths[c] > 1));
    std::puts(line.substr(0, line.find_last_not_of(' ') + 1).c_str());
  }
}

void print_wrapped(const std::string& text, std::size_t columns) {
  const char* indent = "  ";
  for (const std::string& line : wrapped(text, columns)) {
    std::puts((indent + line).c_str());
    indent = "    ";
  }
}

std::string milliseconds(double time_us) { return time_us < 0 ? "-" : fmt::format("{:.2f}", time_us * 1e-3); }

}  // namespace isobar
