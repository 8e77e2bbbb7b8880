#pragma once
// Messages of a tab, read strictly: one that is not exactly in the form of docs/tab_protocol.md is refused
// whole; and what happens to its connection.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace isobar {

using TabId = std::uint32_t;  ///< number of a connection, never given twice

constexpr std::size_t kMostMessageBytes = 64 * 1024;
constexpr int kTabVersion = 1;

enum class TabSays : std::uint8_t {
  hello = 1,
  size,
  shown,
  drawn,
  move,
  leave,
  button,
  wheel,
  key,
  text,
  paste,
  blur,
  alive,
  again
};

/// Each kind sets only what it has; places in pixels of the frame.
struct TabMessage {
  TabSays says = TabSays::alive;
  int version = 0, width = 0, height = 0;  ///< hello, size
  float scale = 1;
  std::uint32_t frame = 0;         ///< drawn
  float x = 0, y = 0;              ///< move, button, wheel
  float wheel_x = 0, wheel_y = 0;  ///< notches
  int code = 0;                    ///< button: 0 left, 1 right, 2 middle; key: as GLFW numbers it
  bool down = false;               ///< button, key; of shown: whether it is
  bool shift = false, control = false, alt = false;
  std::string words = {};  ///< text, paste: valid UTF-8
};

std::optional<TabMessage> read_message(std::string_view bytes);

/// Messages to a tab, beside frames.
enum class TabHears : std::uint8_t {
  frame = 1,
  texture,
  forget,
  words,
  copied,
  texts,
  beat,
  visit,
  over,
  proof
};

/// Called within TabServer::serve.
class TabEvents {
 public:
  virtual ~TabEvents() = default;
  virtual void came(TabId tab) = 0;
  virtual void left(TabId tab) = 0;
  /// False = it is no message of ours; the connection is closed.
  virtual bool said(TabId tab, std::string_view bytes) = 0;
};

}  // namespace isobar
