#pragma once
#include <string>
#include <vector>

namespace isobar {

/// `ladder [--repeats R] [--preset P] [--steps N] [--set key=value]... [--lessons a,b] [--json]`: trains
/// every lesson that this machine can run, in turn and repeatedly, and says how they compare. `ladder
/// --list`: the lessons in order.
int ladder_command(const std::vector<std::string>& words);

}  // namespace isobar
