#include "core/memory.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <string>

namespace isobar {

namespace fs = std::filesystem;

namespace {

std::atomic<std::uint64_t> promised = 0;

/// Of a file of lines "key number": the numbers by their keys; none when it is not there.
std::map<std::string, std::uint64_t> numbers_in(const fs::path& file) {
  std::map<std::string, std::uint64_t> out;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string name;
    std::uint64_t value = 0;
    if (words >> name >> value) out[name] = value;
  }
  return out;
}

/// The one number in a file; `otherwise` for "max" or no file.
std::uint64_t number_of(const fs::path& file, std::uint64_t otherwise) {
  std::ifstream in(file);
  std::uint64_t value = 0;
  return in >> value ? value : otherwise;
}

/// The folder of this process's control group (version 2), "" without one.
fs::path control_group() {
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("0::/", 0) == 0) return fs::path("/sys/fs/cgroup") / line.substr(4);
  }
  return {};
}

}  // namespace

MemoryState memory_state() {
  constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();
  auto machine = numbers_in("/proc/meminfo");
  MemoryState out{machine["MemTotal:"] * 1024, machine["MemAvailable:"] * 1024, 0};
  const fs::path mine = control_group();
  if (mine.empty()) return out;
  out.oom_kills = numbers_in(mine / "memory.events")["oom_kill"];
  // A group above may be the one that is limited, in a container the topmost.
  for (fs::path group = mine; group.string().size() >= std::string("/sys/fs/cgroup").size();
       group = group.parent_path()) {
    const std::uint64_t limit = number_of(group / "memory.max", kNone);
    if (limit == kNone) continue;
    const std::uint64_t used = number_of(group / "memory.current", 0);
    const std::uint64_t cache = numbers_in(group / "memory.stat")["inactive_file"];
    const std::uint64_t held = used > cache ? used - cache : 0;
    out.total_bytes = std::min(out.total_bytes, limit);
    out.available_bytes = std::min(out.available_bytes, limit > held ? limit - held : 0);
  }
  return out;
}

std::uint64_t peak_own_bytes() {
  auto held = numbers_in("/proc/self/status");
  const std::uint64_t files = held["RssFile:"];
  const std::uint64_t peak = std::max(held["VmHWM:"], files);
  return 1024 * std::max(held["RssAnon:"] + held["RssShmem:"], peak - files);
}

MemoryPromise::~MemoryPromise() { promised -= left_; }

void MemoryPromise::add(std::uint64_t bytes) {
  left_ += bytes;
  promised += bytes;
}

void MemoryPromise::take(std::uint64_t bytes) {
  std::uint64_t left = left_;
  while (!left_.compare_exchange_weak(left, left - std::min(left, bytes))) {
  }
  promised -= std::min(left, bytes);
}

std::uint64_t promised_bytes() { return promised; }

std::uint64_t unpromised_bytes(const MemoryState& memory) {
  return memory.available_bytes - std::min(memory.available_bytes, promised_bytes());
}

}  // namespace isobar
