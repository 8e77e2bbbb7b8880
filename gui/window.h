#pragma once
// The window itself: GLFW, OpenGL, and the loop that draws only when there is something new.
#include <filesystem>
#include <memory>
#include <string>

#include "app.h"

namespace isobar {

struct WindowOptions {
  int width = 0;  ///< 0 = as it was left
  int height = 0;
  std::filesystem::path screenshot;  ///< "" = none; else one picture is taken when everything was read
  std::filesystem::path items;  ///< "" = none; else the places of all widgets are written there, for tests
  double frames_per_s = 60;
};

/// Opens the window and runs until it is closed (or the screenshot is taken). Error (exit code 1) when there
/// is no display or no OpenGL 3.3.
int run_window(const AppOptions& app_options, const WindowOptions& options,
               const std::function<void(AppState&)>& begin_with);

}  // namespace isobar
