#include "foreign/h5_program/limits.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

namespace isobar {
namespace {

constexpr rlim_t kMemoryBytes = rlim_t{1} << 30;
constexpr rlim_t kFiles = 5;  // the socket as 0 and 1, the null device as 2, a file, and the next one

void limit(__rlimit_resource resource, rlim_t wanted) {
  rlimit now{};
  getrlimit(resource, &now);
  const rlim_t value = std::min(wanted, now.rlim_max);
  now = {value, value};
  setrlimit(resource, &now);
}

// The shadow memory of a sanitizer alone is larger than the limit, and its runtime makes calls of its own.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsInstrumented = true;
#else
constexpr bool kIsInstrumented = false;
#endif

#if defined(__x86_64__)
/// From here on the kernel refuses (EPERM) every call but those that reading and answering need: nothing is
/// opened, started, connected, signalled or deleted, whatever runs here. A kernel that cannot do this leaves
/// it out.
void allow_only_reading() {
  static constexpr std::array kCalls = {
      __NR_recvmsg,   __NR_sendto,    __NR_pread64,       __NR_read,         __NR_write,
      __NR_lseek,     __NR_fstat,     __NR_newfstatat,    __NR_close,        __NR_mmap,
      __NR_munmap,    __NR_mremap,    __NR_mprotect,      __NR_madvise,      __NR_brk,
      __NR_futex,     __NR_setitimer, __NR_rt_sigreturn,  __NR_rt_sigaction, __NR_rt_sigprocmask,
      __NR_getpid,    __NR_gettid,    __NR_clock_gettime, __NR_gettimeofday, __NR_time,
      __NR_getrandom, __NR_exit,      __NR_exit_group};
  const auto load = [](std::size_t offset) {
    return sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<__u32>(offset));
  };
  const auto give = [](__u32 verdict) { return sock_filter BPF_STMT(BPF_RET | BPF_K, verdict); };
  std::vector<sock_filter> code = {load(offsetof(seccomp_data, arch)),
                                   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
                                   give(SECCOMP_RET_ERRNO | EPERM), load(offsetof(seccomp_data, nr))};
  for (const int call : kCalls) {
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<__u32>(call), 0, 1));
    code.push_back(give(SECCOMP_RET_ALLOW));
  }
  // abort() is a signal to oneself.
  code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_tgkill, 0, 3));
  code.push_back(load(offsetof(seccomp_data, args)));
  code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<__u32>(getpid()), 0, 1));
  code.push_back(give(SECCOMP_RET_ALLOW));
  code.push_back(give(SECCOMP_RET_ERRNO | EPERM));
  const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
#else
void allow_only_reading() {}
#endif

}  // namespace

void give_up_rights() {
  if (!kIsInstrumented) limit(RLIMIT_AS, kMemoryBytes);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_NOFILE, kFiles);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (!kIsInstrumented) allow_only_reading();
}

void allow_processor_time(int seconds) {
  itimerval timer{};
  timer.it_value.tv_sec = seconds;
  setitimer(ITIMER_PROF, &timer, nullptr);
}

}  // namespace isobar
