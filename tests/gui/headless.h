#pragma once
// The window without a window: frames are drawn into memory, widgets are clicked by name.
#include <imgui.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include "app.h"
#include "core/error.h"
#include "core/files.h"
#include "support/temp_folder.h"
#include "widgets/imgui_canvas.h"

namespace isobar {

/// An ImGui context as the window makes it, without a display.
class HeadlessContext {
 public:
  HeadlessContext(float width, float height);
  ~HeadlessContext() { ImGui::DestroyContext(); }
  HeadlessContext(const HeadlessContext&) = delete;
  HeadlessContext& operator=(const HeadlessContext&) = delete;
};

class Headless {
 public:
  explicit Headless(AppOptions options, float width = 1440, float height = 900);

  App& app() { return *app_; }
  AppState& state() { return app_->state(); }
  const TextureMaker& textures() const { return textures_; }

  void frames(int count = 1);
  /// How often the feed said that a frame would show something new.
  int changes() const { return changes_; }
  /// Frames until `done` holds, and what shows it; fails after `seconds`.
  template <class Condition>
  void until(const std::string& what, Condition done, double seconds = 300) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (true) {
      frames(2);
      if (done()) return frames(2);
      if (std::chrono::steady_clock::now() > end)
        throw Error("waited in vain for: " + what, "headless window", "");
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  /// Frames until everything that is shown has been read.
  void settle() {
    until("the window to settle", [&] { return app_->is_settled(); });
    frames(20);
  }

  bool has(const std::string& item) const;
  Box box(const std::string& item) const;
  /// Without a frame.
  void put_mouse(float x, float y);
  void move_to(float x, float y);
  void press(bool down, int button = 0);
  void click_at(float x, float y, int button = 0);
  void click(const std::string& item, int button = 0);
  void double_click(const std::string& item);
  /// Presses at one place, goes to another in steps, lets go.
  void drag(ImVec2 from, ImVec2 to, bool shift = false);
  void wheel(ImVec2 at, float turns, bool control = false);
  /// Empties the focused field, then types.
  void type(const std::string& item, const std::string& words);
  void key(int code, bool control = false, bool shift = false);
  void letter(char c);

  /// The last frame as a picture.
  Picture picture();
  /// Pixels of exactly this colour within a box of the last frame.
  int count_colour(const Box& box, ImU32 colour);
  /// The longest row of neighbouring pixels of exactly this colour: letters have none as long as a bar.
  int longest_row(const Box& box, ImU32 colour);

 private:
  HeadlessContext context_;
  MemoryTextures textures_;
  std::atomic<int> changes_{0};
  /// Visits the pixels of a box row by row.
  void each_pixel(const Box& box, const std::function<void(int x, ImU32 colour)>& visit);

  std::unique_ptr<App> app_;
};

/// Options for an app whose files all lie in `folder`; runs are in folder/runs.
AppOptions options_in(const TempFolder& folder);

/// A finished run of `steps` steps in runs/NAME, as a lesson writes it; `extra` goes into run.toml.
struct FakeRun {
  std::string name;
  int steps = 40;
  double loss = 1.0;  ///< of the first step; it falls with 1/sqrt(step)
  double step_us = 1000;
  std::string preset = "cpu_micro";
  std::string status = "done";  ///< "" = no end: it died
  std::string extra = "optim.lr = 0.001\n";
  std::string lesson = "01_baseline";
};
std::filesystem::path write_run(const TempFolder& folder, const FakeRun& run);

/// Opens `view` with a run, and waits until it is what the view has `drawn`.
void show_run(Headless& window, const std::filesystem::path& run, const std::string& lesson, View view,
              const std::string& drawn);

/// A program in the place of ./isobar that writes its arguments into folder/arguments and goes on with
/// `body`; interrupted, it ends with 75, where `body` does not put another program in its place.
std::filesystem::path fake_isobar(const TempFolder& folder, const std::string& body);

/// The whole file.
inline std::string text_of(const std::filesystem::path& file) { return read_text_file(file, 10'000'000); }

/// One step line of such a run.
std::string step_line(int step, double loss, double step_us);

}  // namespace isobar
