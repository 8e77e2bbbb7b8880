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

#include "check/inside_check.h"
#include "check/source_place.h"
#include "core/proc.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr const char* kSleeps = "sleeps";

/// What a thread waits for, by the function of the system that it is in; "" where it computes. The names
/// of the learner's functions do not count.
std::string waits_for(const std::vector<std::vector<SourcePlace>>& calls, const std::string& source) {
  static const std::vector<std::pair<const char*, const char*>> known = {
      {"pthread_cond_", "waits for a condition variable"},
      {"pthread_mutex_lock", "waits for a mutex"},
      {"pthread_join", "waits for a thread to end"},
      {"pthread_clockjoin", "waits for a thread to end"},
      {"std::thread::join", "waits for a thread to end"},
      {"nanosleep", kSleeps},
      {"sem_", "waits for a semaphore"},
      {"pthread_barrier_wait", "waits at a barrier"},
      {"__atomic_wait", "waits for an atomic value"},
      {"__read", "reads"}};
  for (const auto& call : calls) {
    if (!place_in({call}, source).empty()) return "";
    for (const SourcePlace& place : call) {
      for (const auto& [name, words] : known)
        if (place.function.find(name) != std::string::npos) return words;
      if (place.function == "read") return "reads";
    }
  }
  return "";
}

}  // namespace

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> out;
  for (const pid_t pid : numbered_entries("/proc")) {
    const auto stat = stat_of(proc_folder(pid));
    if (!stat.empty() && std::atoi(stat[kParent].c_str()) == parent) out.push_back(pid);
  }
  return out;
}

Motion motion_of(pid_t pid) {
  Motion out{.asleep = true};
  for (const pid_t thread : threads_in(pid)) {
    const fs::path place = proc_folder(pid, thread);
    const auto stat = stat_of(place);
    if (stat.empty()) continue;  // it has ended
    out.asleep = out.asleep && (stat[kState] == "S" || stat[kState] == "T");
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

Stood where_threads_stood(pid_t pid, int report, const CheckSetting& setting) {
  std::string reported;
  const std::vector<pid_t> threads = threads_in(pid);
  for (const pid_t thread : threads) syscall(SYS_tgkill, pid, thread, where_signal());
  std::array<char, 4096> piece{};
  while (parse_threads(reported).size() < threads.size()) {
    pollfd wanted{.fd = report, .events = POLLIN, .revents = 0};
    if (poll(&wanted, 1, 2000) <= 0) break;
    const ssize_t got = read(report, piece.data(), piece.size());
    if (got <= 0) break;
    reported.append(piece.data(), static_cast<std::size_t>(got));
  }
  kill(-pid, SIGSTOP);  // what it takes on and on is not taken while lines are looked up
  std::vector<ThreadCalls> answers = parse_threads(reported);
  std::sort(answers.begin(), answers.end(), [](auto& a, auto& b) { return a.thread < b.thread; });
  Stood out;
  int number = 0;
  for (const ThreadCalls& answer : answers) {
    const auto calls = source_places(answer.calls, setting.library);
    const std::string place = place_in(calls, setting.source);
    const std::string waits = waits_for(calls, setting.source);
    ++number;
    if (place.empty() && answer.thread != pid) continue;  // none of the learner's
    out.waits = out.waits || (!waits.empty() && waits != kSleeps);
    if (!place.empty() && out.places.find(place) == std::string::npos)
      out.places += (out.places.empty() ? "" : " and ") + place;
    out.text +=
        fmt::format("{}{} {}{}", out.text.empty() ? "" : "; ",
                    answer.thread == pid ? "the thread of the check" : fmt::format("thread {}", number),
                    waits.empty() ? "computes on and on" : waits, place.empty() ? "" : " at " + place);
  }
  if (out.text.empty()) out.text = "none of its threads reports where it is";
  return out;
}

}  // namespace isobar
