#include "app.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/find.h"
#include "core/text.h"
#include "fields/checkpoint_folder.h"
#include "log/run_reader.h"
#include "panels/parts.h"
#include "record/run_folder.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr double kToast_s = 6;
constexpr double kOffer_s = 12;  // one with a button
constexpr double kRemember_s = 2;
constexpr double kProgress_s = 1;  // between two looks at the learner's file

fs::path or_else(const fs::path& path, const fs::path& other) { return path.empty() ? other : path; }

fs::path parent_of_runs(const AppOptions& options) {
  const fs::path runs = options.places.empty() ? fs::path("runs") : options.places.front();
  fs::path parent = fs::absolute(runs).lexically_normal();
  if (!parent.has_filename()) parent = parent.parent_path();
  return parent.filename() == "runs" ? parent.parent_path() : fs::current_path();
}

CourseWorker::Places course_places(const AppOptions& options, const Project& project) {
  CourseWorker::Places out{.home = options.home,
                           .runs = parent_of_runs(options) / "runs",
                           .progress = or_else(options.progress, progress_file()),
                           .my = or_else(options.my, my_folder(options.home))};
  for (const LessonCard& card : project.lessons) out.goals[card.info.name] = card.info.goals.size();
  return out;
}

double seconds_now() { return static_cast<double>(steady_us()) * 1e-6; }

}  // namespace

App::App(AppOptions options, TextureMaker& textures, const std::function<void()>& on_change)
    : options_(std::move(options)),
      ui_(textures),
      project_(read_project(options_.home)),
      launcher_(or_else(options_.isobar, options_.home / "isobar"), parent_of_runs(options_),
                or_else(options_.logs, cache_prefix() / "window")),
      rates_(or_else(options_.rates, machine_rates_file())),
      feed_(options_.places, on_change),
      worker_(course_places(options_, project_), on_change) {
  rates_.look();
  const LoadedSettings loaded = options_.loaded             ? *options_.loaded
                                : options_.settings.empty() ? LoadedSettings{}
                                                            : load_settings(options_.settings);
  state_.settings = remembered_ = loaded.settings;
  if (!loaded.message.empty()) say(loaded.message);
  state_.lesson = project_.find(loaded.settings.lesson) != nullptr ? loaded.settings.lesson
                  : project_.lessons.empty()                       ? ""
                                                                   : project_.lessons.front().info.name;
}

App::~App() {
  try {
    remember();
  } catch (const Error&) {
    // Nothing is lost but the look of the window.
  }
}

void App::remember() {
  if (options_.settings.empty()) return;
  state_.settings.lesson = state_.lesson;
  if (state_.settings == remembered_) return;
  save_settings(options_.settings, state_.settings);
  remembered_ = state_.settings;
}

bool App::prepare(float scale) {
  const auto whole = scale * static_cast<float>(state_.settings.zoom);
  if (whole == scale_ && dark_ == state_.settings.dark) return false;
  const bool fonts = whole != scale_;
  ui_.set_look(state_.settings.dark, whole);
  scale_ = whole;
  dark_ = state_.settings.dark;
  return fonts;
}

bool App::poll() {
  const bool ended = launcher_.poll();
  bool measured = ended && rates_.look();
  if (ended) go_on();
  if (ended) progress_at_s_ = 0;         // what it did for the learner is seen at once
  if (seconds_now() > remember_at_s_) {  // now and then, so that a window that is killed loses little
    remember_at_s_ = seconds_now() + kRemember_s;
    measured = rates_.look() || measured;
    try {
      remember();
    } catch (const Error& error) {
      say("the settings could not be saved: " + printable(error.what(), 160));
      options_.settings.clear();
    }
  }
  if (seconds_now() > progress_at_s_) {
    progress_at_s_ = seconds_now() + kProgress_s;
    worker_.look();
  }
  if (browser_ && browser_->exit_code()) browser_.reset();
  if (editor_ && editor_->exit_code()) editor_.reset();
  // "last sign 12 s ago" goes on.
  const auto run = feed_.state().runs->find(state_.run);
  const std::string line = run && run->view.state == RunState::died ? run_line(*run) : "";
  const bool aged = line != died_line_;
  died_line_ = line;
  const bool toast_over = toast_shown_ && seconds_now() > state_.toast_until_s;
  toast_shown_ = !state_.toast.empty() && seconds_now() <= state_.toast_until_s;
  const bool next_map = state_.view == View::maps && state_.maps.is_due(seconds_now());
  return ended || measured || toast_over || aged || next_map;
}

