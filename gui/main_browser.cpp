// The window in a browser's tab: ./isobar gui --browser [RUNS_DIR...]
#include <string>

#include "arguments.h"
#include "browser.h"
#include "config/option_parser.h"
#include "core/error.h"
#include "tab/door.h"

using namespace isobar;

namespace {

int run(int argc, char** argv) {
  BrowserOptions browser;
  int port = 0;
  bool in_browser = true;
  OptionParser parser("The window in a tab of your browser: open the address that it prints",
                      "./isobar gui --browser");
  Arguments arguments(parser);
  parser.add("--port", port, "port of 127.0.0.1; default: a free one. With --socket: that of the address")
      .in_range(1, 65535);
  parser.add("--socket", browser.socket,
             "a Unix socket instead of a port; its folder is made, and must be yours alone");
  parser.add("--host", browser.hosts,
             "name by which a proxy knows this machine, as the browser's address bar shows it; any number");
  parser.group("");
  parser.flag("--browser", in_browser, "how ./isobar gui chose this program");
  parser.add("--items", browser.items, "write the places of all widgets to this file (for tests)");
  parser.add("--beat", browser.beat_s, "seconds between two signs of life to each tab (for tests)")
      .in_range(0.1, 20);
  if (!parser.parse(
          argc, argv,
          {.where = "./isobar gui --browser", .hint = "./isobar gui --browser --help lists the options"}))
    return 0;
  for (std::string& host : browser.hosts) host = host_name(host);
  browser.port = static_cast<std::uint16_t>(port);
  AppOptions app = arguments.app_options();
  app.settings = settings_file();
  return run_browser(app, browser, [&](AppState& state) { arguments.begin(state); });
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("isobar gui --browser", [&] { return run(argc, argv); });
}
