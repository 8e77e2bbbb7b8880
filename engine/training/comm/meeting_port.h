#pragma once
// The port of a TCP store, opened and looked for by ourselves, so that errors name what is wrong
// with it.
#include <string>

namespace isobar {

struct ListeningPort {
  int socket = -1;      ///< listens; the caller closes it
  std::string address;  ///< the address that it is bound to, in numbers
};

/// Listens on `port` of `host`, on that address only. Errors (exit code 2): a host that nothing is known of,
/// one that is not this machine, a port that is taken (by whom, where that can be seen).
ListeningPort listen_on(const std::string& host, int port);

/// Waits until somebody listens on `port` of `host`, and returns its address in numbers. After 5 s it prints
/// on standard error what it waits for. Errors: a host that nothing is known of (exit code 2), one that
/// cannot be reached (after 4 s), nobody who listens within `timeout_s` (exit code 1).
std::string wait_for_port(const std::string& host, int port, int rank, double timeout_s);

/// Whether `host` is this machine as it speaks to itself: 127.0.0.1, ::1, or a name of those.
bool is_loopback(const std::string& host);

}  // namespace isobar
