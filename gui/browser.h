#pragma once
// The window in a tab of a browser: no display, no GLFW, no OpenGL; the loop that draws when there is
// something new and somebody looks.
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "app.h"

namespace isobar {

struct BrowserOptions {
  std::uint16_t port = 0;          ///< 0 = a free one; with a socket, that of the printed address
  std::filesystem::path socket;    ///< "" = none; else this Unix socket listens, and no port
  std::vector<std::string> hosts;  ///< names by which a proxy knows this machine
  std::filesystem::path items;     ///< as WindowOptions has it, for tests
  double frames_per_s = 60;
  double beat_s = 20;  ///< between two signs of life to each tab
};

/// Prints the address and runs until a signal ends it. Error (exit code 1) where it cannot listen, and where
/// the address cannot be printed.
int run_browser(const AppOptions& app_options, const BrowserOptions& options,
                const std::function<void(AppState&)>& begin_with);

}  // namespace isobar
