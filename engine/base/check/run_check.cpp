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
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "check/check_limits.h"
#include "check/inside_check.h"
#include "check/source_place.h"
#include "check/stood.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

/// An empty folder that goes with whatever was put into it.
class EmptyFolder {
 public:
  explicit EmptyFolder(const std::string& parent) {
    std::string name =
        ((parent.empty() ? fs::temp_directory_path() : fs::path(parent)) / "work-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
      throw std::runtime_error("no folder can be made: " + std::string(std::strerror(errno)));
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

/// The finding for a check that reached a limit.
Finding limit_finding(Limit limit, pid_t child, int report, const CheckSetting& setting) {
  const Stood stood = where_threads_stood(child, report, setting);
  const std::string place = or_your_file(stood.places, setting.source) + ": ";
  if (limit == Limit::memory) {
    const std::string most =
        fmt::format("{:.0f} GB of memory", static_cast<double>(setting.most_memory_bytes) * 1e-9);
    return {"the check to need less than " + most, "it took more than " + most + ", and was ended",
            place + "what grows on and on, and what ends that?"};
  }
  if (limit == Limit::output) {
    const std::string most = fmt::format("{:.0f} MB", static_cast<double>(setting.most_written_bytes) * 1e-6);
    return {"less than " + most + " to be written", "it wrote more than " + most + ", and was ended",
            place + "what is written there on and on?"};
  }
  return {fmt::format("the check to end within {:.0f} s", setting.hang_s), "it hangs: " + stood.text,
          place + (stood.waits ? "who ends each of these waits, and does it notify?"
                               : "what ends this loop, and does that come about?")};
}

Finding sanitizer_finding(const SanitizerReport& report, const CheckSetting& setting) {
  const bool race = report.found == "data race";
  std::string places;
  for (const std::string& place : report.places) {
    // Later lines are where threads and memory came from.
    if (places.find(race ? " and " : ":") != std::string::npos) break;
    if (places.find(place) == std::string::npos) places += (places.empty() ? "" : " and ") + place;
  }
  return {.expected = race ? "every member that two threads use to be read and written under a lock"
                      : report.found.starts_with("leaked") ? "all memory given back"
                                                           : "only memory that is yours",
          .came = race ? "two threads touch the same memory at once (data race)" : report.found,
          .look = or_your_file(places, setting.source)};
}

/// The message of an assertion of the standard library about an index; "" without one.
std::string assertion_in(const std::string& said) {
  const std::size_t at = said.find("Assertion '");
  if (at == std::string::npos) return "";
  return "an access out of bounds: " + said.substr(at, said.find('\n', at) - at);
}

Finding end_finding(int status, const std::string& said, const std::string& reported,
                    const CheckSetting& setting) {
  if (const auto report = sanitizer_report(said, setting.source)) return sanitizer_finding(*report, setting);
  if (const auto crash = parse_crash(reported)) {
    const std::string place = place_in(source_places(crash->calls, setting.library), setting.source);
    const std::string broken = assertion_in(said);
    return {.expected = broken.empty() ? "no crash" : "only memory that is yours",
            .came = broken.empty() ? crash->what : broken,
            .look = or_your_file(place, setting.source)};
  }
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
    return {"the check to continue", "it was killed, as where the machine has no memory left",
            setting.source + ": what takes memory?"};
  if (WIFSIGNALED(status))
    return {"no crash", fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status))),
            setting.source};
  return {"the check to continue",
          fmt::format("the program was ended with exit code {}", WEXITSTATUS(status)),
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

/// Waits for the child and gathers what it reports; a finding where it reached a limit.
std::optional<Finding> watch(pid_t child, int report, std::string& reported, int& status,
                             const CheckSetting& setting) {
  CheckLimits limits(child, setting);
  std::array<char, 4096> piece{};
  while (true) {
    pollfd wanted{.fd = report, .events = POLLIN, .revents = 0};
    poll(&wanted, 1, 10);
    const ssize_t got = (wanted.revents & POLLIN) != 0 ? read(report, piece.data(), piece.size()) : 0;
    if (got > 0) {
      reported.append(piece.data(), static_cast<std::size_t>(got));
      continue;
    }
    if (waitpid(child, &status, WNOHANG) == child) return std::nullopt;
    if (const Limit limit = limits.reached(); limit != Limit::none)
      return limit_finding(limit, child, report, setting);
  }
}

}  // namespace

std::optional<Finding> run_check(const Check& check, const CheckSetting& setting, std::string* shown) {
  const EmptyFolder folder(setting.folder);
  const int said = memfd_create("said", MFD_CLOEXEC);
  std::array<int, 2> report{};
  if (said < 0 || pipe2(report.data(), O_CLOEXEC) != 0)
    throw std::runtime_error("no more files can be opened");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no process can be started");
  if (child == 0) be_the_check(check, setting.library, folder.path().string(), said, report[1]);
  close(report[1]);
  fcntl(report[0], F_SETFL, O_NONBLOCK);
  std::string reported;
  int status = 0;
  const std::optional<Finding> limit = watch(child, report[0], reported, status, setting);
  if (limit) {
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
  if (limit) return limit;
  if (left || has_forked(reported))
    return Finding{"no other process", "the part started one (fork)", "calls of fork in " + setting.source};
  if (auto finding = parse_finding(reported)) return finding;
  if (has_ended_well(reported) && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    if (shown != nullptr) *shown = parse_shown(reported);
    return std::nullopt;
  }
  return end_finding(status, words, reported, setting);
}

}  // namespace isobar

// For the sanitizer that the program is linked with.
extern "C" const char* __asan_default_options() {
  return "exitcode=66:detect_leaks=1:leak_check_at_exit=0:detect_stack_use_after_return=1:strict_string_"
         "checks=1";
}
extern "C" const char* __ubsan_default_options() { return "print_stacktrace=1"; }
extern "C" const char* __tsan_default_options() {
  return "exitcode=67:halt_on_error=1:report_thread_leaks=0";
}
