#include "bench/tree_memory.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

namespace isobar {
namespace {

constexpr std::chrono::milliseconds kEvery{80};

std::int64_t own_bytes(const std::filesystem::path& process) {
  std::ifstream file(process / "smaps_rollup");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("Pss:", 0) == 0) return std::stoll(line.substr(4)) * 1024;
  }
  return 0;
}

}  // namespace

std::int64_t tree_memory_bytes(pid_t pid) {
  const std::filesystem::path process = "/proc/" + std::to_string(pid);
  std::int64_t bytes = own_bytes(process);
  std::error_code gone;  // processes end while they are looked at
  for (const auto& task : std::filesystem::directory_iterator(process / "task", gone)) {
    std::ifstream children(task.path() / "children");
    for (pid_t child = 0; children >> child;) bytes += tree_memory_bytes(child);
  }
  return bytes;
}

OwnMemory own_memory(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  double peak = 0, own = 0, files = 0;
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    const std::string name = line.substr(0, colon);
    double* const to = name == "VmHWM" ? &peak : name == "RssFile" ? &files : &own;
    if (to != &own || name == "RssAnon" || name == "RssShmem")
      *to += std::stod(line.substr(colon + 1)) * 1024;
  }
  return {.now = own, .peak = std::max(own, peak - files)};
}

void forget_peak(pid_t pid) { std::ofstream("/proc/" + std::to_string(pid) + "/clear_refs") << 5; }

TreeMemoryWatch::TreeMemoryWatch(pid_t pid)
    : thread_([this, pid] {
        while (!ends_) {
          most_ = std::max(most_.load(), tree_memory_bytes(pid));
          std::this_thread::sleep_for(kEvery);
        }
      }) {}

TreeMemoryWatch::~TreeMemoryWatch() { most(); }

std::int64_t TreeMemoryWatch::most() {
  ends_ = true;
  if (thread_.joinable()) thread_.join();
  return most_;
}

}  // namespace isobar
