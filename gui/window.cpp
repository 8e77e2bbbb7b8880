// The window: ./isobar gui [RUNS_DIR...]. GLFW, OpenGL, and the loop that draws only when there is something
// new.
#include <GLFW/glfw3.h>
#include <backends/imgui_impl_glfw.h>
#include <backends/imgui_impl_opengl3.h>
#include <imgui.h>

#include <algorithm>
#include <atomic>
#include <cfloat>
#include <cstdio>
#include <deque>

#include "arguments.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/named_file.h"
#include "core/text.h"
#include "record/png.h"

namespace isobar {
namespace {

constexpr int kFramesAfterEvent = 3;  // ImGui answers an event in the frame after it
constexpr double kPoll_s = 0.25;
constexpr double kPatience_s = 60;  // for a screenshot: what is not read by then is not waited for

struct WindowOptions {
  int width = 0;  ///< 0 = as it was left
  int height = 0;
  std::filesystem::path screenshot;  ///< "" = none; else one picture is taken when everything was read
  std::filesystem::path items;  ///< "" = none; else the places of all widgets are written there, for tests
  double frames_per_s = 60;
};

std::string last_glfw_error;  // NOLINT: GLFW reports through a plain function
std::atomic<int> frames_due{kFramesAfterEvent};

struct PressedKey {
  int key = 0;
  int mods = 0;
};
std::deque<PressedKey> pressed_keys;  // NOLINT: since the last frame; GLFW reports through a plain function

std::atomic<bool> news{false};  // something was read since the last frame

std::int64_t heard = 0;  // NOLINT: buttons and keys that went down or up

void wake() {
  news = true;
  glfwPostEmptyEvent();
}

class GlTextures : public KeptTextures {
 public:
  ~GlTextures() override { drop_all(); }

 private:
  ImTextureID make(const Picture& picture) override {
    GLuint id = 0;
    glGenTextures(1, &id);
    glBindTexture(GL_TEXTURE_2D, id);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, picture.width, picture.height, 0, GL_RGBA, GL_UNSIGNED_BYTE,
                 picture.rgba.data());
    return reinterpret_cast<ImTextureID>(static_cast<std::uintptr_t>(id));
  }
  void drop(ImTextureID id) override {
    const auto name = static_cast<GLuint>(reinterpret_cast<std::uintptr_t>(id));
    glDeleteTextures(1, &name);
  }
};

/// GLFW and ImGui, alive as long as this is.
class Screen {
 public:
  Screen(int width, int height) {
    glfwSetErrorCallback([](int, const char* words) { last_glfw_error = words; });
    if (glfwInit() == 0) no_window();
    glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
    glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
    glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
    glfwWindowHintString(GLFW_X11_CLASS_NAME, "isobar");
    window_ = glfwCreateWindow(width, height, "Isobar", nullptr, nullptr);
    if (window_ == nullptr) no_window();
    glfwSetWindowSizeLimits(window_, 640, 400, GLFW_DONT_CARE, GLFW_DONT_CARE);
    glfwMakeContextCurrent(window_);
    glfwSwapInterval(1);
    listen();
    ImGui::CreateContext();
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.ConfigFlags |= ImGuiConfigFlags_NavEnableKeyboard;
    io.ConfigWindowsMoveFromTitleBarOnly = true;
    ImGui_ImplGlfw_InitForOpenGL(window_, true);
    ImGui_ImplOpenGL3_Init("#version 330");
  }
  ~Screen() {
    if (window_ != nullptr) {
      ImGui_ImplOpenGL3_Shutdown();
      ImGui_ImplGlfw_Shutdown();
      ImGui::DestroyContext();
      glfwDestroyWindow(window_);
    }
    glfwTerminate();
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  GLFWwindow* window() const { return window_; }

 private:
  [[noreturn]] void no_window() {
    glfwTerminate();
    throw Error(
        "a window cannot be opened" + (last_glfw_error.empty() ? "" : ": " + last_glfw_error), "display",
        "on a machine without a display: ./isobar gui --browser, or ./isobar gui --screenshot out.png",
        Exit::failed);
  }
  /// Whatever the user does makes a frame due. ImGui's own callbacks are added behind these.
  void listen() {
    glfwSetCursorPosCallback(window_, [](GLFWwindow*, double, double) { frames_due = kFramesAfterEvent; });
    glfwSetMouseButtonCallback(window_, [](GLFWwindow*, int, int, int) {
      frames_due = kFramesAfterEvent;
      ++heard;
    });
    glfwSetScrollCallback(window_, [](GLFWwindow*, double, double) { frames_due = kFramesAfterEvent; });
    glfwSetKeyCallback(window_, [](GLFWwindow*, int key, int, int action, int mods) {
      frames_due = kFramesAfterEvent;
      if (action != GLFW_REPEAT) ++heard;
      if (action == GLFW_PRESS && key >= 0 && key <= GLFW_KEY_LAST) pressed_keys.push_back({key, mods});
    });
    glfwSetCharCallback(window_, [](GLFWwindow*, unsigned) { frames_due = kFramesAfterEvent; });
    glfwSetWindowFocusCallback(window_, [](GLFWwindow*, int) { frames_due = kFramesAfterEvent; });
    glfwSetCursorEnterCallback(window_, [](GLFWwindow*, int) { frames_due = kFramesAfterEvent; });
    glfwSetWindowRefreshCallback(window_, [](GLFWwindow*) { frames_due = kFramesAfterEvent; });
    glfwSetFramebufferSizeCallback(window_, [](GLFWwindow*, int, int) { frames_due = kFramesAfterEvent; });
  }

  GLFWwindow* window_ = nullptr;
};

/// A key that went down and up between two frames is down for one frame all the same, with the modifiers it
/// was pressed with; keys with other modifiers wait for the next frame. ImGui does so itself from 1.87 on.
class BriefKeys {
 public:
  BriefKeys() {
    ImGuiIO& io = ImGui::GetIO();
    if (IMGUI_VERSION_NUM >= 18700) pressed_keys.clear();
    if (pressed_keys.empty()) return;
    took_ = true;
    const int mods = pressed_keys.front().mods;
    io.KeyCtrl = (mods & GLFW_MOD_CONTROL) != 0;
    io.KeyShift = (mods & GLFW_MOD_SHIFT) != 0;
    while (!pressed_keys.empty() && pressed_keys.front().mods == mods) {
      const int key = pressed_keys.front().key;
      pressed_keys.pop_front();
      if (!io.KeysDown[key]) held_.push_back(key);
      io.KeysDown[key] = true;
    }
    if (!pressed_keys.empty()) frames_due = kFramesAfterEvent;
  }
  ~BriefKeys() {
    if (!took_) return;
    ImGuiIO& io = ImGui::GetIO();
    for (const int key : held_) io.KeysDown[key] = false;
    io.KeyCtrl = io.KeysDown[GLFW_KEY_LEFT_CONTROL] || io.KeysDown[GLFW_KEY_RIGHT_CONTROL];
    io.KeyShift = io.KeysDown[GLFW_KEY_LEFT_SHIFT] || io.KeysDown[GLFW_KEY_RIGHT_SHIFT];
  }
  BriefKeys(const BriefKeys&) = delete;
  BriefKeys& operator=(const BriefKeys&) = delete;

