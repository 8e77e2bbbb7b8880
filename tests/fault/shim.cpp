// Preloaded into a program under test: logs its file operations below a folder, and at the N-th kills the
// process, lets the call fail, or moves the wall clock. The plan is in the environment:
//   SHIM_UNDER=FOLDER   only calls on paths below it count
//   SHIM_LOG=FILE       one line a call: number, name, path
//   SHIM_KILL_AT=N      SIGKILL before call N takes place; a write is half done first
//   SHIM_FAIL_AT=N      call N and those behind it fail with SHIM_ERRNO
//   SHIM_GATE=FILE      calls wait while this file is there, as on a file system that stalls
//   SHIM_ONLY=NAME      counts these calls alone
//   SHIM_CLOCK_BACK=S   from the third reading on, the wall clock is S seconds behind
//   SHIM_STILL=1        the steady clock stands still, but for what the first thread sleeps in no time
//   SHIM_COST_MS=MS     with it: a call of those that count takes so long, in no time
//   SHIM_TICK_US=US     with it: so does each look of the first thread at the steady clock
//   SHIM_PAUSE_AT=N     with it: sleep N of the first thread makes the file SHIM_PAUSED, and lasts until
//                       that is removed
//   SHIM_WARNED=FILE    the process whose number is in the file gets SIGUSR1 as a child is waited for that
//                       ended with 75
//   SHIM_ALLOC_FAIL=B   memory for a tensor of exactly B bytes fails: aligned, or of malloc with a cache
//                       line more (device/cpu_allocator.h)
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

long setting(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? 0 : std::atol(text);
}

std::atomic<long> calls{0};

bool counts(const char* path) {
  const char* const under = std::getenv("SHIM_UNDER");
  return under != nullptr && path != nullptr && std::strncmp(path, under, std::strlen(under)) == 0;
}

void path_of(int fd, char* out) {
  char link[40];
  std::snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, out, PATH_MAX - 1);
  out[length > 0 ? length : 0] = '\0';
}

void note(long number, const char* name, const char* path) {
  const char* const log = std::getenv("SHIM_LOG");
  if (log == nullptr) return;
  char line[PATH_MAX + 60];
  const int length = std::snprintf(line, sizeof(line), "%ld %s %s\n", number, name, path);
  const long fd = syscall(SYS_open, log, O_WRONLY | O_APPEND | O_CREAT, 0600);
  syscall(SYS_write, fd, line, static_cast<size_t>(length));
  syscall(SYS_close, fd);
}

constexpr long kSecond_ns = 1'000'000'000;
long as_ns(const timespec& time) { return time.tv_sec * kSecond_ns + time.tv_nsec; }
timespec as_time(long ns) { return {ns / kSecond_ns, ns % kSecond_ns}; }

std::atomic<long> slept_ns{0};
/// What the steady clock says where it stands still: when it was first asked, and what was slept since.
long still_ns(const timespec& now) {
  static const long first_ns = as_ns(now);
  return first_ns + slept_ns;
}

