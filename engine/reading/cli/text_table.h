#pragma once
#include <string>
#include <vector>

namespace isobar {

using TableRow = std::vector<std::string>;

/// Prints rows in columns that line up, right-aligned; the first row has as many cells as there are columns.
/// A row with fewer is printed as it is.
void print_table(const std::vector<TableRow>& rows);

/// A sentence over lines of so many columns; those behind the first are indented.
void print_wrapped(const std::string& text, std::size_t columns);

/// Microseconds as milliseconds, "-" for a negative time.
std::string milliseconds(double time_us);

}  // namespace isobar
