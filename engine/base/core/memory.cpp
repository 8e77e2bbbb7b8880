#include "core/memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <vector>

#include "core/control_groups.h"
#include "core/text.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

std::atomic<std::uint64_t> promised = 0;

/// The numbers by their keys in a file of lines "key number"; none when it is not there.
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

/// What a control group allows and holds, by the names of version 2 or 1.
struct GroupMemory {
  std::uint64_t limit = kNoLimit;
  std::uint64_t held = 0;  ///< without files that the system keeps for their next reader
};

GroupMemory memory_of(const fs::path& group) {
  auto details = numbers_in(group / "memory.stat");
  const auto detail = [&](const char* name, std::uint64_t otherwise) {
    const auto found = details.find(name);
    return found == details.end() ? otherwise : found->second;
  };
  GroupMemory out;
  // The last one also counts limits of groups above that a container does not see.
  out.limit = std::min({number_of(group / "memory.max", kNoLimit),
                        number_of(group / "memory.limit_in_bytes", kNoLimit),
                        detail("hierarchical_memory_limit", kNoLimit)});
  const std::uint64_t used =
      number_of(group / "memory.current", number_of(group / "memory.usage_in_bytes", 0));
  const std::uint64_t kept = detail("total_inactive_file", detail("inactive_file", 0));
  out.held = used > kept ? used - kept : 0;
  return out;
}

}  // namespace

std::string MemoryState::total_text() const {
  return (is_limited ? "its control group allows " : "this machine has ") + human_bytes(total_bytes);
}

MemoryState memory_state(const fs::path& root) {
  auto machine = numbers_in(root / "proc/meminfo");
  MemoryState out{machine["MemTotal:"] * 1024, machine["MemAvailable:"] * 1024};
  const std::vector<fs::path> groups = control_groups("memory", root);
  if (groups.empty()) return out;
  out.oom_kills = numbers_in(groups.front() / "memory.events")["oom_kill"] +
                  numbers_in(groups.front() / "memory.oom_control")["oom_kill"];
  // A group above may be the one that is limited, in a container the topmost.
  for (const fs::path& group : groups) {
    const GroupMemory memory = memory_of(group);
    if (memory.limit == kNoLimit) continue;
    out.is_limited = out.is_limited || memory.limit < out.total_bytes;
    out.total_bytes = std::min(out.total_bytes, memory.limit);
    out.available_bytes =
        std::min(out.available_bytes, memory.limit > memory.held ? memory.limit - memory.held : 0);
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
