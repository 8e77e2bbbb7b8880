#include "log/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/find.h"
#include "core/text.h"

namespace isobar {

std::string value_text(Quantity quantity, double value) {
  using enum Quantity;
  switch (quantity) {
    case time:
      return fmt::format("{:.{}f}", value * 1e-3, value >= 100 || value == 0 ? 2 : 4);
    case bytes:
      return human_bytes(static_cast<std::uint64_t>(value));
    case byte_rate:
      return human_bytes(static_cast<std::uint64_t>(value)) + "/s";
    case rate:
      return fmt::format("{:.{}f}", value, value >= 1000 ? 0 : 1);
    case share:
      return fmt::format("{:.1f} %", 100 * value);
    case ratio:
      return fmt::format("{:.2f}", value);
    case learning_rate:
      return fmt::format("{:.3g}", value);
    case score:
      return fmt::format("{:.4f}", value);
    case count:
      break;
  }
  return value == std::round(value) ? human_count(std::llround(value)) : fmt::format("{:.6g}", value);
}

std::string value_text(Quantity quantity, std::optional<double> value) {
  return value ? value_text(quantity, *value) : "-";
}

std::string range_text(Quantity quantity, double middle, double least, double most) {
  return fmt::format("{} ({} to {})", value_text(quantity, middle), value_text(quantity, least),
                     value_text(quantity, most));
}

std::vector<std::string> table_lines(const Table& table) {
  if (table.empty() && table.columns.empty()) return {};
  std::vector<TableRow> rows = table.rows;
  if (!table.columns.empty()) rows.insert(rows.begin(), TableRow());
  for (const TableColumn& column : table.columns) rows.front().push_back(column.head);
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const TableRow& row : rows) {
    // A row that ends early does not count.
    for (std::size_t c = 0; row.size() == widths.size() && c < row.size(); ++c)
      widths[c] = std::max(widths[c], row[c].size());
  }
  std::vector<std::string> out;
  for (const TableRow& row : rows) {
    std::string line = table.left == 0 ? " " : "";
    for (std::size_t c = 0; c < row.size(); ++c) {
      const bool is_words = c < table.left || (table.words_last && c + 1 == row.size());
      line += is_words ? fmt::format("  {:<{}}", row[c], widths[c])
                       : fmt::format(" {:>{}}", row[c], widths[c] + (widths[c] > 1));  // a mark stands close
    }
    out.push_back(line.substr(0, line.find_last_not_of(' ') + 1));
  }
  return out;
}

Row& Row::cell(const TableColumn& column, const std::string& text) {
  cells_.emplace_back(column, text);
  return *this;
}

Row& Row::add(const std::string& key, const TableColumn& column, const std::string& text, const Json& value) {
  json[key] = value;
  return cell(column, text);
}

Row& Row::add(const std::string& key, const TableColumn& column, Quantity quantity,
              std::optional<double> value) {
  return add(key, column, value_text(quantity, value), value);
}

Row& Row::end(const std::string& why) {
  cells_.back().second += "  " + why;
  has_ended_ = true;
  return *this;
}

Table table_of(const std::vector<Row>& rows, std::size_t left) {
  Table out = {.left = left};
  const auto cell_of = [](const Row& row, const std::string& head) {
    const auto* const found =
        find_where(row.cells_, [&](const auto& cell) { return cell.first.head == head; });
    return found == nullptr ? "-" : found->second;
  };
  for (const Row& row : rows) {
    for (const auto& [column, text] : row.cells_) {
      if (find_by(out.columns, &TableColumn::head, column.head) == nullptr) out.columns.push_back(column);
    }
  }
  std::erase_if(out.columns, [&](const TableColumn& column) {
    return std::ranges::all_of(rows, [&](const Row& row) { return cell_of(row, column.head) == "-"; });
  });
  for (const Row& row : rows) {
    out.add({});
    for (const TableColumn& column : out.columns) {
      out.rows.back().push_back(cell_of(row, column.head));
      if (row.has_ended_ && column.head == row.cells_.back().first.head) break;
    }
  }
  return out;
}

}  // namespace isobar
