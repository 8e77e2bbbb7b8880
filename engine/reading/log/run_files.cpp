#include "log/run_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <span>

#include "config/toml_text.h"
#include "core/error.h"
#include "core/number_text.h"
#include "core/text.h"
#include "record/run_folder.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMostNoteBytes = 4096;

}  // namespace

Stamp stamp_of(const fs::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {};
  return {status.st_size, status.st_mtim.tv_sec * 1'000'000'000LL + status.st_mtim.tv_nsec, status.st_ino};
}

double silence_s(const fs::path& file) {
  std::error_code code;
  const fs::file_time_type grown = fs::last_write_time(file, code);
  return code ? 0 : std::chrono::duration<double>(fs::file_time_type::clock::now() - grown).count();
}

std::string bytes_at(const FileDescriptor& file, const fs::path& path, std::uint64_t from, std::uint64_t to) {
  std::string bytes(to - from, '\0');
  pread_exactly(file, path, from, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

void check_run_folder(const fs::path& folder) {
  if (is_run_folder(folder)) return;
  throw Error("the folder holds no run", folder.string(),
              "a run folder has run.toml and rank-0000.jsonl in it");
}

namespace {

ConfigText text_of(const std::vector<TomlEntry>& entries) {
  ConfigText out;
  for (const TomlEntry& entry : entries)
    out.emplace_back(printable(entry.key, 120), printable(plain_text(entry.value), 400));
  return out;
}

}  // namespace

ConfigText config_text(const std::string& toml, const std::string& name) {
  return text_of(parse_toml(toml, name));
}

ConfigText config_of(const fs::path& folder) { return text_of(read_toml(RunFolder{folder}.config_file())); }

std::string value_in(const ConfigText& config, std::string_view key) {
  for (const auto& [name, value] : config) {
    if (name == key) return value;
  }
  return "";
}

std::vector<std::int64_t> field_steps_of(const fs::path& folder) {
  std::vector<std::int64_t> out;
  for (const fs::path& path : entries_in(folder / "fields")) {
    const std::string name = path.filename().string();
    if (name.size() < 10 || name.rfind("step-", 0) != 0 || path.extension() != ".npy") continue;
    const std::string digits = name.substr(5, name.size() - 9);
    if (digits.size() > 15 || digits.find_first_not_of("0123456789") != std::string::npos) continue;
    out.push_back(std::stoll(digits));
  }
  std::ranges::sort(out);
  return out;
}

std::vector<int> ranks_in(const fs::path& folder) {
  constexpr std::string_view kBegin = "rank-", kEnd = ".jsonl";
  std::vector<int> out;
  for (const fs::path& path : entries_in(folder)) {
    const std::string name = path.filename().string();
    if (!name.starts_with(kBegin) || !name.ends_with(kEnd) || name.size() < kBegin.size() + kEnd.size() + 4)
      continue;
    const std::string_view digits =
        std::string_view(name).substr(kBegin.size(), name.size() - kBegin.size() - kEnd.size());
    const int rank = number_of<int>(digits).value_or(-1);
    if (rank >= 0 && rank < kMostRanks) out.push_back(rank);
  }
  std::ranges::sort(out);
  return out;
}

std::string note_of(const fs::path& folder) {
  std::error_code code;
  if (!fs::exists(folder / "note.txt", code)) return "";
  return printable(read_text_file(folder / "note.txt", kMostNoteBytes), 200);
}

namespace {

constexpr std::string_view kEnvironment = "environment.";

bool is_of_the_moment(std::string_view key) {
  return key == "environment.started" || key == "environment.command";
}

}  // namespace

bool KeyRow::is_environment() const { return key.rfind(kEnvironment, 0) == 0; }

bool KeyRow::is_label() const { return key == "run.group" || key == "run.point" || key == "run.repeat"; }

std::vector<KeyRow> key_rows(const std::vector<const ConfigText*>& runs) {
  std::map<std::string, std::vector<std::string>> table;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const auto& [key, value] : *runs[i]) {
      if (is_of_the_moment(key)) continue;
      auto& values = table[key];
      values.resize(runs.size());
      values[i] = value;
    }
  }
  std::vector<KeyRow> out;
  for (auto& [key, values] : table) {
    KeyRow row{key, values, false, false};
    std::set<std::string> known, given;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (!runs[i]->empty()) known.insert(values[i]);
      if (!values[i].empty()) given.insert(values[i]);
    }
    row.differs = known.size() > 1;
    row.two_values = given.size() > 1;
    out.push_back(std::move(row));
  }
  const auto rank = [](const KeyRow& row) { return (row.differs ? 0 : 2) + (row.is_environment() ? 1 : 0); };
  std::ranges::stable_sort(out, [&](const KeyRow& a, const KeyRow& b) { return rank(a) < rank(b); });
  return out;
}

bool is_repeat(const ConfigText& one, const ConfigText& other) {
  if (one.empty() || other.empty()) return false;
  const std::vector<KeyRow> rows = key_rows({&one, &other});
  return std::ranges::none_of(rows, [](const KeyRow& row) { return row.differs && !row.is_label(); });
}

}  // namespace isobar
