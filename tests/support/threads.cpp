#include "support/threads.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "core/proc.h"
#include "core/symbol.h"

namespace isobar {
namespace {

namespace fs = std::filesystem;

constexpr int kMostCalls = 48;

struct Calls {
  std::array<void*, kMostCalls> places{};
  int count = 0;
  sem_t written{};
};
Calls calls;

void note_calls(int /*signal*/) {
  calls.count = backtrace(calls.places.data(), kMostCalls);
  sem_post(&calls.written);
}

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string name_of(void* place) {
  Dl_info info{};
  if (dladdr(place, &info) == 0 || info.dli_fname == nullptr) return "?";
  if (info.dli_sname == nullptr) return "? in " + fs::path(info.dli_fname).filename().string();
  return demangled(info.dli_sname);
}

/// False when the thread gave no answer within a second.
bool ask(pid_t thread) {
  calls.count = 0;
  if (syscall(SYS_tgkill, getpid(), thread, SIGRTMAX) != 0) return false;
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 1;
  return sem_timedwait(&calls.written, &until) == 0;
}

pid_t parent_of(pid_t pid) {
  const auto stat = stat_of(proc_folder(pid));
  return stat.empty() ? 0 : std::atoi(stat[kParent].c_str());
}

std::vector<pid_t> children() {
  std::vector<pid_t> out = {getpid()};
  const std::vector<pid_t> all = numbered_entries("/proc");
  for (std::size_t i = 0; i < out.size(); ++i) {
    for (const pid_t pid : all)
      if (parent_of(pid) == out[i]) out.push_back(pid);
  }
  out.erase(out.begin());
  return out;
}

}  // namespace

std::string own_threads() {
  struct sigaction action {};
  action.sa_handler = note_calls;
  action.sa_flags = SA_RESTART;
  sigaction(SIGRTMAX, &action, nullptr);
  sem_init(&calls.written, 0, 0);
  calls.count = backtrace(calls.places.data(), kMostCalls);  // loads what it needs, outside of the handler
  std::string out;
  for (const pid_t thread : threads_in(getpid())) {
    if (thread == static_cast<pid_t>(syscall(SYS_gettid))) continue;
    const std::string name = first_line("/proc/self/task/" + std::to_string(thread) + "/comm");
    out += "  thread " + std::to_string(thread) + " (" + name + ")\n";
    if (!ask(thread)) continue;
    for (int i = 2; i < calls.count; ++i)  // behind the handler and the kernel's return from it
      out += "    " + name_of(calls.places[static_cast<std::size_t>(i)]) + "\n";
  }
  return out;
}

std::string threads_of(pid_t pid) {
  std::string out;
  for (const pid_t thread : threads_in(pid)) {
    const fs::path place = proc_folder(pid, thread);
    const auto stat = stat_of(place);
    const std::string state = stat.empty() ? "?" : stat[kState];
    const std::string waits = first_line(place / "wchan");
    out += "    thread " + std::to_string(thread) + " (" + first_line(place / "comm") + ") " + state +
           (waits.empty() || waits == "0" ? "" : ", in " + waits) + "\n";
  }
  return out;
}

std::string children_text() {
  std::string out;
  for (const pid_t pid : children()) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline");
    std::string words{std::istreambuf_iterator<char>(file), {}};
    for (char& letter : words)
      if (letter == '\0') letter = ' ';
    out += "  process " + std::to_string(pid) + ": " + words.substr(0, 300) + "\n" + threads_of(pid);
  }
  return out;
}

void kill_children() {
  for (const pid_t pid : children()) kill(pid, SIGKILL);
}

}  // namespace isobar
