#include "check/inside_check.h"

#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <sstream>
#include <string_view>

// There where the program was built with the sanitizer.
extern "C" {
[[gnu::weak]] void __asan_init();
[[gnu::weak]] int __lsan_do_recoverable_leak_check();
}

namespace isobar {
namespace {

constexpr int kMostCalls = 64;
constexpr std::size_t kMostPiece = 1200;
constexpr char kBreak = '\x1f';
constexpr int kMostFile_bytes = 64 << 20;

int report_to = -1;
const char* part_library = "";

/// Where the part is loaded, by the list that the loader keeps for debuggers: a signal handler may not wait
/// for its lock. 0 = it is not loaded yet.
std::uintptr_t part_begin() {
  for (const link_map* one = _r_debug.r_map; one != nullptr; one = one->l_next)
    if (*part_library != '\0' && std::strcmp(one->l_name, part_library) == 0) return one->l_addr;
  return 0;
}

/// A line of a report, put together without what a signal handler may not call.
class ReportLine {
 public:
  explicit ReportLine(char kind) { letter(kind); }
  void letter(char c) {
    if (used_ + 1 < text_.size()) text_[used_++] = c;
  }
  void text(const char* words) {
    for (; *words != '\0'; ++words) letter(*words == '\n' || *words == kBreak ? ' ' : *words);
  }
  void number(std::uintptr_t value) {
    std::array<char, 20> digits{};
    std::size_t count = 0;
    do digits[count++] = "0123456789abcdef"[value % 16];
    while ((value /= 16) != 0);
    while (count > 0) letter(digits[--count]);
  }
  void calls() {
    number(part_begin());
    std::array<void*, kMostCalls> places{};
    const int count = backtrace(places.data(), kMostCalls);
    for (int i = 0; i < count; ++i) {
      letter(' ');
      number(reinterpret_cast<std::uintptr_t>(places[static_cast<std::size_t>(i)]));
    }
  }
  void send() {
    text_[used_++] = '\n';
    [[maybe_unused]] const ssize_t sent = write(report_to, text_.data(), used_);
  }

 private:
  std::array<char, 4000> text_{};  // below PIPE_BUF, so that lines of several threads stay whole
  std::size_t used_ = 0;
};

void report_crash(const char* what) {
  ReportLine line('C');
  line.text(what);
  line.letter(kBreak);
  line.calls();
  line.send();
}

void on_crash(int number) {
  const char* const what = number == SIGSEGV  ? "a segmentation fault"
                           : number == SIGBUS ? "a bus error"
                           : number == SIGFPE ? "an integer division by zero"
                           : number == SIGILL
                               ? "an illegal instruction, such as the end of a function without return"
                               : "abort() was called";
  report_crash(what);
  signal(number, SIG_DFL);
  raise(number);
}

void on_where(int /*signal*/) {
  ReportLine line('W');
  line.number(static_cast<std::uintptr_t>(syscall(SYS_gettid)));
  line.letter(kBreak);
  line.calls();
  line.send();
}

void on_terminate() {
  std::string what = "std::terminate was called, as for a std::thread that is destroyed before join()";
  if (const std::exception_ptr thrown = std::current_exception()) {
    what = "an exception left a thread or a noexcept function";
    try {
      std::rethrow_exception(thrown);
    } catch (const std::exception& error) {
      what += ": " + std::string(error.what());
    } catch (...) {
    }
  }
  report_crash(what.c_str());
  _exit(70);
}

void on_fork() { ReportLine('K').send(); }

void hear_of_everything() {
  std::array<void*, 1> first{};
  backtrace(first.data(), 1);  // loads what it needs, outside of a handler
  struct sigaction where {};
  where.sa_handler = on_where;
  where.sa_flags = SA_RESTART;
  sigaction(where_signal(), &where, nullptr);
  struct sigaction crash {};
  crash.sa_handler = on_crash;
  sigaction(SIGABRT, &crash, nullptr);
  if (__asan_init == nullptr) {  // its report has more
    for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigaction(number, &crash, nullptr);
  }
  std::set_terminate(on_terminate);
  pthread_atfork(on_fork, nullptr, nullptr);
}

void report_finding(const Finding& finding) {
  ReportLine line('F');
  for (const std::string& piece : {finding.expected, finding.came, finding.look}) {
    line.letter(kBreak);
    line.text(piece.substr(0, kMostPiece).c_str());
  }
  line.send();
}

void write_file(const char* path, std::string_view text) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  [[maybe_unused]] const ssize_t put = write(file, text.data(), text.size());
  close(file);
}

/// False where it did not hold.
bool run_body(const Check& check) {
  try {
    check.run();
    return true;
  } catch (const std::exception& error) {
    // Behind the first line stands where libtorch threw, which is not the learner's.
    const std::string what = error.what();
    const std::string first = what.substr(0, what.find('\n'));
    report_finding({"no exception here", "the part threw one: " + first, "what throws"});
  } catch (...) {
    report_finding({"no exception here", "the part threw something", "what throws"});
  }
  return false;
}

std::vector<std::string> lines_of(const std::string& reported, char kind) {
  std::vector<std::string> out;
  std::istringstream lines(reported);
  for (std::string line; std::getline(lines, line);)
    if (!line.empty() && line[0] == kind) out.push_back(line.substr(1));
  return out;
}

Calls parse_calls(const std::string& words) {
  Calls out;
  std::istringstream text(words);
  text >> std::hex >> out.part;
  for (std::uintptr_t address = 0; text >> address;)
    out.addresses.push_back(reinterpret_cast<void*>(address));
  return out;
}

}  // namespace

