#pragma once
#include <string>
#include <vector>

namespace isobar {

using TableRow = std::vector<std::string>;

/// Prints rows in columns that line up, right-aligned; the first row has as many cells as there are columns.
/// A row with fewer is printed as it is.
void print_table(const std::vector<TableRow>& rows);

}  // namespace isobar
