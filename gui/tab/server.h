#pragma once
// Listens on this machine alone, lets tabs in by the rules of `judge`, and carries their messages. One
// thread: the caller's, while it is in `serve`. Nothing of Boost is seen here.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "tab/door.h"
#include "tab/messages.h"

namespace isobar {

struct ServerPlace {
  std::uint16_t port = 0;        ///< on 127.0.0.1; 0 = a free one
  std::filesystem::path socket;  ///< "" = none; else this Unix socket and no port
};

class TabServer {
 public:
  /// Error (exit code 1) where the place is taken, (2) where the socket's folder lets others in.
  TabServer(Door door, const ServerPlace& place, TabEvents& events);
  ~TabServer();
  TabServer(const TabServer&) = delete;
  TabServer& operator=(const TabServer&) = delete;

  /// Waits for connections and messages: until something came or `wake` was called, at most so long.
  void serve(double seconds);
  /// From any thread: ends the wait.
  void wake();

  void send(TabId tab, std::shared_ptr<const std::string> message);
  /// After what was sent; `words` are shown in its place.
  void close(TabId tab, std::string_view words);

  const Door& door() const;
  std::uint16_t port() const;  ///< 0 = it is a Unix socket

 private:
  class Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace isobar