/// After a program that was started here ended.
void App::go_on() {
  const int code = launcher_.last_code().value_or(0);
  if (restart_) {
    const RunRequest next = *restart_;
    restart_.reset();
    return start(next);
  }
  if (code == 0) return start_next();
  queue_.clear();
  say_end(code);
}

void App::start_next() {
  if (queue_.empty() || launcher_.is_running()) return;
  const RunRequest next = queue_.front();
  queue_.pop_front();
  start(next);
}

/// A run that was asked to stop did as it was told; any other code than 0 is a failure.
void App::say_end(int code) {
  if (launcher_.request().command() == "check" && code == static_cast<int>(Exit::failed))
    return say("Checked: the first check that does not hold says why");
  const bool saved = code == static_cast<int>(Exit::checkpointed);
  if (!saved && code != 128 + SIGINT && code != 128 + SIGTERM) {
    say(fmt::format("{} ended with exit code {}; the console says why", launcher_.request().lesson, code));
    if (state_.run.empty()) state_.settings.console_height = std::max(220.0, state_.settings.console_height);
    return;
  }
  const std::string run = data().started_run;
  if (run.empty()) return say("Stopped before the first step");
  const std::string words = fmt::format("Stopped at step {}, {}", human_count(glance(run).summary.steps),
                                        saved ? "checkpoint saved" : "no checkpoint saved");
  if (list_checkpoints(RunFolder{run}.checkpoints()).empty()) return say(words);
  Requests ask;
  ask.resume = run;
  offer(words, "Resume", std::move(ask));
}

void App::say(std::string words) { offer(std::move(words), "", {}); }

void App::offer(std::string words, std::string action, Requests does) {
  state_.toast = std::move(words);
  state_.toast_until_s = seconds_now() + (action.empty() ? kToast_s : kOffer_s);
  state_.toast_action = std::move(action);
  state_.toast_ask = std::move(does);
}

Data App::data() const {
  Data data{project_,
            feed_.state(),
            launcher_.is_running(),
            queue_.size(),
            launcher_.last_pid(),
            launcher_.request(),
            "",
            rates_.rates(),
            rates_.problem(),
            worker_.view()};
  const auto* const started = find_where(data.feed.runs->runs, [&](const auto& run) {
    return data.started_pid > 0 &&
           (run->view.pid == data.started_pid || run->view.parent_pid == data.started_pid) &&
           (!data.started.words.empty() || run->view.lesson == data.started.lesson);
  });
  if (started != nullptr) data.started_run = (*started)->id;
  return data;
}

void App::draw() {
  state_.now_s = seconds_now();
  const Data now = data();
  follow(now);
  ui_.begin_frame();
  if (const auto run = now.feed.runs->find(state_.run)) follow_preset(project_, state_.form(), *run);
  if (state_.form().stale) check_form(project_, state_.form());
  Requests ask;
  take_keys(now, ask);
  draw_all(now, ask);
  act(std::move(ask), now);
  ui_.end_frame();
  wish(now);
}

/// Starts a program; false, with a message, where it did not start.
bool App::launch(const RunRequest& request) {
  try {
    launcher_.start(request);
    return true;
  } catch (const Error& error) {
    say(sentence_of(error));
    return false;
  }
}

void App::start(const RunRequest& request) {
  const LessonCard* const card = project_.find(request.lesson);
  const bool of_lesson = request.command() != "quiz" && request.command() != "ladder";
  if (of_lesson && card != nullptr && !card->cannot_run.empty())
    return say(request.lesson + " " + card->cannot_run);
  if (!launch(request)) return;
  const fs::path runs = parent_of_runs(options_) / "runs";
  const bool listed = std::ranges::any_of(options_.places, [&](const fs::path& place) {
    std::error_code code;
    return fs::absolute(place).lexically_normal() == runs || fs::equivalent(place, runs, code);
  });
  if (!listed) feed_.add_place(runs);
  state_.run.clear();
  state_.follow_new = true;
  if (state_.view == View::compare) state_.view = View::watch;
}

