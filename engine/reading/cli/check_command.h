#pragma once
#include <string>
#include <vector>

namespace isobar {

/// `data check DIR [--quick]`: looks at any data set in the tutorial's layout: files that open, shapes that
/// agree, values that are finite, statistics that fit. 0 when all is well, 2 when something is not; each
/// finding is a line.
int check_data(const std::vector<std::string>& arguments);

}  // namespace isobar
