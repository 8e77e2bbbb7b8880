#pragma once
// Who may come in: one address with a secret, afterwards a cookie; only by names that mean this machine, and
// only from pages of ours. No sockets here, so that each rule is a test.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace isobar {

struct Door {
  std::string
      place;  ///< last folder of the address, 64 bits: other programs of this machine get no cookie of ours
  std::string token;               ///< 128 bits, in the printed address
  std::string pass;                ///< 128 bits, in the cookie
  std::string proof;               ///< 128 bits, by which a page recognises its program
  std::vector<std::string> hosts;  ///< further names that the browser may know this machine by (--host)
};

/// The form of browsers: "Hub.example" is "hub.example". Error (exit code 2) for what is no name of a host
/// alone, such as an address of the web or a name with a port.
std::string host_name(std::string_view name);

/// With secrets of the system. Error (exit code 1) when it has none.
Door make_door(std::vector<std::string> hosts);

/// What of a request matters here; a header that is not there is "".
struct Knock {
  std::string_view method, target, host, origin, cookie, fetch_site;
  bool upgrade = false;  ///< asks for a WebSocket
};

enum class Room { page, style, script, frame_script, alive, socket };

struct Admission {
  int status = 200;        ///< 101 = may become a WebSocket
  Room room = Room::page;  ///< where status is 200 or 101
  std::string set_cookie;  ///< "" = none
  std::string words;       ///< to a person who is refused
};

/// Never throws: what cannot be read is refused.
Admission judge(const Door& door, const Knock& knock);

/// The last part of the printed address: "PLACE/?token=...".
std::string entry_of(const Door& door);

/// Headers that every answer bears; `host` was accepted by `judge`.
std::string content_policy(std::string_view host);

/// A part of the page, as it lies in the program (cmake/embed.cmake makes page_files.cpp from gui/tab/page).
struct PageFile {
  std::string_view text;
  std::string_view type;  ///< Content-Type
};

/// Type of the page and its parts; `alive` and others are empty text.
PageFile page_file(Room room);

}  // namespace isobar
