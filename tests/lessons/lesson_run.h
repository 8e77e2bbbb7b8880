#pragma once
// Running a lesson as a learner would, on a small embedded data set that is made once, and reading what it
// wrote.
#include <filesystem>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/files.h"
#include "core/json.h"
#include "support/bin_folder.h"
#include "support/process.h"
#include "support/temp_folder.h"

namespace isobar {

/// An embedded data set of 32 training records that nobody writes to: the one beside the programs, or one
/// made in `folder` where there is none.
inline std::filesystem::path data_of(const std::string& grid, const TempFolder& folder) {
  const std::filesystem::path bin = bin_folder(ISOBAR_BIN), there = bin.parent_path() / "data" / grid;
  if (std::filesystem::exists(there / "dataset.toml")) return there;
  const std::filesystem::path out = folder / grid;
  const ProcessResult made =
      run_process({bin / "make_fields", "--grid", grid, "--samples", "32", "--out", out});
  if (made.code != 0) throw std::runtime_error(made.err);
  return out;
}

/// The grid of cpu_micro.
inline const std::filesystem::path& data() {
  static const TempFolder folder;
  static const std::filesystem::path path = data_of("48x96", folder);
  return path;
}

inline std::vector<std::string> with(std::vector<std::string> sets, const std::vector<std::string>& more) {
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

/// Settings for a quarter of its values, where bits are compared, or many steps taken.
inline const std::vector<std::string>& coarse() {
  static const TempFolder folder;
  static const std::vector<std::string> sets = {"data.grid=[24, 48]",
                                                "data.root=" + data_of("24x48", folder).string()};
  return sets;
}

/// Runs a lesson that stays loaded between its runs, unless it is preloaded otherwise.
inline ProcessResult run_lesson(const std::vector<std::string>& words, ProcessOptions options = {}) {
  options.preloaded = ISOBAR_FORKS;
  return run_process(words, options);
}

/// A command of the launcher, which starts that lesson: each of its processes is loaded already.
inline ProcessResult run_launcher(const std::string& lesson, std::vector<std::string> words,
                                  ProcessOptions options = {}) {
  words.insert(words.begin(), bin_folder(ISOBAR_BIN) + "/isobar-cli");
  options.preloaded = ISOBAR_FORKS;
  options.started = bin_folder(ISOBAR_BIN) + "/" + lesson;
  return run_process(words, options);
}

inline ProcessResult train_lesson(const std::string& lesson, const std::filesystem::path& run_dir,
                                  const std::vector<std::string>& sets, const ProcessOptions& options = {}) {
  std::vector<std::string> words = {bin_folder(ISOBAR_BIN) + "/" + lesson,
                                    "--preset",
                                    "cpu_micro",
                                    "--run-dir",
                                    run_dir.string(),
                                    "--set",
                                    "data.root=" + data().string(),
                                    "--set",
                                    "run.threads=1"};
  for (const std::string& set : sets) {
    words.push_back("--set");
    words.push_back(set);
  }
  return run_lesson(words, options);
}

inline ProcessResult train(const std::filesystem::path& run_dir, const std::vector<std::string>& sets,
                           const ProcessOptions& options = {}) {
  return train_lesson("01_baseline", run_dir, sets, options);
}

inline std::vector<Json> stream(const std::filesystem::path& run_dir) {
  std::istringstream text(read_text_file(run_dir / "rank-0000.jsonl", 100'000'000));
  std::vector<Json> out;
  for (std::string line; std::getline(text, line);) out.push_back(Json::parse(line));
  return out;
}

inline std::vector<Json> of_kind(const std::vector<Json>& lines, const std::string& kind) {
  std::vector<Json> out;
  for (const Json& line : lines) {
    if (line["kind"] == kind) out.push_back(line);
  }
  return out;
}

/// Whole lines of a stream that may still grow; none before there is one.
inline std::vector<Json> lines_so_far(const std::filesystem::path& run_dir) {
  std::vector<Json> out;
  std::error_code code;
  if (!std::filesystem::exists(run_dir / "rank-0000.jsonl", code)) return out;
  const std::string text = read_text_file(run_dir / "rank-0000.jsonl", 100'000'000);
  std::istringstream in(text.substr(0, text.rfind('\n') + 1));
  for (std::string line; std::getline(in, line);) out.push_back(Json::parse(line));
  return out;
}

/// True as soon as so many steps stand in the stream.
inline std::function<bool()> when_steps(const std::filesystem::path& run_dir, std::size_t count) {
  return [run_dir, count] { return of_kind(lines_so_far(run_dir), "step").size() >= count; };
}

}  // namespace isobar
