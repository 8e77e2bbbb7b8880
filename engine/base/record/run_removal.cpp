#include "record/run_removal.h"

#include <algorithm>
#include <string_view>

#include "core/error.h"
#include "core/text.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

/// Paths that a run folder may hold; '#' stands for digits, '*' for letters that our file names have.
constexpr std::string_view kFilesOfRun[] = {
    "run.toml",
    "attempt-#.toml",
    "rank-#.jsonl",
    "rank-#.spans.jsonl",
    "rank-#.status",
    "memory-#.jsonl",
    "console.log",
    "note.txt",
    "owner",
    "owner.claim",
    ".clock-*",
    "weights.safetensors",
    "job.toml",
    "job.sbatch",
    "job-#.log",
    "tb/events.out.tfevents.*",
    "fields/step-#.npy",
    "checkpoints/step-#/manifest.json",
    "checkpoints/step-#/state.toml",
    "checkpoints/step-#/config.toml",
    "checkpoints/step-#/model.safetensors",
    "checkpoints/step-#/optimizer.safetensors",
    "checkpoints/step-#/random.safetensors",
    "checkpoints/step-#/scaler.safetensors",
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool matches(std::string_view pattern, std::string_view path) {
  while (!pattern.empty()) {
    const char wanted = pattern.front();
    pattern.remove_prefix(1);
    if (wanted == '*') return !path.empty() && std::all_of(path.begin(), path.end(), is_name_letter);
    if (wanted == '#') {
      const auto end = std::find_if_not(path.begin(), path.end(), is_digit);
      if (end == path.begin()) return false;
      path.remove_prefix(static_cast<std::size_t>(end - path.begin()));
    } else {
      if (path.empty() || path.front() != wanted) return false;
      path.remove_prefix(1);
    }
  }
  return path.empty();
}

/// The folder of a checkpoint that is being written, ".aside-step-000020-new-4711", as the one it will be.
std::string as_checkpoint(const std::string& path) {
  constexpr std::string_view kAside = "checkpoints/.aside-";
  if (path.rfind(kAside, 0) != 0) return path;
  const std::size_t slash = path.find('/', kAside.size());
  const std::size_t purpose = path.find('-', kAside.size() + std::string_view("step-").size());
  if (slash == std::string::npos || purpose > slash) return path;
  return "checkpoints/" + path.substr(kAside.size(), purpose - kAside.size()) + path.substr(slash);
}

/// "run.toml" of "run.toml.part-4711", which is being written.
std::string without_part(const std::string& path) {
  const std::size_t part = path.rfind(".part-");
  return part != std::string::npos && matches(".part-#", std::string_view(path).substr(part))
             ? path.substr(0, part)
             : path;
}

/// Files that are the run's and what is not, relative to it; folders are neither.
struct Content {
  std::vector<fs::path> own, foreign, folders;
};

Content content_of(const fs::path& run) {
  Content out;
  for (auto at = fs::recursive_directory_iterator(run); at != fs::recursive_directory_iterator(); ++at) {
    const fs::path relative = at->path().lexically_relative(run);
    const fs::file_type type = at->symlink_status().type();
    if (type == fs::file_type::directory) {
      out.folders.push_back(relative);
    } else {
      (type == fs::file_type::regular && is_file_of_run(relative) ? out.own : out.foreign)
          .push_back(relative);
    }
  }
  std::sort(out.foreign.begin(), out.foreign.end());
  std::sort(out.folders.begin(), out.folders.end());
  return out;
}

void remove_one(const fs::path& path) {
  std::error_code code;
  fs::remove(path, code);
  if (code) throw system_error("it cannot be removed", path.string(), code.value());
}

}  // namespace

bool is_file_of_run(const fs::path& relative) {
  const std::string path = without_part(as_checkpoint(relative.generic_string()));
  return std::any_of(std::begin(kFilesOfRun), std::end(kFilesOfRun),
                     [&](std::string_view pattern) { return matches(pattern, path); });
}

std::vector<fs::path> foreign_in_run(const fs::path& run) {
  return fs::is_symlink(run) ? std::vector<fs::path>() : content_of(run).foreign;
}

void remove_parts(const fs::path& run) {
  for (const fs::path& file : content_of(run).own) {
    std::error_code kept;  // one that cannot be removed is in nobody's way
    if (without_part(file.generic_string()) != file.generic_string()) fs::remove(run / file, kept);
  }
}

void remove_run(const fs::path& run) {
  if (fs::is_symlink(run)) return remove_one(run);
  if (!fs::exists(run)) return;
  const Content content = content_of(run);
  for (const fs::path& file : content.own) remove_one(run / file);
  std::error_code not_empty;
  for (auto folder = content.folders.rbegin(); folder != content.folders.rend(); ++folder)
    fs::remove(run / *folder, not_empty);
  fs::remove(run, not_empty);
}

}  // namespace isobar
