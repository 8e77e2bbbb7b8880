#pragma once
// metrics.csv of Lightning's CSV logger: a line a call of `log`, most of its cells empty. Values only: it has
// no times.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record/left_out.h"

namespace isobar {

struct MetricsRow {
  std::int64_t step = 0;  ///< from 0
  std::optional<std::int64_t> epoch;
  std::vector<std::optional<double>> values;  ///< one a column
};

struct MetricsTable {
  std::vector<std::string> columns;  ///< beside step and epoch
  std::vector<MetricsRow> rows;
  LeftOut left_out;  ///< cells of words, and a last line without its end

  /// Columns that are not there have none.
  std::optional<std::size_t> column(std::string_view name) const;
};

/// Words in a cell that are no number ("nan" is one) make it empty; a last line without its end is still
/// being written and left out. Error (exit code 2, FILE:LINE) for a text without one column `step`, a row of
/// another number of cells, a step that is none, an open quotation mark, more than 512 columns or 2,000,000
/// rows.
MetricsTable parse_metrics_csv(std::string_view text, const std::string& name);

/// At most 256 MiB.
MetricsTable read_metrics_csv(const std::filesystem::path& file);

}  // namespace isobar
