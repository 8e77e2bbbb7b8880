// The window: ./isobar gui [RUNS_DIR...]
#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "analyse/replay.h"
#include "analyse/run_files.h"
#include "analyse/run_reader.h"
#include "config/lesson.h"
#include "config/option_parser.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "record/run_folder.h"
#include "record/run_tree.h"
#include "window.h"

using namespace isobar;

namespace {

struct Arguments {
  std::vector<std::string> places;
  std::string screenshot;
  std::string size;
  std::string panel = "watch";
  std::string theme;
  std::string run;
  std::string lesson;
  std::string items;
  std::string replay;
  std::string speed = "20x";
  double zoom = 0;
};

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

/// Without "." and a slash at the end, so that a folder has one name only.
std::string plain_path(const std::string& text) {
  std::filesystem::path path = std::filesystem::path(text).lexically_normal();
  if (!path.has_filename() && path.has_parent_path() && path != path.root_path()) path = path.parent_path();
  return path.string();
}

/// Runs named one by one are compared; their folders are read as they are.
void choose(const Arguments& arguments, AppState& state) {
  if (!arguments.theme.empty()) state.settings.dark = arguments.theme == "dark";
  if (arguments.zoom > 0) state.settings.zoom = arguments.zoom;
  const std::optional<View> view = view_of(arguments.panel);
  if (!view) {
    throw Error("there is no panel \"" + printable(arguments.panel, 40) + "\"", "--panel", view_names());
  }
  state.view = *view;
  if (*view == View::lesson || *view == View::run) state.side = *view;
  for (const std::string& place : arguments.places) {
    const bool run = is_run_folder(place) || !event_files(place).empty();
    if (run) state.compared.insert(place);
    if (run && state.run.empty()) state.run = place;
  }
  if (!arguments.run.empty()) state.run = arguments.run;
  if (!arguments.lesson.empty()) {
    state.lesson = find_lesson(project_home(), arguments.lesson).name;
    return;
  }
  if (!is_run_folder(state.run)) return;
  // A replay says which lesson it is once it plays.
  const std::string lesson = glance(arguments.replay.empty() ? state.run : arguments.replay).lesson;
  const std::vector<std::string> known = lesson_names(project_home());
  if (std::find(known.begin(), known.end(), lesson) != known.end()) state.lesson = lesson;
}

/// What --replay plays, for as long as the window is open.
struct Replaying {
  Replaying(const std::string& run, double speed)
      : folder(run), replay(run, folder.path(), {.speed = speed}) {}

  PrivateRunFolder folder;
  Replay replay;
  std::optional<ReplayThread> thread;
};

int run(int argc, char** argv) {
  Arguments arguments;
  OptionParser parser("Watch lessons live, start and stop them, compare runs", "./isobar gui");
  parser.add("RUNS", arguments.places,
             "folders with runs or TensorBoard event files at any depth, or single runs; default: runs");
  parser.add("--screenshot", arguments.screenshot, "write a picture of the window to this PNG file and end");
  parser.add("--size", arguments.size, "size of the window, such as 1600x1000");
  parser.add("--panel", arguments.panel, "view to begin with: " + view_names());
  parser.add("--theme", arguments.theme, "dark or light").one_of({"dark", "light"});
  parser.add("--zoom", arguments.zoom, "size of the text, 1 = normal").in_range(0.6, 3.0);
  parser.add("--run", arguments.run, "run folder to show first");
  parser.add("--lesson", arguments.lesson, "lesson to show first");
  parser.add("--replay", arguments.replay, "a run that is over, to be watched again as it went");
  const OptionParser::Option speed =
      parser.add("--speed", arguments.speed, "of --replay, so many times as fast as it ran: 20x, 1x, 0.5x");
  parser.group("");
  parser.add("--items", arguments.items, "write the places of all widgets to this file (for tests)");
  if (!parser.parse(argc, argv, {.where = "./isobar gui", .hint = "./isobar gui --help lists the options"}))
    return 0;
  AppOptions app;
  app.home = project_home();
  for (std::string& place : arguments.places) place = plain_path(place);
  if (!arguments.run.empty()) arguments.run = plain_path(arguments.run);
  for (const std::string& place : arguments.places) app.places.emplace_back(place);
  if (app.places.empty()) app.places.emplace_back("runs");
  WindowOptions window;
  parse_size(arguments.size, window);
  window.screenshot = arguments.screenshot;
  window.items = arguments.items;
  if (window.screenshot.empty()) {
    app.settings = settings_file();
  } else if (window.width == 0) {
    window.width = 1440;
    window.height = 900;
  }
  std::optional<Replaying> replaying;
  if (!arguments.replay.empty()) {
    arguments.replay = find_run(arguments.replay, app.places.front()).string();
    replaying.emplace(arguments.replay, parse_speed(arguments.speed, "--speed"));
    app.places.push_back(replaying->replay.folder());
    arguments.run = replaying->replay.folder().string();
  } else if (speed.given()) {
    throw Error("--speed is that of a replay", "./isobar gui", "./isobar gui --replay RUN --speed 20x");
  }
  {
    AppState probe;  // what is asked for is checked before a window opens
    choose(arguments, probe);
  }
  const int code = run_window(app, window, [&](AppState& state) {
    choose(arguments, state);
    if (replaying) replaying->thread.emplace(replaying->replay);
  });
  if (!window.screenshot.empty()) std::printf("written: %s\n", arguments.screenshot.c_str());
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("isobar gui", [&] { return run(argc, argv); });
}