void App::choose_lesson(const std::string& lesson) {
  if (lesson != state_.lesson) state_.code = {};
  state_.lesson = lesson;
  show_recorded();
}

void App::act(Requests ask, const Data& data) {
  if (ask.toggle_theme) state_.settings.dark = !state_.settings.dark;
  if (ask.zoom_by > 0) state_.settings.zoom = std::clamp(state_.settings.zoom * ask.zoom_by, 0.6, 3.0);
  if (ask.help) state_.help = !state_.help;
  if (!ask.show_lesson.empty()) choose_lesson(ask.show_lesson);
  if (ask.view) state_.view = *ask.view;
  act_on_course(ask, data);
  if (!ask.show_run.empty()) {
    state_.run = ask.show_run;
    state_.follow_new = false;
    state_.watch.link.fit_x = true;
    if (const auto run = data.feed.runs->find(ask.show_run);
        run && project_.find(run->view.lesson) != nullptr) {
      state_.lesson = run->view.lesson;
    }
    if (state_.view != View::maps) state_.view = View::watch;
  }
  if (ask.stop_started) {
    restart_.reset();
    queue_.clear();
    launcher_.stop();
    say("stopping: the step is finished first");
  }
  if (!ask.stop_run.empty()) {
    const auto run = data.feed.runs->find(ask.stop_run);
    const bool sent =
        run && interrupt_writer(static_cast<pid_t>(run->view.pid), RunFolder{run->folder}.stream_file(0));
    say(sent ? "stopping: the step is finished first"
             : "this run is not written by a process of this machine that may be stopped from here");
  }
  if (ask.restart) {
    restart_ = ask.restart;
    launcher_.stop();
  }
  if (!ask.resume.empty()) resume(ask.resume, data);
  if (ask.measure_machine)
    launch({.lesson = state_.lesson, .words = {"predict", state_.lesson, "--measure"}});
  if (ask.start) start(*ask.start);
  if (!ask.queue.empty()) {
    queue_.assign(ask.queue.begin(), ask.queue.end());
    start_next();
  }
  if (!ask.place.empty()) feed_.add_place(ask.place);
  if (!ask.copy.empty()) {
    ImGui::SetClipboardText(ask.copy.c_str());
    say("copied");
  }
  if (ask.save) save(*ask.save);
  if (ask.form) state_.forms[ask.form->lesson] = std::move(*ask.form);
  if (ask.say.empty()) return;
  Requests back;
  back.form = ask.undo;
  offer(ask.say, ask.undo ? "Undo" : "", std::move(back));
}

void App::resume(const std::string& id, const Data& data) {
  const auto run = data.feed.runs->find(id);
  if (!run) return;
  if (list_checkpoints(RunFolder{run->folder}.checkpoints()).empty()) {
    say("this run saved no checkpoint; train.checkpoint_every saves one every so many steps");
    return;
  }
  const std::string folder = fs::absolute(run->folder).string();  // the program starts in another one
  start({.lesson = run->view.lesson, .resume = folder});
  state_.run = id;  // it goes on in its own folder
  state_.follow_new = false;
}

void App::save(const SaveRequest& request) {
  static constexpr const char* kEndings[] = {".svg", ".png", ".csv"};
  const std::string ending = kEndings[static_cast<std::size_t>(request.kind)];
  std::string name = request.name;
  try {
    std::error_code code;
    fs::create_directories(options_.exports, code);
    std::replace_if(
        name.begin(), name.end(), [](char c) { return !is_name_letter(c); }, '-');
    fs::path file = options_.exports / (name + ending);
    for (int i = 2; fs::exists(fs::symlink_status(file, code)) && i < 1000; ++i) {
      file = options_.exports / fmt::format("{}-{}{}", name, i, ending);
    }
    write_file_whole(file, request.bytes);
    say("saved " + file.string());
  } catch (const Error& error) {
    say("not saved: " + printable(error.what(), 200));
  }
}

}  // namespace isobar
