#include "record/run_folder.h"

#include <fmt/format.h>

#include <random>
#include <system_error>

#include "core/clock.h"
#include "core/error.h"
#include "core/text.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

void make_folders(const fs::path& path) {
  std::error_code code;
  fs::create_directories(path, code);
  if (code) throw system_error("cannot make the folder", path.string(), code.value());
}

/// Whether anything is in the folder but what a batch job puts there before the run begins.
bool is_used(const fs::path& path) {
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    if (entry.path().filename().string().rfind("job", 0) != 0) return true;
  }
  return false;
}

}  // namespace

fs::path RunFolder::stream_file(int rank) const { return path / fmt::format("rank-{:04}.jsonl", rank); }

fs::path RunFolder::spans_file(int rank) const { return path / fmt::format("rank-{:04}.spans.jsonl", rank); }

fs::path RunFolder::memory_file(int rank) const { return path / fmt::format("memory-{:04}.jsonl", rank); }

fs::path RunFolder::attempt_file(int attempt) const {
  return attempt == 0 ? config_file() : path / fmt::format("attempt-{:04}.toml", attempt);
}

int next_attempt(const RunFolder& folder) {
  int attempt = 0;
  while (fs::exists(folder.attempt_file(attempt))) ++attempt;
  return attempt;
}

fs::path RunFolder::fields_file(std::int64_t step) const {
  return path / "fields" / fmt::format("step-{:06}.npy", step);
}

fs::path reserve_run_folder(const fs::path& parent, const std::string& lesson) {
  make_folders(parent);
  std::random_device random;
  for (int attempt = 0; attempt < 100; ++attempt) {
    const fs::path path = parent / fmt::format("{}-{}-{:04x}", lesson, wall_stamp(), random() & 0xffffU);
    std::error_code code;
    // Created, not looked for: two runs at once take two folders.
    if (fs::create_directory(path, code)) return path;
    if (code) throw system_error("cannot make the run folder", path.string(), code.value());
  }
  throw Error("no free name for a run folder", parent.string(), "name one with --run-dir", Exit::failed);
}

RunFolder make_run_folder(const fs::path& parent, const std::string& lesson) {
  const fs::path path = reserve_run_folder(parent, lesson);
  make_folders(path / "fields");
  return {path};
}

RunFolder take_run_folder(const fs::path& path) {
  if (fs::exists(path) && !fs::is_directory(path)) {
    throw Error("the run folder is a file", path.string(), "name another with --run-dir");
  }
  make_folders(path);
  if (is_used(path)) {
    const bool run = fs::exists(RunFolder{path}.config_file()) || fs::exists(RunFolder{path}.stream_file(0));
    throw Error(run ? "the folder holds a run already" : "the folder is not empty", path.string(),
                "name a new folder with --run-dir; nothing is overwritten");
  }
  make_folders(path / "fields");
  return {path};
}

bool is_run_folder(const fs::path& folder) {
  std::error_code code;
  return fs::exists(RunFolder{folder}.config_file(), code) ||
         fs::exists(RunFolder{folder}.stream_file(0), code);
}

}  // namespace isobar
