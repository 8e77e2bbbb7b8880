#include "check/stood.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "check/inside_check.h"
#include "check/source_place.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

std::vector<pid_t> numbers_in(const fs::path& folder) {
  std::vector<pid_t> out;
  std::error_code code;
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code)) {
    const std::string name = entry->path().filename().string();
    if (name.find_first_not_of("0123456789") == std::string::npos) out.push_back(std::atoi(name.c_str()));
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// What /proc/.../stat says behind the name, which may hold blanks and brackets: state, parent, ...
std::vector<std::string> stat_of(const fs::path& folder) {
  std::ifstream file(folder / "stat");
  std::string line;
  std::getline(file, line);
  const std::size_t end = line.rfind(')');
  std::vector<std::string> out;
  if (end == std::string::npos) return out;
  std::istringstream words(line.substr(end + 1));
  for (std::string word; words >> word;) out.push_back(word);
  return out;
}

constexpr std::size_t kState = 0;
constexpr std::size_t kParent = 1;
constexpr std::size_t kUserTicks = 11;
constexpr std::size_t kSystemTicks = 12;

/// What a thread waits for, by the function of the system that it is in; "" where it computes.
std::string waits_for(const std::vector<std::vector<SourcePlace>>& calls) {
  const std::vector<std::pair<const char*, const char*>> known = {
      {"pthread_cond_", "waits for a condition variable"},
      {"pthread_mutex_lock", "waits for a mutex"},
      {"pthread_join", "waits for a thread to end"},
      {"pthread_clockjoin", "waits for a thread to end"},
      {"std::thread::join", "waits for a thread to end"},
      {"nanosleep", "sleeps"},
      {"sem_", "waits for a semaphore"},
      {"pthread_barrier_wait", "waits at a barrier"},
      {"__atomic_wait", "waits for an atomic value"},
      {"read", "reads"}};
  for (const auto& call : calls) {
    for (const SourcePlace& place : call) {
      for (const auto& [name, words] : known)
        if (place.function.find(name) != std::string::npos) return words;
    }
  }
  return "";
}

}  // namespace

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> out;
  for (const pid_t pid : numbers_in("/proc")) {
    const auto stat = stat_of(fs::path("/proc") / std::to_string(pid));
    if (stat.size() > kParent && std::atoi(stat[kParent].c_str()) == parent) out.push_back(pid);
  }
  return out;
}

Motion motion_of(pid_t pid) {
  const fs::path folder = fs::path("/proc") / std::to_string(pid);
  Motion out{.asleep = true};
  for (const pid_t thread : numbers_in(folder / "task")) {
    const fs::path place = folder / "task" / std::to_string(thread);
    const auto stat = stat_of(place);
    if (stat.size() <= kSystemTicks) continue;  // it has ended
    out.asleep = out.asleep && stat[kState] == "S";
    const double ticks = std::atof(stat[kUserTicks].c_str()) + std::atof(stat[kSystemTicks].c_str());
    out.processor_s += ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
    std::ifstream status(place / "status");
    for (std::string line; std::getline(status, line);) {
      const std::size_t at = line.find("ctxt_switches:");
      if (at != std::string::npos) out.switches += std::strtoull(line.c_str() + at + 14, nullptr, 10);
    }
  }
  return out;
}

Stood where_threads_stood(pid_t pid, int report, const std::string& source) {
  std::string reported;
  const std::vector<pid_t> threads = numbers_in(fs::path("/proc") / std::to_string(pid) / "task");
  for (const pid_t thread : threads) syscall(SYS_tgkill, pid, thread, where_signal());
  std::array<char, 4096> piece{};
  while (parse_threads(reported).size() < threads.size()) {
    pollfd wanted{.fd = report, .events = POLLIN, .revents = 0};
    if (poll(&wanted, 1, 2000) <= 0) break;
    const ssize_t got = read(report, piece.data(), piece.size());
    if (got <= 0) break;
    reported.append(piece.data(), static_cast<std::size_t>(got));
  }
  std::vector<ThreadCalls> answers = parse_threads(reported);
  std::sort(answers.begin(), answers.end(), [](auto& a, auto& b) { return a.thread < b.thread; });
  Stood out;
  int number = 0;
  for (const ThreadCalls& answer : answers) {
    const auto calls = source_places(answer.calls);
    const std::string place = place_in(calls, source);
    const std::string waits = waits_for(calls);
    ++number;
    if (place.empty() && answer.thread != pid) continue;  // none of the learner's
    if (!place.empty() && out.places.find(place) == std::string::npos)
      out.places += (out.places.empty() ? "" : " and ") + place;
    out.text +=
        fmt::format("{}{} {}{}", out.text.empty() ? "" : "; ",
                    answer.thread == pid ? "the thread of the check" : fmt::format("thread {}", number),
                    waits.empty() ? "computes on and on" : waits, place.empty() ? "" : " at " + place);
  }
  if (out.text.empty()) out.text = "none of its threads says where it is";
  return out;
}

}  // namespace isobar
