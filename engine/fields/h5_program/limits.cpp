#include "fields/h5_program/limits.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include <algorithm>

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

}  // namespace

void give_up_rights() {
#ifndef __SANITIZE_ADDRESS__  // whose shadow memory alone is larger
  limit(RLIMIT_AS, kMemoryBytes);
#endif
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_NOFILE, kFiles);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

void allow_processor_time(int seconds) {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  rlimit now{};
  getrlimit(RLIMIT_CPU, &now);
  const auto spent = static_cast<rlim_t>(used.ru_utime.tv_sec + used.ru_stime.tv_sec);
  now.rlim_cur = std::min(spent + 1 + static_cast<rlim_t>(seconds), now.rlim_max);
  setrlimit(RLIMIT_CPU, &now);
}

}  // namespace isobar
