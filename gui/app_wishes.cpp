// What the window follows by itself, and what it wants to be read for what it shows.
#include <algorithm>

#include "app.h"
#include "panels/views.h"
#include "record/run_folder.h"

namespace isobar {

namespace fs = std::filesystem;

/// Chooses what is shown when nobody did: the run that was just started, at first the newest, of the lesson
/// where one was asked for.
void App::follow(const Data& data) {
  if (data.starting && state_.follow_new && !data.started_run.empty()) {
    state_.run = data.started_run;
    state_.follow_new = false;
  }
  if (chose_first_ || data.feed.runs->runs.empty()) return;
  chose_first_ = data.feed.first_look_done;
  if (!state_.run.empty()) return;
  const auto& runs = data.feed.runs->runs;
  const auto fits = [&](const auto& run) {
    return !state_.asked_lesson || run->view.lesson == state_.lesson;
  };
  auto found = std::ranges::find_if(
      runs, [&](const auto& run) { return fits(run) && run->view.state == RunState::running; });
  if (found == runs.end()) found = std::ranges::find_if(runs, fits);
  if (found == runs.end()) return;
  const auto& first = *found;
  if (data.starting || !first->view.provenance.empty()) return;
  state_.run = first->id;
  if (project_.find(first->view.lesson) != nullptr) state_.lesson = first->view.lesson;
}

/// Of a lesson that cannot run here, the run that was recorded or predicted instead.
void App::show_recorded() {
  const LessonCard* const card = project_.find(state_.lesson);
  if (card == nullptr || card->recorded.empty()) return;
  for (const RecordedRun& run : card->recorded) feed_.add_place(run.folder);
  state_.run = card->recorded.front().folder.string();
  state_.follow_new = false;
  state_.watch.link.fit_x = true;
}

/// The runs that are shown, so that everything of them is read.
std::set<std::string> App::shown_runs(const Data& data) const {
  std::set<std::string> out;
  if (!state_.run.empty()) out.insert(state_.run);
  if (state_.view == View::compare) {
    out.insert(state_.compared.begin(), state_.compared.end());
    out.merge(possible_repeats(*data.feed.runs, ticked_runs(*data.feed.runs, state_.compared)));
  }
  if (state_.view == View::memory) out.insert(state_.compared.begin(), state_.compared.end());
  return out;
}

void App::wish(const Data& data) {
  FeedWishes wishes;
  wishes.open = shown_runs(data);
  if (state_.view == View::maps)
    std::tie(wishes.fields_run, wishes.fields_step) = wanted_fields(data, state_);
  const bool mine = data.starting && (state_.run.empty() || state_.run == data.started_run);
  if (mine || (state_.run.empty() && !launcher_.log().empty())) {
    wishes.console = launcher_.log();
  } else if (!state_.run.empty()) {
    wishes.console = RunFolder{state_.run}.console_file();
  }
  wishes.log = launcher_.log();
  feed_.wish(wishes);
  const auto& runs = data.feed.runs->runs;
  const auto done = std::ranges::count_if(runs, [](auto& run) {
    return run->view.state != RunState::running && run->view.state != RunState::empty && !run->gone;
  });
  const auto run = data.feed.runs->find(state_.run);
  const bool own =
      run && run->view.lesson == state_.lesson && run->view.state == RunState::done && !run->gone;
  worker_.wish({.lesson = state_.lesson,
                .question = state_.course.question,
                .run = own ? run->folder : fs::path(),
                .runs_done = static_cast<std::uint64_t>(done),
                .rates = data.rates});
}

bool App::is_settled() const {
  const Data now = data();
  if (!now.feed.first_look_done || now.feed.runs->unread > 0 || !now.course->ready || !worker_.is_idle())
    return false;
  const ClusterPlay& cluster = state_.play.cluster;
  if (state_.view == View::predict && cluster.shown && cluster.answers.is_busy()) return false;
  for (const std::string& id : shown_runs(now)) {
    const auto run = now.feed.runs->find(id);
    if (run && !run->gone && run->problem.empty() && (!run->detail || !run->detail->complete)) return false;
  }
  if (state_.view != View::maps) return true;
  const auto [id, step] = wanted_fields(now, state_);
  return id.empty() || (now.feed.fields && now.feed.fields->run == id && now.feed.fields->step == step);
}

}  // namespace isobar
