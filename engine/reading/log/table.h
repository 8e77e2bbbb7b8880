#pragma once
// A table for a person, which terminal, page and window lay out; and rows of values, which a program reads
// too.
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"

namespace isobar {

/// What a value is of, and the unit that it is kept in.
enum class Quantity {
  time,           ///< us
  bytes,          ///< bytes
  byte_rate,      ///< bytes/s
  rate,           ///< samples/s
  share,          ///< part of 1
  ratio,          ///< one value over another
  learning_rate,  ///< the optimiser's
  score,          ///< a loss, or an error of normalised fields
  count           ///< a number of things
};

/// In a cell of a table, whose head names the unit: "12.34" (ms) of a time, "242.6" of a rate, "39.8 %" of a
/// share, "1.2 GB", "0.2481", "1,024".
std::string value_text(Quantity quantity, double value);
/// "-" where it is not known.
std::string value_text(Quantity quantity, std::optional<double> value);
/// "242.6 (237.1 to 245.0)".
std::string range_text(Quantity quantity, double middle, double least, double most);

using TableRow = std::vector<std::string>;

struct TableColumn {
  static constexpr int kAlways = std::numeric_limits<int>::max();
  std::string head;
  int worth;  ///< where there is no room, the columns that are worth least go first

  TableColumn(std::string words, int worth_of = kAlways) : head(std::move(words)), worth(worth_of) {}
  TableColumn(const char* words, int worth_of = kAlways) : head(words), worth(worth_of) {}
};

struct Table {
  std::string caption = "";  ///< caption on a page
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

/// Its lines for a terminal, with cells that line up, behind one of heads where it has columns.
std::vector<std::string> table_lines(const Table& table);

/// A row of values, given once: the cells that a person reads, and the members of an object for a program.
class Row {
 public:
  Json json = Json::object();

  /// Printed only.
  Row& cell(const TableColumn& column, const std::string& text);
  Row& add(const std::string& key, const TableColumn& column, const std::string& text, const Json& value);
  /// "-" and null where it is not known.
  Row& add(const std::string& key, const TableColumn& column, Quantity quantity, std::optional<double> value);
  /// The row ends here with why there is no more of it.
  Row& end(const std::string& why);

 private:
  friend Table table_of(const std::vector<Row>& rows, std::size_t left);
  std::vector<std::pair<TableColumn, std::string>> cells_;
  bool has_ended_ = false;
};

/// Rows by the heads of their columns, as the rows name them first. A column in which no row has a value is
/// left out.
Table table_of(const std::vector<Row>& rows, std::size_t left = 1);

/// An array of what `make` makes of each.
template <class Range, class Make>
Json json_list(const Range& range, Make make) {
  Json out = Json::array();
  for (const auto& one : range) out.push_back(std::invoke(make, one));
  return out;
}

inline Json json_of(const std::vector<Row>& rows) { return json_list(rows, &Row::json); }

}  // namespace isobar
