#include "record/run_tree.h"

#include <sys/stat.h>

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include "core/text.h"
#include "record/run_folder.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr int kMostDepth = 32;

struct Waiting {
  fs::path path;
  int depth = 0;
};

std::string name_below(const fs::path& place, const fs::path& folder) {
  const fs::path below =
      folder == place ? fs::absolute(place).lexically_normal().filename() : folder.lexically_relative(place);
  return below.empty() ? folder.string() : below.string();
}

/// Remembers folders by what they are, not by their names: links may lead in a circle.
class Entered {
 public:
  bool is_new(const fs::path& folder) {
    struct stat status {};
    return stat(folder.c_str(), &status) == 0 && places_.emplace(status.st_dev, status.st_ino).second;
  }

 private:
  std::set<std::pair<dev_t, ino_t>> places_;
};

}  // namespace

TreeEnd visit_run_tree(const fs::path& place, const std::function<bool(const fs::path&)>& knows,
                       const std::function<void(const FoundFolder&)>& visit) {
  TreeEnd end;
  Entered entered;
  std::size_t looked = 0;
  std::deque<Waiting> waiting = {{place, 0}};
  for (; !waiting.empty(); waiting.pop_front()) {
    const auto [path, depth] = waiting.front();
    FoundFolder found{.path = path, .name = name_below(place, path), .is_run = is_run_folder(path)};
    if (found.is_run) {
      visit(found);
      continue;
    }
    if (!end.whole || !entered.is_new(path)) continue;  // too many names hide no run that is known of
    std::error_code code;
    for (fs::directory_iterator it(path, code), last; !code && it != last; it.increment(code)) {
      end.whole = ++looked <= kMostEntries;
      if (!end.whole) break;
      const std::string name = it->path().filename().string();
      found.has_events = found.has_events || name.find("tfevents") != std::string::npos;
      std::error_code broken;
      if (name.front() == '.' || depth == kMostDepth || !it->is_directory(broken) || broken) continue;
      if (!knows(it->path())) waiting.push_back({it->path(), depth + 1});
    }
    if (depth == 0) end.code = code;
    visit(found);
  }
  return end;
}

std::vector<FoundFolder> folders_with(const fs::path& place, const std::string& file) {
  std::vector<std::pair<fs::file_time_type, FoundFolder>> found;
  visit_run_tree(
      place, [](const fs::path&) { return false; },
      [&](const FoundFolder& folder) {
        std::error_code missing;
        const fs::file_time_type time = fs::last_write_time(folder.path / file, missing);
        if (!missing) found.emplace_back(time, folder);
      });
  std::sort(found.begin(), found.end(), [](const auto& one, const auto& other) {
    return std::pair(one.first, one.second.path) < std::pair(other.first, other.second.path);
  });
  std::vector<FoundFolder> out;
  for (auto& [time, folder] : found) out.push_back(std::move(folder));
  return out;
}

std::vector<FoundFolder> event_folders(const fs::path& place) {
  std::vector<FoundFolder> out;
  visit_run_tree(
      place, [](const fs::path&) { return false; },
      [&](const FoundFolder& folder) {
        if (folder.has_events && !folder.is_run) out.push_back(folder);
      });
  std::sort(out.begin(), out.end(), [](const auto& one, const auto& other) { return one.path < other.path; });
  return out;
}

}  // namespace isobar
