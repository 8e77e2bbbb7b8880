#include "record/run_tree.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include "core/error.h"
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

/// Whether a link leads to a folder that holds `place`.
bool leads_up(const fs::path& link, const fs::path& place) {
  std::error_code code;
  const fs::path target = fs::canonical(link, code), whole = fs::canonical(place, code);
  return !code && target != whole &&
         std::mismatch(target.begin(), target.end(), whole.begin(), whole.end()).first == target.end();
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
  bool whole = true;
  std::deque<Waiting> waiting = {{place, 0}};
  for (; !waiting.empty(); waiting.pop_front()) {
    const auto [path, depth] = waiting.front();
    FoundFolder found{.path = path, .name = name_below(place, path), .is_run = is_run_folder(path)};
    if (found.is_run) {
      visit(found);
      continue;
    }
    if (!entered.is_new(path)) continue;
    if (!whole) {  // too many names hide no run that is known of
      end.left_out.add("folder", fmt::format("{} names were looked at before it", kMostEntries));
      continue;
    }
    std::error_code code;
    for (fs::directory_iterator it(path, code), last; !code && it != last; it.increment(code)) {
      whole = ++looked <= kMostEntries;
      if (!whole) {
        end.left_out.add("folder", fmt::format("{} names were looked at before its end", kMostEntries));
        break;
      }
      const std::string name = it->path().filename().string();
      std::error_code broken;
      const bool is_folder = it->is_directory(broken) && !broken;
      found.has_events = found.has_events || (!is_folder && name.find("tfevents") != std::string::npos);
      if (name.front() == '.' || !is_folder || knows(it->path())) continue;
      if (depth == kMostDepth) {
        end.left_out.add("folder", fmt::format("it lies more than {} deep", kMostDepth));
      } else if (it->is_symlink(broken) && leads_up(it->path(), place)) {
        end.left_out.add("folder", "a link leads to it, and it holds the place that is looked at");
      } else {
        waiting.push_back({it->path(), depth + 1});
      }
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

std::vector<FoundFolder> event_folders(const fs::path& place, LeftOut* left_out) {
  std::vector<FoundFolder> out;
  const TreeEnd end = visit_run_tree(
      place, [](const fs::path&) { return false; },
      [&](const FoundFolder& folder) {
        if (folder.has_events && !folder.is_run) out.push_back(folder);
      });
  if (left_out != nullptr) left_out->add(end.left_out);
  std::sort(out.begin(), out.end(), [](const auto& one, const auto& other) { return one.path < other.path; });
  return out;
}

std::vector<FoundFolder> list_runs(const fs::path& runs) {
  return folders_with(runs, RunFolder{}.config_file().string());
}

fs::path find_run(const std::string& name, const fs::path& runs) {
  const std::vector<FoundFolder> all = list_runs(runs);
  if (name == "last" && !all.empty()) return all.back().path;
  if (fs::is_directory(name)) return name;
  std::vector<std::string> names, ends;
  std::vector<fs::path> ending;
  for (const FoundFolder& found : all) {
    if (found.name == name) return found.path;
    names.push_back(found.name);
    if (found.path.filename() != name) continue;
    ends.push_back(printable(found.name));
    ending.push_back(found.path);
  }
  if (ending.size() == 1) return ending.front();
  if (std::error_code code; ending.empty() && !name.empty() && fs::is_directory(runs / name, code))
    return runs / name;
  const std::string nearest = nearest_name(name, names);
  throw Error(ending.empty() ? "there is no run \"" + printable(name) + "\""
                             : fmt::format("{} runs end in \"{}\"", ending.size(), printable(name)),
              runs.string(),
              all.empty()        ? "no run is here yet: ./isobar run 01"
              : !ending.empty()  ? "name one: " + joined(ends)
              : !nearest.empty() ? "did you mean " + printable(nearest) + "?"
                                 : "./isobar runs lists them; \"last\" is the newest");
}

std::vector<fs::path> entries_in(const fs::path& folder, std::size_t most) {
  std::vector<fs::path> out;
  std::error_code code;
  for (fs::directory_iterator it(folder, code), end; !code && it != end && out.size() < most;
       it.increment(code))
    out.push_back(it->path());
  return out;
}

}  // namespace isobar
