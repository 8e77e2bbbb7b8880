#pragma once
// What a command says of runs, put together once: text for a person, one JSON object for a program.
#include <string>
#include <vector>

#include "analyse/table.h"
#include "cli/runs_table.h"
#include "core/json.h"
#include "record/console.h"
#include "record/left_out.h"

namespace isobar {

/// Columns of a sentence on this terminal, its indent left out: what fits, and no more than reads well.
std::size_t text_columns();

/// Columns of a table: what fits on a terminal; what is none reads all of it (kAnyColumns).
std::size_t table_columns();
/// What Report::table takes of them.
std::size_t table_width(const std::vector<TableRow>& rows, std::size_t left);

/// A line that begins with a label of 15 letters, over as many lines of `columns` as it takes.
std::vector<std::string> hung(const std::string& line, std::size_t columns);

class Report {
 public:
  Json json = Json::object();

  void line(const std::string& text) { lines_.push_back(text); }
  void lines(const std::vector<std::string>& texts);
  /// Rows in columns that line up, right-aligned but for the first `left`; the first row has as many cells as
  /// there are columns.
  void table(const std::vector<TableRow>& rows, std::size_t left = 0);
  /// Nothing of an empty one. Where it takes more than `columns` letters a line, the columns that are worth
  /// least are left out, then cells are cut in their middle.
  void table(const Table& table, std::size_t columns = kAnyColumns);
  /// A sentence over lines of so many columns; those behind the first are indented.
  void wrapped(const std::string& sentence, std::size_t columns = text_columns());
  /// The same behind `head` of a column of heads; lines behind the first begin where the sentence did.
  void wrapped(const std::string& head, const std::string& sentence, std::size_t columns);
  /// The same behind a word of a column of heads, "verdict    "; nothing where there is no sentence.
  void headed(std::string_view head, const std::string& sentence, std::size_t columns);

  /// A line of a summary, "  throughput   150.0 samples/s ...": on a terminal that is too narrow over
  /// several, which are indented as far as what it says; elsewhere one line, to be searched.
  void labelled(const std::string& line);

  const std::vector<std::string>& texts() const { return lines_; }
  void print(bool as_json) const;
  /// The text, behind what the console said.
  void print(Console& console) const { console.lines(lines_); }

 private:
  std::vector<std::string> lines_;
};

/// A figure that is above 0 where it is known.
Json number_or_null(double value);
/// [{"count", "what", "why"}, ...]
Json left_out_json(const LeftOut& left_out);

/// Microseconds as milliseconds, "-" for a negative time.
std::string milliseconds(double time_us);

/// What a run that failed said first, or `otherwise`.
std::string first_line(const std::string& failure, const std::string& otherwise, std::size_t most = 60);

}  // namespace isobar