void wait_while_there(const char* path) {
  while (access(path, F_OK) == 0) {
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
}

void pause_until_removed(const char* path) {
  if (path == nullptr) return;
  syscall(SYS_close, syscall(SYS_open, path, O_WRONLY | O_CREAT, 0600));
  wait_while_there(path);
}

void warn(const char* path) {
  long number = 0;
  FILE* const file = path == nullptr ? nullptr : std::fopen(path, "r");
  if (file == nullptr) return;
  if (std::fscanf(file, "%ld", &number) == 1 && number > 0) kill(static_cast<pid_t>(number), SIGUSR1);
  std::fclose(file);
}

enum class Verdict { go, fail, half_then_kill };

Verdict judge(const char* name, const char* path) {
  if (!counts(path)) return Verdict::go;
  const char* const only = std::getenv("SHIM_ONLY");
  if (only != nullptr && std::strcmp(only, name) != 0) return Verdict::go;
  const long number = ++calls;
  note(number, name, path);
  if (number == setting("SHIM_KILL_AT")) {
    if (std::strcmp(name, "write") == 0) return Verdict::half_then_kill;
    kill(getpid(), SIGKILL);
  }
  if (const char* const gate = std::getenv("SHIM_GATE"); gate != nullptr) wait_while_there(gate);
  slept_ns += setting("SHIM_COST_MS") * 1'000'000;
  const long fail_at = setting("SHIM_FAIL_AT");
  if (fail_at == 0 || number < fail_at) return Verdict::go;
  errno = static_cast<int>(setting("SHIM_ERRNO"));
  return Verdict::fail;
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

ssize_t write(int fd, const void* bytes, size_t count) {
  static const auto real = next<ssize_t (*)(int, const void*, size_t)>("write");
  char path[PATH_MAX];
  path_of(fd, path);
  switch (judge("write", path)) {
    case Verdict::fail:
      return -1;
    case Verdict::half_then_kill:
      real(fd, bytes, count / 2);
      kill(getpid(), SIGKILL);
      return -1;
    default:
      return real(fd, bytes, count);
  }
}

int fsync(int fd) {
  static const auto real = next<int (*)(int)>("fsync");
  char path[PATH_MAX];
  path_of(fd, path);
  return judge("fsync", path) == Verdict::fail ? -1 : real(fd);
}

int futimens(int fd, const struct timespec times[2]) noexcept {
  static const auto real = next<int (*)(int, const struct timespec*)>("futimens");
  char path[PATH_MAX];
  path_of(fd, path);
  return judge("futimens", path) == Verdict::fail ? -1 : real(fd, times);
}

int rename(const char* from, const char* to) noexcept {
  static const auto real = next<int (*)(const char*, const char*)>("rename");
  return judge("rename", from) == Verdict::fail ? -1 : real(from, to);
}

int renameat2(int from_fd, const char* from, int to_fd, const char* to, unsigned flags) noexcept {
  static const auto real = next<int (*)(int, const char*, int, const char*, unsigned)>("renameat2");
  return judge("renameat2", from) == Verdict::fail ? -1 : real(from_fd, from, to_fd, to, flags);
}

int mkdir(const char* path, mode_t mode) noexcept {
  static const auto real = next<int (*)(const char*, mode_t)>("mkdir");
  return judge("mkdir", path) == Verdict::fail ? -1 : real(path, mode);
}

int unlink(const char* path) noexcept {
  static const auto real = next<int (*)(const char*)>("unlink");
  return judge("unlink", path) == Verdict::fail ? -1 : real(path);
}

int rmdir(const char* path) noexcept {
  static const auto real = next<int (*)(const char*)>("rmdir");
  return judge("rmdir", path) == Verdict::fail ? -1 : real(path);
}

pid_t waitpid(pid_t pid, int* status, int options) {
  static const auto real = next<pid_t (*)(pid_t, int*, int)>("waitpid");
  const pid_t ended = real(pid, status, options);
  if (ended > 0 && status != nullptr && WIFEXITED(*status) && WEXITSTATUS(*status) == 75)
    warn(std::getenv("SHIM_WARNED"));
  return ended;
}

int clock_gettime(clockid_t clock, struct timespec* out) noexcept {
  static const auto real = next<int (*)(clockid_t, struct timespec*)>("clock_gettime");
  static std::atomic<long> readings{0};
  const int code = real(clock, out);
  if (clock == CLOCK_MONOTONIC && setting("SHIM_STILL") != 0) {
    *out = as_time(still_ns(*out));
    if (getpid() == gettid()) slept_ns += setting("SHIM_TICK_US") * 1000;
  }
  const long back_s = setting("SHIM_CLOCK_BACK");
  if (clock == CLOCK_REALTIME && back_s > 0 && ++readings > 3) out->tv_sec -= back_s;
  return code;
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until) {
  static const auto real =
      next<int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const struct timespec*)>(
          "pthread_cond_clockwait");
  if (clock != CLOCK_MONOTONIC || setting("SHIM_STILL") == 0) return real(condition, mutex, clock, until);
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const long left_ns = as_ns(*until) - as_ns(now);
  if (left_ns <= 0) return ETIMEDOUT;
  if (getpid() == gettid() && left_ns < 60 * kSecond_ns) {
    slept_ns += left_ns;
    static long sleeps = 0;
    if (++sleeps == setting("SHIM_PAUSE_AT")) pause_until_removed(std::getenv("SHIM_PAUSED"));
    return ETIMEDOUT;
  }
  static const auto machine = next<int (*)(clockid_t, struct timespec*)>("clock_gettime");
  machine(CLOCK_MONOTONIC, &now);  // others look again every few milliseconds
  const timespec soon = as_time(as_ns(now) + 5'000'000);
  const int code = real(condition, mutex, clock, &soon);
  return code == ETIMEDOUT ? 0 : code;
}

void* __libc_malloc(size_t bytes);  // what malloc is in the C library; looking it up by dlsym would need it

void* malloc(size_t bytes) noexcept {
  constexpr size_t kLine = 64;
  constexpr size_t kLarge = 100'000;  // others are not looked at: this is called before all else
  if (bytes > kLarge && bytes - kLine == static_cast<size_t>(setting("SHIM_ALLOC_FAIL"))) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_malloc(bytes);
}

int posix_memalign(void** out, size_t alignment, size_t bytes) noexcept {
  static const auto real = next<int (*)(void**, size_t, size_t)>("posix_memalign");
  const long refused = setting("SHIM_ALLOC_FAIL");
  return refused > 0 && bytes == static_cast<size_t>(refused) ? ENOMEM : real(out, alignment, bytes);
}

}  // extern "C"
