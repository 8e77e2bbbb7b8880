#pragma once
#include <string>
#include <vector>

namespace isobar {

/// `scale LESSON --ranks 1,2,4 [options]`: the same training on more and more ranks, as a table and a
/// picture.
int scale_command(const std::vector<std::string>& arguments);

}  // namespace isobar
