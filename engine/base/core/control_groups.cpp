#include "core/control_groups.h"

#include <algorithm>
#include <fstream>
#include <optional>

#include "core/text.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

struct Place {
  fs::path mount;
  std::string below;  ///< "/a/b"
};

/// Version 1 counts where the controller is bound to it, else version 2.
std::optional<Place> place_of(const std::string& controller, const fs::path& root) {
  const fs::path base = root / "sys/fs/cgroup";
  std::error_code code;
  std::optional<Place> out;
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {  // "4:cpu,cpuacct:/path", "0::/path"
    const std::size_t list_at = line.find(':');
    const std::size_t path_at = list_at == std::string::npos ? list_at : line.find(':', list_at + 1);
    if (path_at == std::string::npos) continue;
    const std::string list = line.substr(list_at + 1, path_at - list_at - 1);
    const std::string path = line.substr(path_at + 1);
    const std::vector<std::string> controllers = split(list, ',');
    if (std::find(controllers.begin(), controllers.end(), controller) != controllers.end())
      return Place{fs::is_directory(base / controller, code) ? base / controller : base / list, path};
    if (list.empty()) out = {fs::exists(base / "cgroup.controllers", code) ? base : base / "unified", path};
  }
  return out;
}

}  // namespace

std::vector<fs::path> control_groups(const std::string& controller, const fs::path& root) {
  const std::optional<Place> place = place_of(controller, root);
  if (!place) return {};
  const std::string mount = place->mount.string();
  std::string below = place->below;
  while (below.rfind("/..", 0) == 0) below.erase(0, 3);  // the path of a group beside those of the container
  std::error_code code;
  while (!below.empty() && !fs::is_directory(mount + below, code))
    below.erase(0, std::min(below.find('/', 1), below.size()));
  if (below == "/") below.clear();
  std::vector<fs::path> out;
  for (; !below.empty(); below.erase(below.rfind('/'))) out.emplace_back(mount + below);
  out.push_back(place->mount);
  return out;
}

}  // namespace isobar
