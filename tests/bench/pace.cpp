// Preloaded where there is no wire of namespaces (link.sh): the kernel holds each TCP connection that the
// process makes or accepts to ISOBAR_PACE bytes a second. About 64 kB after a pause leave at once.
#include <dlfcn.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstdlib>

extern "C" __attribute__((visibility("default"))) int socket(int domain, int type, int protocol) noexcept {
  static const auto next = reinterpret_cast<int (*)(int, int, int)>(dlsym(RTLD_NEXT, "socket"));
  const int out = next(domain, type, protocol);
  const char* const rate = std::getenv("ISOBAR_PACE");
  if (out < 0 || rate == nullptr || (domain != AF_INET && domain != AF_INET6)) return out;
  const std::uint64_t bytes_per_s = std::strtoull(rate, nullptr, 10);
  setsockopt(out, SOL_SOCKET, SO_MAX_PACING_RATE, &bytes_per_s, sizeof bytes_per_s);
  return out;  // one that is accepted has it from its listener
}
