#include "check/run_check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "check/inside_check.h"
#include "check/source_place.h"
#include "check/stood.h"

namespace isobar {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

namespace {

/// An empty folder that goes with whatever was put into it.
class EmptyFolder {
 public:
  EmptyFolder() {
    std::string name = (fs::temp_directory_path() / "isobar-check-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder could be made at " + name);
    path_ = name;
  }
  ~EmptyFolder() {
    std::error_code code;
    fs::remove_all(path_, code);
  }
  EmptyFolder(const EmptyFolder&) = delete;
  EmptyFolder& operator=(const EmptyFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string text_in(int file) {
  std::string out;
  std::array<char, 4096> piece{};
  lseek(file, 0, SEEK_SET);
  for (ssize_t got = 0; (got = read(file, piece.data(), piece.size())) > 0 && out.size() < 1'000'000;)
    out.append(piece.data(), static_cast<std::size_t>(got));
  return out;
}

std::string or_your_file(const std::string& place, const std::string& source) {
  return place.empty() ? source : place;
}

Finding hang_finding(pid_t child, int report, const CheckSetting& setting) {
  const Stood stood = where_threads_stood(child, report, setting.source);
  return {.expected = fmt::format("the check to end within {:.0f} s", setting.hang_s),
          .came = "it hangs: " + stood.text,
          .look = or_your_file(stood.places, setting.source) +
                  ": who ends each of these waits, and does it notify?"};
}

Finding sanitizer_finding(const SanitizerReport& report, const CheckSetting& setting) {
  const bool race = report.found == "data race";
  std::string places;
  for (const std::string& place : report.places) {
    // Those behind say where threads and memory came from.
    if (places.find(race ? " and " : ":") != std::string::npos) break;
    if (places.find(place) == std::string::npos) places += (places.empty() ? "" : " and ") + place;
  }
  return {.expected = race ? "every member that two threads use to be read and written under a lock"
                      : report.found.starts_with("leaked") ? "all memory given back"
                                                           : "only memory that is yours",
          .came = race ? "two threads touch the same memory at once (data race)" : report.found,
          .look = or_your_file(places, setting.source)};
}

/// What an assertion of the standard library says of an index; "" where none spoke.
std::string assertion_in(const std::string& said) {
  const std::size_t at = said.find("Assertion '");
  if (at == std::string::npos) return "";
  return "an access out of bounds: " + said.substr(at, said.find('\n', at) - at);
}

Finding end_finding(int status, const std::string& said, const std::string& reported,
                    const CheckSetting& setting) {
  if (const auto report = sanitizer_report(said, setting.source)) return sanitizer_finding(*report, setting);
  if (const auto crash = parse_crash(reported)) {
    const std::string place = place_in(source_places(crash->calls), setting.source);
    const std::string broken = assertion_in(said);
    return {.expected = broken.empty() ? "no crash" : "only memory that is yours",
            .came = broken.empty() ? crash->what : broken,
            .look = or_your_file(place, setting.source)};
  }
  if (WIFSIGNALED(status))
    return {"no crash", fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status))),
            setting.source};
  return {"the check to go on", fmt::format("the program was ended with exit code {}", WEXITSTATUS(status)),
          "calls of exit, quick_exit or abort in " + setting.source};
}

/// Ends what the check left running, wherever it went: it became a child of this process.
bool end_leftovers(pid_t child) {
  bool any = false;
  kill(-child, SIGKILL);
  while (true) {
    const std::vector<pid_t> left = children_of(getpid());
    if (left.empty()) return any;
    for (const pid_t pid : left) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
      any = true;
    }
  }
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Tells a check that hangs from one that is slow, or gets no processor.
class HangWatch {
 public:
  HangWatch(pid_t pid, const CheckSetting& setting) : pid_(pid), setting_(setting) {}

  bool hangs() {
    if (seconds_since(begin_) < setting_.hang_s) return false;
    const Motion now = motion_of(pid_);
    if (!now.asleep || now.switches != seen_.switches) still_since_ = Clock::now();
    seen_ = now;
    return seconds_since(still_since_) > kStill_s || now.processor_s > setting_.hang_s ||
           seconds_since(begin_) > kMostTimes * setting_.hang_s;
  }

 private:
  static constexpr double kStill_s = 0.5;
  static constexpr double kMostTimes = 12;  // for one that wakes up again and again to no purpose

  pid_t pid_;
  const CheckSetting& setting_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point still_since_ = Clock::now();
  Motion seen_;
};

/// Waits for the child and gathers what it reports; true when it hangs.
bool watch(pid_t child, int report, std::string& reported, int& status, Finding& hang,
           const CheckSetting& setting) {
  HangWatch hangs(child, setting);
  std::array<char, 4096> piece{};
  while (true) {
    pollfd wanted{.fd = report, .events = POLLIN, .revents = 0};
    poll(&wanted, 1, 10);
    const ssize_t got = (wanted.revents & POLLIN) != 0 ? read(report, piece.data(), piece.size()) : 0;
    if (got > 0) {
      reported.append(piece.data(), static_cast<std::size_t>(got));
      continue;
    }
    if (waitpid(child, &status, WNOHANG) == child) return false;
    if (!hangs.hangs()) continue;
    hang = hang_finding(child, report, setting);
    return true;
  }
}

}  // namespace

std::optional<Finding> run_check(const Check& check, const CheckSetting& setting) {
  const EmptyFolder folder;
  const int said = memfd_create("said", MFD_CLOEXEC);
  std::array<int, 2> report{};
  if (said < 0 || pipe2(report.data(), O_CLOEXEC) != 0)
    throw std::runtime_error("no more files can be opened");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no process can be started");
  if (child == 0) be_the_check(check, folder.path().string(), said, report[1]);
  close(report[1]);
  fcntl(report[0], F_SETFL, O_NONBLOCK);
  std::string reported;
  int status = 0;
  Finding hang;
  const bool hangs = watch(child, report[0], reported, status, hang, setting);
  if (hangs) {
    kill(-child, SIGKILL);
    waitpid(child, &status, 0);
  } else {
    std::array<char, 4096> piece{};
    for (ssize_t got = 0; (got = read(report[0], piece.data(), piece.size())) > 0;)
      reported.append(piece.data(), static_cast<std::size_t>(got));
  }
  const bool left = end_leftovers(child);
  const std::string words = text_in(said);
  close(report[0]);
  close(said);
  if (hangs) return hang;
  if (left || has_forked(reported))
    return Finding{"no other process", "the part started one (fork)", "calls of fork in " + setting.source};
  if (auto finding = parse_finding(reported)) return finding;
  if (has_ended_well(reported) && WIFEXITED(status) && WEXITSTATUS(status) == 0) return std::nullopt;
  return end_finding(status, words, reported, setting);
}

}  // namespace isobar

#if defined(__SANITIZE_ADDRESS__)
extern "C" const char* __asan_default_options() {
  return "exitcode=66:detect_leaks=1:leak_check_at_exit=0:detect_stack_use_after_return=1:strict_string_"
         "checks=1";
}
extern "C" const char* __ubsan_default_options() { return "print_stacktrace=1"; }
#elif defined(__SANITIZE_THREAD__)
extern "C" const char* __tsan_default_options() {
  return "exitcode=67:halt_on_error=1:report_thread_leaks=0";
}
#endif
