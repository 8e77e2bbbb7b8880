#include "bench/peers.h"

#include <cstdlib>

#include "core/error.h"
#include "core/files.h"

namespace isobar {

namespace fs = std::filesystem;

fs::path peers_folder() {
  const char* named = std::getenv("ISOBAR_PEERS");
  const bool is_named = named != nullptr && *named != '\0';
  const fs::path folder = is_named ? fs::path(named) : cache_prefix() / "peers-2.11.0";
  return fs::exists(folder / (is_named ? "torch" : ".complete")) ? folder : fs::path();
}

fs::path require_peers(const std::string& bench) {
  fs::path folder = peers_folder();
  if (folder.empty()) {
    throw Error("the Python packages to compare with are not here",
                (cache_prefix() / "peers-2.11.0").string(), "./isobar bench " + bench + " brings them");
  }
  return folder;
}

std::vector<std::string> peer_words(const std::string& name) {
  const char* other = std::getenv("ISOBAR_PYTHON");
  return {other != nullptr && *other != '\0' ? other : "python3", "-s",
          (project_home() / "tests/bench/peers" / name).string()};
}

std::vector<std::string> peer_environment(const fs::path& peers) {
  std::vector<std::string> out = {"PYTHONPATH=" + peers.string(), "PYTHONDONTWRITEBYTECODE=1"};
  // A bundle's own libraries come first for its programs (submit/bundle_run.sh), and are not a Python's.
  if (const char* const before = std::getenv("ISOBAR_LIBRARY_PATH_BEFORE"))
    out.push_back(std::string("LD_LIBRARY_PATH=") + before);
  return out;
}

}  // namespace isobar
