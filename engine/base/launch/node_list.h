#pragma once
// The hosts of a Slurm node list, without asking Slurm and without a shell.
#include <string>
#include <string_view>
#include <vector>

namespace isobar {

/// "n[001-003,007],login1" -> n001, n002, n003, n007, login1: brackets hold numbers and ranges, zeros in
/// front of the first number of a range are kept, a name may have several brackets, and the last varies
/// fastest. Hosts are letters, digits, '.', '_' and '-', at most 253 of them, not '-' first; at most 100,000
/// hosts. Error (exit code 2) that names `where` (the variable) for anything else.
std::vector<std::string> expand_node_list(std::string_view text, const std::string& where);

}  // namespace isobar
