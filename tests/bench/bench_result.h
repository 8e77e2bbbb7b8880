#pragma once
// What a benchmark found, as a table and as JSON with the machine it ran on.
#include <filesystem>
#include <string>
#include <vector>

namespace isobar {

struct BenchRow {
  std::string name;
  std::string unit;
  std::vector<double> values;  ///< one a repeat
  double limit = 0;            ///< what is asked for, in the same unit; 0 = nothing
};

/// Sorted middle of the values; 0 for none.
double median(std::vector<double> values);

/// Prints a row with its median, least and greatest value, and the limit.
void print_row(const BenchRow& row);

/// {"bench", "commit", "machine": {...}, "rows": [{"case", "unit", "ours", "least", "most", "repeats",
/// "limit"}]}
void write_result(const std::filesystem::path& file, const std::string& bench,
                  const std::vector<BenchRow>& rows);

}  // namespace isobar
