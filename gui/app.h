#pragma once
// The window's content without the window: draws a frame from what the feed read, and does what was asked
// for.
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "state/course_worker.h"
#include "state/feed.h"
#include "state/launcher.h"
#include "state/playground.h"
#include "state/state.h"
#include "state/summary.h"
#include "widgets/ui.h"

namespace isobar {

struct AppOptions {
  std::filesystem::path home;                  ///< folder of the project
  std::vector<std::filesystem::path> places;   ///< folders with runs; new runs go into the first
  std::filesystem::path settings;              ///< "" = nothing is remembered
  std::optional<LoadedSettings> loaded;        ///< contents of that file, where it was read already
  std::filesystem::path exports = "exports";   ///< where pictures and tables are saved
  std::filesystem::path logs;                  ///< output of what is started here
  std::filesystem::path isobar;                ///< program to start; "" = home/isobar
  std::filesystem::path rates;                 ///< file of this machine's rates; "" = where they are kept
  std::filesystem::path progress;              ///< what the learner did; "" = where it is kept
  std::filesystem::path browser = "xdg-open";  ///< opens addresses of the web
  std::filesystem::path editor = {};           ///< opens the learner's files; "" = $VISUAL, else $EDITOR
  std::filesystem::path my = {};  ///< folder of the learner's files; "" = that of ./isobar exercise
  /// Set = who looks sits elsewhere: told addresses in the place of `browser`, and no editor is opened.
  std::function<void(const std::string& address)> visit = {};
};

class App {
 public:
  /// `on_change` is called from another thread when a new frame would show something new.
  App(AppOptions options, TextureMaker& textures, const std::function<void()>& on_change);
  ~App();

  /// Draws into ImGui's frame: call between NewFrame and Render.
  void draw();
  /// Before NewFrame: fonts and style for this scale; true when the font atlas was built anew.
  bool prepare(float scale);

  /// Something on the screen moves, so another frame is due at once.
  bool is_moving() const { return ui_.moving() || toast_shown_; }
  /// Looks after a program that was started; true when something is to be drawn.
  bool poll();
  /// All that is chosen has been read.
  bool is_settled() const;

  AppState& state() { return state_; }
  const Ui& ui() const { return ui_; }
  Ui& ui() { return ui_; }
  FeedState feed_state() const { return feed_.state(); }
  std::shared_ptr<const CourseView> course() const { return worker_.view(); }
  /// What is shown, in words.
  PageWords page_words() const { return isobar::page_words(state_, data()); }
  const Project& project() const { return project_; }
  Launcher& launcher() { return launcher_; }
  /// Writes the settings if they changed.
  void remember();

 private:
  Data data() const;
  void turn_view(int direction);
  void take_keys(const Data& data, Requests& ask);
  void draw_all(const Data& data, Requests& ask);
  void draw_left(const Data& data, Requests& ask);
  void draw_centre(const Data& data, float width, Requests& ask);
  void draw_side(const Data& data, Requests& ask);
  void draw_view(const Data& data, View view, Requests& ask);
  void splitter(const char* name, double& size, float sign);
  void act(Requests ask, const Data& data);
  void act_on_course(const Requests& ask, const Data& data);
  void choose_lesson(const std::string& lesson);
  void look_at(const std::vector<std::string>& folders, const Data& data);
  void follow_link(const LinkRequest& link);
  std::unique_ptr<ChildProcess> start_beside(const std::vector<std::string>& words, const char* log);
  void open_web(const std::string& address);
  void open_editor(const std::string& file);
  void show_changes(const std::string& lesson);
  void open_file(const std::string& file, std::int64_t line, const std::string& section);
  void open_reveal(const std::string& lesson);
  bool launch(const RunRequest& request);
  void start(const RunRequest& request);
  void start_next();
  void go_on();
  void resume(const std::string& id, const Data& data);
  void save(const SaveRequest& request);
  void follow(const Data& data);
  void show_recorded();
  std::set<std::string> shown_runs(const Data& data) const;
  void wish(const Data& data);
  void say_end(int code);
  void say(std::string words);
  /// With a button that asks for `does`.
  void offer(std::string words, std::string action, Requests does);

  AppOptions options_;
  Ui ui_;
  AppState state_;
  WindowSettings remembered_;
  Project project_;
  Launcher launcher_;
  KeptRates rates_;
  std::optional<RunRequest> restart_;
  std::deque<RunRequest> queue_;  ///< what follows the program at work
  double remember_at_s_ = 0;
  double progress_at_s_ = 0;
  std::unique_ptr<ChildProcess> browser_, editor_;
  std::string died_line_;
  bool toast_shown_ = false;
  bool chose_first_ = false;
  float scale_ = 0;
  bool dark_ = true;
  Feed feed_;
  CourseWorker worker_;
};

}  // namespace isobar
