// The window: ./isobar gui [RUNS_DIR...]
#include <cstdio>
#include <string>

#include "arguments.h"
#include "config/option_parser.h"
#include "core/error.h"
#include "core/named_file.h"
#include "core/text.h"
#include "window.h"

using namespace isobar;

namespace {

void parse_size(const std::string& text, WindowOptions& options) {
  if (text.empty()) return;
  int width = 0;
  int height = 0;
  char rest = 0;
  if (std::sscanf(text.c_str(), "%dx%d%c", &width, &height, &rest) != 2 || width < 640 || height < 400 ||
      width > 16384 || height > 16384) {
    throw Error("\"" + printable(text, 40) + "\" is no size", "--size",
                "WIDTHxHEIGHT in pixels, at least 640x400: --size 1440x900");
  }
  options.width = width;
  options.height = height;
}

int run(int argc, char** argv) {
  WindowOptions window;
  std::string size;
  bool in_browser = false, replace = false;
  OptionParser parser("Watch lessons live, start and stop them, compare runs", "./isobar gui");
  Arguments arguments(parser);
  parser.add("--size", size, "size of the window, such as 1600x1000");
  parser.add("--screenshot", window.screenshot, "write a picture of the window to this PNG file and end");
  parser.flag(kReplace, replace, kReplaceHelp);
  parser.flag("--browser", in_browser,
              "the window in a tab of your browser, where this machine has no display; its options: "
              "./isobar gui --browser --help");
  parser.group("");
  parser.add("--items", window.items, "write the places of all widgets to this file (for tests)");
  if (!parser.parse(argc, argv, {.where = "./isobar gui", .hint = "./isobar gui --help lists the options"}))
    return 0;
  if (in_browser)
    throw Error("this program draws on a display", "--browser", "./isobar gui --browser starts the other");
  parse_size(size, window);
  if (!window.screenshot.empty())
    window.screenshot = place_of({.path = window.screenshot,
                                  .option = "--screenshot",
                                  .kind = "picture",
                                  .mark = "",
                                  .replace = replace});
  AppOptions app = arguments.app_options();
  if (window.screenshot.empty()) {
    app.settings = settings_file();
  } else if (window.width == 0) {
    window.width = 1440;
    window.height = 900;
  }
  const int code = run_window(app, window, [&](AppState& state) { arguments.begin(state); });
  if (!window.screenshot.empty()) std::printf("written: %s\n", window.screenshot.c_str());
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("isobar gui", [&] { return run(argc, argv); });
}
