#pragma once
// Which processors threads may run on.
#include <string>
#include <vector>

namespace isobar {

/// "none" -> empty; "0-3,8" -> 0, 1, 2, 3, 8, each once. Error (exit code 2) naming data.cpu_affinity for
/// anything else, and for a processor that this process may not use.
std::vector<int> parse_affinity(const std::string& text);

/// Keeps the calling thread on these processors; empty = changes nothing.
void run_on(const std::vector<int>& cpus);

}  // namespace isobar
