#include "comm/meeting_port.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "comm/port_owner.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "core/waiting.h"

namespace isobar {
namespace {

struct Address {
  sockaddr_storage bytes{};
  socklen_t length = 0;
  std::string text;
};

std::string place(const std::string& host, int port) {
  return fmt::format("{}:{}", printable(host, 100), port);
}

/// What `host` resolves to; Error when nothing does.
std::vector<Address> addresses_of(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int code = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (code != 0) {
    throw Error(
        fmt::format("no address is known for the host \"{}\": {}", printable(host, 100), gai_strerror(code)),
        place(host, port), "MASTER_ADDR is the host of rank 0, as this machine can look it up");
  }
  std::vector<Address> out;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    Address address;
    std::memcpy(&address.bytes, entry->ai_addr, entry->ai_addrlen);
    address.length = entry->ai_addrlen;
    std::array<char, 64> text{};
    getnameinfo(entry->ai_addr, entry->ai_addrlen, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
    address.text = text.data();
    out.push_back(address);
  }
  freeaddrinfo(list);
  return out;
}

const sockaddr* raw(const Address& address) { return reinterpret_cast<const sockaddr*>(&address.bytes); }

/// 0, or why nobody answered within `patience_ms`.
int try_to_connect(const Address& address, int patience_ms) {
  const FileDescriptor socket(
      ::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return errno;
  if (connect(socket.number(), raw(address), address.length) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd wait{.fd = socket.number(), .events = POLLOUT, .revents = 0};
  if (poll(&wait, 1, patience_ms) <= 0) return ETIMEDOUT;
  int error = 0;
  socklen_t length = sizeof(error);
  getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &error, &length);
  return error;
}

}  // namespace

ListeningPort listen_on(const std::string& host, int port) {
  int error = 0;
  std::string tried;
  for (const Address& address : addresses_of(host, port)) {
    FileDescriptor socket(::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    if (socket.is_open()) setsockopt(socket.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (socket.is_open() && bind(socket.number(), raw(address), address.length) == 0 &&
        listen(socket.number(), 1024) == 0) {
      const int number = fcntl(socket.number(), F_DUPFD_CLOEXEC, 0);  // its owner closes it
      return {number, address.text};
    }
    if (error != EADDRINUSE) error = errno;
    tried += (tried.empty() ? "" : ", ") + address.text;
  }
  if (error == EADDRINUSE) {
    const std::string owner = port_owner(port);
    throw Error(fmt::format("port {} is held by {}", port, owner.empty() ? "another program" : owner),
                place(host, port), "end it, or set MASTER_PORT to a free one on all ranks");
  }
  if (error == EADDRNOTAVAIL) {
    throw Error(fmt::format("rank 0 is not on the host \"{}\": {} is no address of this machine",
                            printable(host, 100), tried),
                place(host, port), "MASTER_ADDR is the host of rank 0");
  }
  throw system_error("rank 0 cannot listen for the other ranks", place(host, port), error);
}

std::string wait_for_port(const std::string& host, int port, int rank, double timeout_s) {
  constexpr double kTell_s = 5;
  constexpr double kUnreachable_s = 4;
  const std::vector<Address> addresses = addresses_of(host, port);
  const std::int64_t begin_us = steady_us();
  for (bool told = false;;) {
    int error = 0;
    for (const Address& address : addresses) {
      const int one = try_to_connect(address, 2000);
      if (one == 0) return address.text;
      if (error != ECONNREFUSED) error = one;  // the one that is there and does not listen yet
    }
    const double waited_s = static_cast<double>(steady_us() - begin_us) * 1e-6;
    const bool unreachable = error == EHOSTUNREACH || error == ENETUNREACH || error == EACCES;
    if (waited_s > timeout_s || (unreachable && waited_s > kUnreachable_s)) {
      throw Error(
          fmt::format("rank {} cannot reach {} (resolves to {}): {}", rank, place(host, port),
                      addresses.front().text,
                      error == ECONNREFUSED ? "nobody listens there" : std::strerror(error)),
          fmt::format("rank {}, waited {:.3g} s", rank, waited_s),
          "see the output of rank 0; MASTER_ADDR must be an address of rank 0 that this host can reach",
          Exit::failed);
    }
    if (!told && waited_s > kTell_s) {
      told = true;
      std::fprintf(stderr, "rank %d waits for rank 0 to listen on %s\n", rank, place(host, port).c_str());
    }
    pause_us(waited_s < 1 ? 10'000 : 100'000);
  }
}

bool is_loopback(const std::string& host) {
  for (const Address& address : addresses_of(host, 1)) {
    if (address.text.starts_with("127.") || address.text == "::1") return true;
  }
  return false;
}

}  // namespace isobar
