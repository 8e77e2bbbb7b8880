#pragma once
// What the window remembers between starts.
#include <filesystem>
#include <string>

namespace isobar {

struct WindowSettings {
  bool dark = true;
  double zoom = 1;  ///< zoom of the text, on top of the monitor's scale
  int width = 1440;
  int height = 900;
  double left_width = 264;    ///< pixels at zoom 1
  double right_width = 0;     ///< 0 = a part of the window
  double console_height = 0;  ///< 0 = folded to one line
  double smoothing = 0;
  std::string x_axis = "step";
  bool log_x = false;
  std::string lesson;  ///< shown last
  bool operator==(const WindowSettings&) const = default;
};

struct LoadedSettings {
  WindowSettings settings;
  std::string message;  ///< what happened to a file that could not be used; "" = nothing
};

/// Reads the file. One that is broken is kept as FILE.broken and reported; values out of range are
/// brought into it.
LoadedSettings load_settings(const std::filesystem::path& file);

/// Writes the file, whole or not at all.
void save_settings(const std::filesystem::path& file, const WindowSettings& settings);

/// $XDG_CONFIG_HOME/isobar/window.toml, else ~/.config/isobar/window.toml.
std::filesystem::path settings_file();

}  // namespace isobar
