#include "state/settings.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>

#include "config/toml_text.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void wrong(const TomlEntry& entry) {
  throw Error(entry.key + " cannot be " + describe(entry.value), entry.origin, "");
}

double number_of(const TomlEntry& entry, double least, double most) {
  double value = 0;
  if (const auto* const real = std::get_if<double>(&entry.value)) {
    value = *real;
  } else if (const auto* const integer = std::get_if<std::int64_t>(&entry.value)) {
    value = static_cast<double>(*integer);
  } else {
    wrong(entry);
  }
  if (!std::isfinite(value)) wrong(entry);
  return std::clamp(value, least, most);
}

bool flag_of(const TomlEntry& entry) {
  const auto* const flag = std::get_if<bool>(&entry.value);
  if (flag == nullptr) wrong(entry);
  return *flag;
}

std::string text_of(const TomlEntry& entry) {
  const auto* const text = std::get_if<std::string>(&entry.value);
  if (text == nullptr) wrong(entry);
  return printable(*text, 64);
}

void take(const TomlEntry& entry, WindowSettings& s) {
  const std::string& key = entry.key;
  if (key == "dark") s.dark = flag_of(entry);
  if (key == "zoom") s.zoom = number_of(entry, 0.6, 3);
  if (key == "width") s.width = static_cast<int>(number_of(entry, 640, 16384));
  if (key == "height") s.height = static_cast<int>(number_of(entry, 400, 16384));
  if (key == "left_width") s.left_width = number_of(entry, 200, 600);
  if (key == "right_width") s.right_width = number_of(entry, 0, 900);
  if (key == "console_height") s.console_height = number_of(entry, 0, 2000);
  if (key == "smoothing") s.smoothing = number_of(entry, 0, 0.99);
  if (key == "x_axis") s.x_axis = text_of(entry);
  if (key == "log_x") s.log_x = flag_of(entry);
  if (key == "lesson") s.lesson = text_of(entry);
}

}  // namespace

fs::path settings_file() {
  const char* const config = getenv("XDG_CONFIG_HOME");
  const char* const home = getenv("HOME");
  if (config != nullptr && *config != '\0') return fs::path(config) / "isobar" / "window.toml";
  return fs::path(home != nullptr && *home != '\0' ? home : ".") / ".config" / "isobar" / "window.toml";
}

LoadedSettings load_settings(const fs::path& file) {
  LoadedSettings out;
  std::error_code code;
  if (!fs::exists(file, code)) return out;
  try {
    for (const TomlEntry& entry : read_toml(file)) take(entry, out.settings);
  } catch (const Error& error) {
    const fs::path aside = file.string() + ".broken";
    fs::rename(file, aside, code);
    out.settings = WindowSettings{};
    out.message = fmt::format(
        "the settings could not be read ({}), so the window starts with its own; the file is kept as {}",
        printable(error.what(), 160), aside.string());
  }
  return out;
}

void save_settings(const fs::path& file, const WindowSettings& s) {
  std::error_code code;
  fs::create_directories(file.parent_path(), code);
  std::string text = "# What Isobar's window remembers; delete this file to begin anew.\n";
  text +=
      fmt::format("dark = {}\nzoom = {:.3f}\nwidth = {}\nheight = {}\n", s.dark, s.zoom, s.width, s.height);
  text += fmt::format("left_width = {:.1f}\nright_width = {:.1f}\nconsole_height = {:.1f}\n", s.left_width,
                      s.right_width, s.console_height);
  text += fmt::format("smoothing = {:.3f}\nx_axis = {}\nlog_x = {}\nlesson = {}\n", s.smoothing,
                      toml_string(s.x_axis), s.log_x, toml_string(s.lesson));
  write_file_whole(file, text);
}

}  // namespace isobar