void not_yet(const Finding& finding) {
  report_finding(finding);
  _exit(0);
}

void show(const std::vector<std::string>& lines) {
  for (const std::string& words : lines) {
    ReportLine line('S');
    line.text(words.c_str());
    line.send();
  }
}

int where_signal() { return SIGRTMAX - 1; }

void be_the_check(const Check& check, const std::string& part, const std::string& folder, int said,
                  int report) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  report_to = report;
  part_library = part.c_str();
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, 0);
  dup2(said, 1);
  dup2(said, 2);
  if (chdir(folder.c_str()) != 0) _exit(71);
  setenv("TMPDIR", folder.c_str(), 1);
  const rlimit file{kMostFile_bytes, kMostFile_bytes};
  setrlimit(RLIMIT_FSIZE, &file);
  const rlimit core{0, 0};
  setrlimit(RLIMIT_CORE, &core);
  write_file("/proc/self/oom_score_adj", "1000");  // where memory is short, this process goes and no other
  hear_of_everything();
  const bool holds = run_body(check);
  if (holds && __lsan_do_recoverable_leak_check != nullptr && __lsan_do_recoverable_leak_check() != 0)
    _exit(66);
  ReportLine('E').send();
  _exit(0);
}

bool has_ended_well(const std::string& reported) { return !lines_of(reported, 'E').empty(); }
bool has_forked(const std::string& reported) { return !lines_of(reported, 'K').empty(); }

std::string parse_shown(const std::string& reported) {
  std::string out;
  for (const std::string& line : lines_of(reported, 'S')) out += line + '\n';
  return out;
}

std::optional<Finding> parse_finding(const std::string& reported) {
  for (const std::string& line : lines_of(reported, 'F')) {
    std::vector<std::string> pieces;
    std::istringstream text(line.substr(1));
    for (std::string piece; std::getline(text, piece, kBreak);) pieces.push_back(piece);
    pieces.resize(3);
    return Finding{pieces[0], pieces[1], pieces[2]};
  }
  return std::nullopt;
}

std::optional<Crash> parse_crash(const std::string& reported) {
  for (const std::string& line : lines_of(reported, 'C')) {
    const std::size_t end = line.find(kBreak);
    if (end != std::string::npos) return Crash{line.substr(0, end), parse_calls(line.substr(end + 1))};
  }
  return std::nullopt;
}

std::vector<ThreadCalls> parse_threads(const std::string& reported) {
  std::vector<ThreadCalls> out;
  for (const std::string& line : lines_of(reported, 'W')) {
    const std::size_t end = line.find(kBreak);
    if (end == std::string::npos) continue;
    out.push_back(
        {static_cast<int>(std::strtol(line.c_str(), nullptr, 16)), parse_calls(line.substr(end + 1))});
  }
  return out;
}

}  // namespace isobar
