#pragma once
// Figures that a run reports of itself: one row each (figure.cpp), from which the tables of compare, report,
// sweep and the window, JSON and questions take them.
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/steady.h"
#include "core/json.h"
#include "log/table.h"

namespace isobar {

/// The median of several values with the least and the most, of one the value; "-" of none.
std::string spread_text(Quantity quantity, const Spread& values);

enum class Better { more, less, neither };

/// How a figure comes about.
enum class Made {
  timed,    ///< other programs on the machine change it
  counted,  ///< repeats of a run report the same, or nearly
  planned   ///< by formula, before the first step
};

/// The tables of which a figure is a column.
enum class FigureTable {
  runs,  ///< in tables of runs side by side, where one of them reports it
  comm,  ///< in tables of communication costs
  none   ///< asked for by its name only
};

struct Figure {
  const char* name;  ///< "samples_per_s": in JSON and in questions
  const char* head;  ///< "samples/s": above a column
  Quantity quantity;
  Better better;
  FigureTable column;
  int worth;  ///< columns with the least worth leave a table that is too wide first
  Made made;
  /// Nothing where the run does not report it.
  std::optional<double> (*of)(const SteadyFigures& run);
  const char* asked_by = "";  ///< the key that makes a run report it, where not every run does
};

std::span<const Figure> all_figures();
/// Null where there is none.
const Figure* figure_named(std::string_view name);
std::vector<const Figure*> figures_in(FigureTable column);

/// Whether ranks of it talked to each other.
bool has_comm(const Repeats& repeats);

/// Values of the repeats that report it.
Spread values_of(const Figure& figure, const Repeats& repeats);
/// The figures of a table that a run reports; the first is always there.
std::vector<const Figure*> reported_in(FigureTable column, const std::vector<const Repeats*>& runs);

/// The figure of a case: the median of its repeats, the most of bytes, which must fit.
double middle_of(const Figure& figure, const Spread& values);
/// Its text, of a rate with the least and the most, "242.6 (237.1 to 245.0)"; "-" where it is not known.
std::string figure_cell(const Figure& figure, const Repeats& repeats);
/// Its value, of a rate {"median", "min", "max"}; null where it is not known.
Json figure_json(const Figure& figure, const Repeats& repeats);
/// Both under its name and head.
void add_to(Row& row, const Figure& figure, const Repeats& repeats);
/// Each figure of a table, by its name.
void add_figures(Json& out, FigureTable column, const Repeats& repeats);

/// Adds direction, repeats_needed, and where they are known ratio, low and high; with few repeats
/// `of_few_repeats` in place of low and high.
void add_to(Json& out, const Compared& compared);

}  // namespace isobar
