#include "arguments.h"

#include <filesystem>

#include "config/lesson.h"
#include "core/error.h"
#include "core/files.h"
#include "core/find.h"
#include "core/json.h"
#include "core/text.h"
#include "log/replay.h"
#include "log/run_reader.h"
#include "record/run_folder.h"
#include "record/run_tree.h"

namespace isobar {
namespace {

/// Without "." and a slash at the end, so that a folder has one name only.
std::string plain_path(const std::string& text) {
  std::filesystem::path path = std::filesystem::path(text).lexically_normal();
  if (!path.has_filename() && path.has_parent_path() && path != path.root_path()) path = path.parent_path();
  return path.string();
}

}  // namespace

/// What --replay plays, for as long as the window is open.
struct Arguments::Replaying {
  Replaying(const std::string& run, double speed)
      : folder(run), replay(run, folder.path(), {.speed = speed}) {}

  PrivateRunFolder folder;
  Replay replay;
  std::optional<ReplayThread> thread;
};

Arguments::Arguments(OptionParser& parser) {
  parser.add("RUNS", places_,
             "folders with runs or TensorBoard event files at any depth, or single runs; default: runs");
  parser.add("--panel", panel_, "view to begin with: " + view_names());
  parser.add("--theme", theme_, "dark or light").one_of({"dark", "light"});
  parser.add("--zoom", zoom_, "size of the text, 1 = normal").in_range(0.6, 3.0);
  parser.add("--run", run_, "run folder to show first");
  parser.add("--lesson", lesson_, "lesson to show first");
  parser.add("--replay", replay_, "a run that is over, to be watched again as it went");
  speed_option_ =
      parser.add("--speed", speed_, "of --replay, so many times as fast as it ran: 20x, 1x, 0.5x");
}

Arguments::~Arguments() = default;

AppOptions Arguments::app_options() {
  AppOptions app;
  app.home = project_home();
  for (std::string& place : places_) place = plain_path(place);
  if (!run_.empty()) run_ = plain_path(run_);
  for (const std::string& place : places_) app.places.emplace_back(place);
  if (app.places.empty()) app.places.emplace_back("runs");
  prepare_replay(app);
  AppState probe;  // what is asked for is checked before a window opens
  choose(probe);
  return app;
}

void Arguments::prepare_replay(AppOptions& app) {
  if (replay_.empty()) {
    if (speed_option_->given())
      throw Error("--speed is that of a replay", "./isobar gui", "./isobar gui --replay RUN --speed 20x");
    return;
  }
  replay_ = find_run(replay_, app.places.front()).string();
  replaying_ = std::make_unique<Replaying>(replay_, parse_speed(speed_, "--speed"));
  run_ = replaying_->replay.folder().string();
  app.places.emplace_back(run_);
}

void Arguments::begin(AppState& state) {
  choose(state);
  if (replaying_) replaying_->thread.emplace(replaying_->replay);
}

/// Runs named one by one are compared; their folders are read as they are.
void Arguments::choose(AppState& state) const {
  if (!theme_.empty()) state.settings.dark = theme_ == "dark";
  if (zoom_ > 0) state.settings.zoom = zoom_;
  const std::optional<View> view = view_of(panel_);
  if (!view) throw Error("there is no panel \"" + printable(panel_, 40) + "\"", "--panel", view_names());
  state.view = *view;
  if (*view == View::scene) state.scenes.wanted = panel_;
  if (*view == View::lesson || *view == View::run) state.side = *view;
  for (const std::string& place : places_) {
    const bool run = is_run_folder(place) || !event_files(place).empty();
    if (run) state.compared.insert(place);
    if (run && state.run.empty()) state.run = place;
  }
  if (!run_.empty()) state.run = run_;
  if (!lesson_.empty()) {
    state.lesson = find_lesson(project_home(), lesson_).name;
    state.asked_lesson = true;
    return;
  }
  if (!is_run_folder(state.run)) return;
  // A replay says which lesson it is once it plays.
  const std::string lesson = glance(replay_.empty() ? state.run : replay_).lesson;
  if (holds(lesson_names(project_home()), lesson)) state.lesson = lesson;
}

void write_items(const Ui& ui, std::int64_t shown, const std::filesystem::path& file) {
  Json out;
  out[""] = shown;
  for (const UiItem& item : ui.items()) {
    Json& places = out[item.name] = Json::array();
    for (const float at : {item.box.x0, item.box.y0, item.box.x1, item.box.y1}) places.push_back(at);
    places.push_back(item.words);
  }
  write_file_whole(file, out.text());
}

}  // namespace isobar