 private:
  std::vector<int> held_;
  bool took_ = false;
};

void draw_frame(App& app, GLFWwindow* window, bool with_mouse = true) {
  float scale = 1;
  float unused = 1;
  glfwGetWindowContentScale(window, &scale, &unused);
  if (app.prepare(std::clamp(scale, 0.5F, 4.0F))) {
    ImGui_ImplOpenGL3_DestroyFontsTexture();
    ImGui_ImplOpenGL3_CreateFontsTexture();
  }
  ImGui_ImplOpenGL3_NewFrame();
  ImGui_ImplGlfw_NewFrame();
  if (!with_mouse) ImGui::GetIO().MousePos = {-FLT_MAX, -FLT_MAX};
  const BriefKeys brief;
  ImGui::NewFrame();
  app.draw();
  ImGui::Render();
  int width = 0;
  int height = 0;
  glfwGetFramebufferSize(window, &width, &height);
  glViewport(0, 0, width, height);
  const ImVec4 ground = ImGui::ColorConvertU32ToFloat4(app.ui().theme().ground);
  glClearColor(ground.x, ground.y, ground.z, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
}

void take_screenshot(GLFWwindow* window, const std::filesystem::path& file) {
  int width = 0;
  int height = 0;
  glfwGetFramebufferSize(window, &width, &height);
  const auto row = static_cast<std::size_t>(width) * 4;
  std::vector<std::uint8_t> upwards(row * static_cast<std::size_t>(height));
  glPixelStorei(GL_PACK_ALIGNMENT, 1);
  glReadPixels(0, 0, width, height, GL_RGBA, GL_UNSIGNED_BYTE, upwards.data());
  std::vector<std::uint8_t> pixels;
  for (auto end = upwards.end(); end != upwards.begin(); end -= static_cast<std::ptrdiff_t>(row))
    pixels.insert(pixels.end(), end - static_cast<std::ptrdiff_t>(row), end);
  for (std::size_t i = 3; i < pixels.size(); i += 4) pixels[i] = 255;
  write_file_whole(file, encode_png(pixels, height, width, 4));
}

/// For tests: a file beside the items asks for a picture.
bool is_picture_wanted(const std::filesystem::path& items) {
  std::error_code code;
  return !items.empty() && std::filesystem::remove(items.string() + ".shoot", code);
}

/// Frames one after the other until nothing is left to read or to ease, then the picture.
int run_for_screenshot(App& app, GLFWwindow* window, const WindowOptions& options) {
  const std::int64_t begin_us = steady_us();
  int calm = 0;
  while (calm < 12) {
    glfwPollEvents();
    draw_frame(app, window, /*with_mouse=*/false);
    if (calm < 11) glfwSwapBuffers(window);
    const bool late = static_cast<double>(steady_us() - begin_us) * 1e-6 > kPatience_s;
    calm = (app.is_settled() && !app.is_moving()) || late ? calm + 1 : 0;
    if (calm == 0) glfwWaitEventsTimeout(0.02);
  }
  take_screenshot(window, options.screenshot);
  glfwSwapBuffers(window);
  return 0;
}

/// Keeps frames that nobody asked for by hand to a part of one core: where drawing is slow (no graphics
/// card), what is read is shown less often, and training beside the window keeps its cores.
class Pace {
 public:
  /// News may be drawn now.
  bool may_draw_news() const { return steady_us() >= next_news_us_; }
  double wait_s() const { return std::max(0.001, static_cast<double>(next_news_us_ - steady_us()) * 1e-6); }
  void drawn(std::int64_t begin_us) {
    const std::int64_t spent_us = steady_us() - begin_us;
    mean_us_ += (static_cast<double>(spent_us) - mean_us_) * 0.2;
    next_news_us_ = steady_us() + std::min<std::int64_t>(700'000, kShare * spent_us);
  }
  bool is_slow() const { return mean_us_ > kSlow_us; }

 private:
  static constexpr std::int64_t kShare = 5;
  static constexpr double kSlow_us = 12'000;
  std::int64_t next_news_us_ = 0;
  double mean_us_ = 0;
};

int run_loop(App& app, GLFWwindow* window, const WindowOptions& options) {
  Pace pace;
  std::int64_t shown = 0;  // of what was heard
  while (glfwWindowShouldClose(window) == 0) {
    if (app.poll()) news = true;
    if (news && pace.may_draw_news()) {
      news = false;
      frames_due = std::max(1, frames_due.load());
    }
    if (frames_due > 0) {
      --frames_due;
      const std::int64_t begin_us = steady_us();
      app.ui().set_slow(pace.is_slow());
      draw_frame(app, window);
      if (is_picture_wanted(options.items)) take_screenshot(window, options.items.string() + ".png");
      glFinish();
      pace.drawn(begin_us);
      glfwSwapBuffers(window);
      if (Ui::has_input_left()) frames_due = std::max(1, frames_due.load());
      if (frames_due == 0) shown = heard;
      if (!options.items.empty()) write_items(app.ui(), shown, options.items);
      if (app.ui().moving()) frames_due = std::max(1, frames_due.load());
      const double left_s = 1.0 / options.frames_per_s - static_cast<double>(steady_us() - begin_us) * 1e-6;
      if (frames_due > 0 && left_s > 0) {
        glfwWaitEventsTimeout(left_s);
      } else {
        glfwPollEvents();
      }
      continue;
    }
    if (ImGui::GetIO().WantTextInput) frames_due = 1;  // the cursor blinks
    glfwWaitEventsTimeout(news ? pace.wait_s() : kPoll_s);
    std::error_code code;
    if (!options.items.empty() && std::filesystem::exists(options.items.string() + ".shoot", code))
      frames_due = 1;
  }
  return 0;
}

/// Until the window is closed, or the screenshot is taken. Error (exit code 1) when there is no display or no
/// OpenGL 3.3.
int run_window(const AppOptions& app_options, const WindowOptions& options,
               const std::function<void(AppState&)>& begin_with) {
  AppOptions with_settings = app_options;
  with_settings.loaded =
      app_options.settings.empty() ? LoadedSettings{} : load_settings(app_options.settings);
  const WindowSettings& settings = with_settings.loaded->settings;
  Screen screen(options.width > 0 ? options.width : settings.width,
                options.height > 0 ? options.height : settings.height);
  GlTextures textures;
  App app(with_settings, textures, wake);
  begin_with(app.state());
  const int code = options.screenshot.empty() ? run_loop(app, screen.window(), options)
                                              : run_for_screenshot(app, screen.window(), options);
  if (options.screenshot.empty())
    glfwGetWindowSize(screen.window(), &app.state().settings.width, &app.state().settings.height);
  return code;
}

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

int run_gui(int argc, char** argv) {
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
}  // namespace isobar

int main(int argc, char** argv) {
  return isobar::guarded_main("isobar gui", [&] { return isobar::run_gui(argc, argv); });
}
