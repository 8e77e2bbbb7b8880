#pragma once
// The Python programs that a bench compares with, and the environment they run in.
#include <filesystem>
#include <string>
#include <vector>

namespace isobar {

/// The folder of the peers' Python packages: $ISOBAR_PEERS, which holds torch/, else the one that
/// `./isobar bench` makes; "" when it is not there or not complete.
std::filesystem::path peers_folder();

/// The same, or an Error (exit code 2) that says how to get it.
std::filesystem::path require_peers(const std::string& bench);

/// The command of the peer program tests/bench/peers/`name` ($ISOBAR_PYTHON, else python3), and the
/// environment it needs.
std::vector<std::string> peer_words(const std::string& name);
std::vector<std::string> peer_environment(const std::filesystem::path& peers);

}  // namespace isobar
