#pragma once
#include <string>
#include <vector>

namespace isobar {

/// `sweep LESSON key=a,b,c [key2=...] [options]`: every combination, measured in turn, and which is best.
int sweep_command(const std::vector<std::string>& arguments);

}  // namespace isobar
