#pragma once
// The output of a command about runs, put together once: text for a person, one JSON object for a program.
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "core/json.h"
#include "log/table.h"
#include "record/console.h"
#include "record/left_out.h"

namespace isobar {

/// Nothing is cut or left out for it: what is no terminal reads all of it.
inline constexpr std::size_t kAnyColumns = std::numeric_limits<std::size_t>::max();

/// Columns of a sentence on this terminal, its indent left out: what fits, and no more than reads well.
std::size_t text_columns();

/// Columns of a table: what fits on a terminal; what is none reads all of it (kAnyColumns).
std::size_t table_columns();

/// `text` in at most `most` (3 or more) letters: "NN_n...-3f2a".
std::string cut_in_middle(const std::string& text, std::size_t most);

class Report {
 public:
  Json json = Json::object();

  void line(const std::string& text) { lines_.push_back(text); }
  void lines(const std::vector<std::string>& texts);
  /// Lines of a drawing (drawing_lines), with its colours.
  void drawn(const std::vector<std::string>& texts);
  /// Nothing of an empty one. Where it takes more than `columns` letters a line, the columns that are worth
  /// least are left out, then cells are cut in their middle.
  void table(const Table& table, std::size_t columns = kAnyColumns);
  /// The first rows as a table that fits this terminal, and all as an array of their objects in `json`.
  void rows(const std::string& key, const std::vector<Row>& rows, std::size_t left = 1,
            std::size_t shown = std::numeric_limits<std::size_t>::max());
  /// A sentence over lines of so many columns; those behind the first are indented.
  void wrapped(const std::string& sentence, std::size_t columns = text_columns());
  /// A sentence behind `head` of a column of heads; lines behind the first begin where the sentence did.
  void wrapped(const std::string& head, const std::string& sentence, std::size_t columns = text_columns());
  /// A sentence behind a word of a column of heads, "verdict    "; nothing where there is no sentence.
  void headed(std::string_view head, const std::string& sentence, std::size_t columns = text_columns());

  /// A line of a summary, "  throughput   150.0 samples/s ...": on a terminal that is too narrow over
  /// several, which are indented as far as its text; elsewhere one line, to be searched.
  void labelled(const std::string& line, std::size_t columns = table_columns());
  void labelled(const std::string& label, const std::string& text);

  const std::vector<std::string>& texts() const { return lines_; }
  void print(bool as_json) const;
  /// Prints the text behind what the console printed.
  void print(Console& console) const;

 private:
  std::vector<std::string> lines_;
  std::set<std::size_t> drawn_;  ///< indices of lines
};

/// A figure that is above 0 where it is known.
Json number_or_null(double value);
/// [{"count", "what", "why"}, ...]
Json left_out_json(const LeftOut& left_out);

/// The first line of a failed run's error, or `otherwise`.
std::string first_line(const std::string& failure, const std::string& otherwise, std::size_t most = 60);

}  // namespace isobar
