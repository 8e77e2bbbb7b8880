#pragma once
// A table for a person, which terminal, page and window lay out.
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace isobar {

using TableRow = std::vector<std::string>;

struct TableColumn {
  static constexpr int kAlways = std::numeric_limits<int>::max();
  std::string head;
  int worth;  ///< where there is no room, the columns that are worth least go first

  TableColumn(std::string words, int worth_of = kAlways) : head(std::move(words)), worth(worth_of) {}
  TableColumn(const char* words, int worth_of = kAlways) : head(words), worth(worth_of) {}
};

struct Table {
  std::string caption = "";  ///< of a page
  std::vector<TableColumn> columns = {};
  std::size_t left = 1;  ///< columns of words: they are aligned to the left
  std::optional<std::size_t> cut =
      {};  ///< cells from this column on, as far as `cut_to`, are cut where there is no room
  std::optional<std::size_t> cut_to = {};
  std::size_t kept = std::numeric_limits<std::size_t>::max();  ///< letters of those, while others can go
  bool words_last = false;                                     ///< the last column is of words too
  std::vector<TableRow> rows = {};                             ///< a cell a column

  bool empty() const { return rows.empty(); }
  void add(TableRow cells) { rows.push_back(std::move(cells)); }
};

/// Rows with their heads first.
std::vector<TableRow> lines_of(const Table& table);

}  // namespace isobar
