#pragma once
// Small tables of measured numbers that lie beside a lesson: comma-separated, a note of what was measured
// above them.
#include <filesystem>
#include <string>
#include <vector>

namespace isobar {

struct NumberTable {
  std::string note;  ///< first line, "# " left out: what was measured, where and when
  std::vector<std::string> columns;
  std::vector<std::vector<double>> rows;  ///< each with a number for every column

  /// Error (exit code 2) for a column that there is not.
  std::size_t column(const std::string& name) const;
};

/// Error (exit code 2, FILE:LINE) for a file that is none: no note, no columns, a row of another length,
/// something that is no finite number.
NumberTable read_number_table(const std::filesystem::path& file);

}  // namespace isobar
