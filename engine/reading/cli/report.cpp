#include "cli/report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "core/text.h"

namespace isobar {

std::size_t text_columns() { return std::clamp<std::size_t>(terminal_columns(), 44, 110) - 4; }

std::size_t table_columns() { return isatty(STDOUT_FILENO) != 0 ? terminal_columns() : kAnyColumns; }

std::string cut_in_middle(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  const std::size_t kept = most - 3, end = kept / 2;
  return text.substr(0, kept - end) + "..." + text.substr(text.size() - end);
}

void Report::rows(const std::string& key, const std::vector<Row>& rows, std::size_t left, std::size_t shown) {
  Table all = table_of(rows, left);
  all.rows.resize(std::min(shown, all.rows.size()));
  table(all, table_columns());
  json[key] = json_of(rows);
}

void Report::lines(const std::vector<std::string>& texts) {
  lines_.insert(lines_.end(), texts.begin(), texts.end());
}

void Report::drawn(const std::vector<std::string>& texts) {
  for (std::size_t i = 0; i < texts.size(); ++i) drawn_.insert(lines_.size() + i);
  lines(texts);
}

void Report::print(Console& console) const {
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    if (drawn_.contains(i)) {
      console.drawn({lines_[i]});
    } else {
      console.line(lines_[i]);
    }
  }
}

namespace {

/// The table with its long cells cut to so many letters.
Table with_cut(Table table, std::size_t most) {
  const std::size_t last = table.cut_to.value_or(table.columns.size());
  for (TableRow& row : table.rows) {
    for (std::size_t c = table.cut.value_or(last); c < std::min(last, row.size()); ++c)
      row[c] = cut_in_middle(row[c], most);
  }
  return table;
}

/// What a table of so many columns has too many of, its long cells cut to `most` letters.
std::size_t beyond(const Table& table, std::size_t most, std::size_t columns) {
  std::size_t width = 0;
  for (const std::string& line : table_lines(with_cut(table, most))) width = std::max(width, line.size());
  return width - std::min(width, columns);
}

/// Columns that are worth least go first, then cells are cut.
Table fitted(Table table, std::size_t columns) {
  while (beyond(table, table.kept, columns) > 0) {
    const auto least = std::ranges::min_element(table.columns, {}, &TableColumn::worth);
    if (least->worth == TableColumn::kAlways) break;
    const auto place = static_cast<std::size_t>(least - table.columns.begin());
    table.columns.erase(least);
    for (TableRow& row : table.rows) {
      if (place < row.size()) row.erase(row.begin() + static_cast<std::ptrdiff_t>(place));
    }
    if (place < table.left) --table.left;
  }
  constexpr std::size_t kLeast = 12;
  std::size_t most = 0;
  for (const TableRow& row : table.rows) {
    for (const std::string& cell : row) most = std::max(most, cell.size());
  }
  for (std::size_t more = 1; most > kLeast && more > 0;) {
    more = beyond(table, most, columns);
    const std::size_t cut = table.cut_to.value_or(table.columns.size()) - table.cut.value_or(0);
    most = std::max(kLeast, most - std::min(most, (more + cut - 1) / cut));
  }
  return with_cut(table, most);
}

}  // namespace

void Report::table(const Table& table, std::size_t columns) {
  if (!table.empty()) lines(table_lines(columns == kAnyColumns ? table : fitted(table, columns)));
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

void Report::labelled(const std::string& text, std::size_t columns) {
  constexpr std::size_t kLabel = 15, kLeast = 20;
  if (text.size() <= std::max(columns, kLabel) || columns < kLabel + kLeast) return line(text);
  wrapped(text.substr(2, kLabel - 2), text.substr(kLabel), columns);
}

void Report::labelled(const std::string& label, const std::string& text) {
  labelled(fmt::format("  {:<13}{}", label, text));
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
  return json_list(left_out.entries(),
                   [](const LeftOut::Entry& one) { return ISOBAR_NAMED(one.count, one.what, one.why); });
}

std::string first_line(const std::string& failure, const std::string& otherwise, std::size_t most) {
  return failure.empty() ? otherwise : printable_line(failure, most);
}

}  // namespace isobar
