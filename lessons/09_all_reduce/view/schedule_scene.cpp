#include "09_all_reduce/view/schedule_scene.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "09_all_reduce/view/schedule_picture.h"
#include "core/error.h"
#include "core/find.h"
#include "core/text.h"
#include "record/run_folder.h"

namespace isobar::lesson_09 {
namespace {

constexpr double kLookEvery_s = 3;  // reading holds up the window
constexpr float kLeastCells = 90;
constexpr std::array kKinds = {AllReduceKind::naive, AllReduceKind::tree, AllReduceKind::ring};

struct PlanKnob {
  const char* name;
  const char* title;
  double SchedulePlan::*value;
  std::vector<double> places;
  std::string (*words)(double);
};

std::vector<double> counts_from(int first, int last) {
  std::vector<double> out;
  for (int i = first; i <= last; ++i) out.push_back(i);
  return out;
}

std::string count_words(double value) { return fmt::format("{:g}", value); }

const std::vector<PlanKnob>& plan_knobs() {
  static const std::vector<PlanKnob> kKnobs = {
      {"messages ranks", "Ranks, N", &SchedulePlan::ranks, counts_from(2, kMostScheduleRanks), count_words},
      {"messages chunks", "Chunks of the buffer, C", &SchedulePlan::chunks, counts_from(1, 32), count_words},
      {"messages bytes",
       "Buffer, S",
       &SchedulePlan::bytes,
       {1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20},
       [](double value) {
         return value < 1 << 20 ? fmt::format("{:g} KiB", value / (1 << 10))
                                : fmt::format("{:g} MiB", value / (1 << 20));
       }},
      {"messages latency",
       "Latency of a message, a",
       &SchedulePlan::latency_us,
       {0, 1, 2, 5, 10, 20, 50, 100, 200, 1000},
       [](double value) { return fmt::format("{:g} us", value); }},
      {"messages bandwidth",
       "Bandwidth of a link, B",
       &SchedulePlan::gbit_per_s,
       {0.1, 1, 10, 25, 100, 200, 400, 3600, 0},
       [](double value) { return value == 0 ? std::string("no limit") : fmt::format("{:g} Gb/s", value); }}};
  return kKnobs;
}

std::string choice_text(const ScheduleChoice& choice) {
  return fmt::format("step {}, {}", choice.step, choice.of);
}

/// Of the ranks that the view has room for, and one more.
std::vector<Stamp> stamps_of(const std::filesystem::path& folder) {
  std::vector<Stamp> out;
  for (const int rank : ranks_in(folder)) {
    if (rank <= kMostScheduleRanks) out.push_back(stamp_of(RunFolder{folder}.spans_file(rank)));
  }
  return out;
}

}  // namespace

bool ScheduleScene::take(const SceneInput& input, std::size_t) {
  keep_run(input.run, input.now_s);
  keep_schedule();
  return std::exchange(begins_again_, false);
}

void ScheduleScene::keep_run(const SceneRun& run, double now_s) {
  const bool was_read = recorded_ || !run_problem_.empty();
  const bool is_other = !was_read || run.id != run_.id;
  if (!is_other && (run.id.empty() || now_s < looked_s_ + kLookEvery_s)) return;
  const std::vector<Stamp> stamps = run.id.empty() ? std::vector<Stamp>{} : stamps_of(run.folder);
  looked_s_ = now_s;
  if (!is_other && run == run_ && stamps == stamps_) return;
  if (is_other) {
    chosen_ = {.step = -1, .of = ""};
    begins_again_ = of_run_.value_or(true);
  }
  run_ = run;
  stamps_ = stamps;
  read_run();
}

void ScheduleScene::read_run() {
  recorded_.reset();
  choices_.clear();
  made_of_.clear();
  run_problem_ = "no run is chosen";
  run_hint_ = "choose one on the left";
  if (run_.id.empty()) return;
  try {
    recorded_ =
        std::make_unique<const ScheduleRun>(run_.folder, run_.goes_on ? RunGoesOn::yes : RunGoesOn::no);
    run_problem_.clear();
    for (const ScheduleChoice& choice : recorded_->choices()) choices_.push_back(choice_text(choice));
  } catch (const Error& error) {
    run_problem_ = printable(error.what(), 200);
    run_hint_ = printable(error.hint(), 200);
  }
}

void ScheduleScene::keep_schedule() {
  if (shows_run() && recorded_ && !holds(recorded_->choices(), chosen_))
    chosen_ = recorded_->choices().front();
  const std::string made_of =
      shows_run() ? fmt::format("{} {} {}", run_.id, chosen_.step, chosen_.of)
                  : fmt::format("{} {} {} {} {} {}", name_of(plan_.kind), plan_.ranks, plan_.chunks,
                                plan_.bytes, plan_.latency_us, plan_.gbit_per_s);
  if (made_of_ == made_of) return;
  made_of_ = made_of;
  schedule_.reset();
  problem_.clear();
  hint_.clear();
  if (shows_run() && !recorded_) {
    problem_ = run_problem_;
    hint_ = run_hint_;
    return;
  }
  try {
    schedule_ = shows_run()
                    ? recorded_->schedule(chosen_)
                    : plan_schedule(plan_.kind, static_cast<int>(plan_.ranks), static_cast<int>(plan_.chunks),
                                    plan_.bytes, link_of(plan_.latency_us, plan_.gbit_per_s));
  } catch (const Error& error) {
    problem_ = printable(error.what(), 200);
    hint_ = printable(error.hint(), 200);
  }
}

void ScheduleScene::add_plan(std::vector<SceneControl>& out) const {
  SceneControl kind{.kind = SceneControl::Kind::choices,
                    .name = "algorithm",
                    .title = "Algorithm",
                    .tip = "--set comm.algorithm=..."};
  for (const AllReduceKind one : kKinds) {
    if (one == plan_.kind) kind.at = kind.places.size();
    kind.places.emplace_back(name_of(one));
  }
  out.push_back(kind);
  for (const PlanKnob& knob : plan_knobs()) {
    SceneControl& control = out.emplace_back(
        SceneControl{.kind = SceneControl::Kind::knob, .name = knob.name, .title = knob.title});
    for (const double place : knob.places) {
      if (place == plan_.*knob.value) control.at = control.places.size();
      control.places.push_back(knob.words(place));
    }
  }
  if (run_.id.empty() || run_problem_.empty()) return;
  out.push_back({.kind = SceneControl::Kind::warning,
                 .title = "The chosen run cannot be stepped through: " + run_problem_ + "."});
  if (!run_hint_.empty()) out.push_back({.title = run_hint_});
}

void ScheduleScene::add_recorded(std::vector<SceneControl>& out) const {
  out.push_back({.title = run_.id.empty() ? "No run is chosen" : run_.title});
  if (!recorded_) return;
  const auto at = std::ranges::find(recorded_->choices(), chosen_) - recorded_->choices().begin();
  out.push_back({.kind = SceneControl::Kind::list,
                 .name = "messages step",
                 .title = "The run's all-reduces",
                 .places = choices_,
                 .at = static_cast<std::size_t>(at)});
  if (const std::size_t more = recorded_->left_out(); more > 0)
    out.push_back(
        {.title = fmt::format("The first {} are listed, {} more are left out.", choices_.size(), more)});
  if (!schedule_) return;
  out.push_back(
      {.title = fmt::format("{}, {}, {}", name_of(schedule_->kind), counted(schedule_->ranks, "rank"),
                            human_bytes(static_cast<std::uint64_t>(schedule_->bytes)))});
  if (std::isnan(schedule_->start.front().front()))
    out.push_back({.title = "The numbers themselves are recorded in step 0 of lesson 09 alone."});
}

std::vector<SceneControl> ScheduleScene::controls() const {
  std::vector<SceneControl> out = {{.kind = SceneControl::Kind::choices,
                                    .name = "source",
                                    .places = {"the plan", "the chosen run"},
                                    .at = shows_run() ? std::size_t{1} : std::size_t{0}}};
  if (shows_run())
    add_recorded(out);
  else
    add_plan(out);
  return out;
}

Scene::Asked ScheduleScene::turn(std::string_view name, std::size_t place) {
  bool begins_again = true;
  if (name == "source") {
    of_run_ = place == 1;
  } else if (name == "algorithm") {
    plan_.kind = kKinds.at(place);
  } else if (name == "messages step") {
    chosen_ = recorded_->choices().at(place);
  } else if (const PlanKnob* const knob = find_by(plan_knobs(), &PlanKnob::name, name)) {
    const bool one_a_rank = plan_.chunks == plan_.ranks;
    plan_.*knob->value = knob->places.at(place);
    if (knob->value == &SchedulePlan::ranks && one_a_rank) plan_.chunks = plan_.ranks;
    begins_again = knob->value == &SchedulePlan::ranks || knob->value == &SchedulePlan::chunks;
  }
  keep_schedule();
  return begins_again ? Asked{.shown = 0} : Asked{};
}

Scene::Asked ScheduleScene::hold(std::string_view, PlotPoint at) {
  const float part = std::clamp((at.x - clock_.x0) / clock_.width(), 0.0F, 1.0F);
  return {.shown = schedule_step_at(*schedule_, part)};
}

std::vector<SceneGrip> ScheduleScene::grips() const {
  if (!schedule_) return {};
  return {{.name = "messages clock", .box = clock_}};
}

float ScheduleScene::paint(Sketch& sketch, std::size_t done, const Box& box) {
  const float inset = sketch.px(14), room = box.width() - 2 * inset, x = box.x0 + inset;
  float y = paint_schedule_clock(sketch, *schedule_, done, {x, box.y0 + inset}, room);
  clock_ = {x, box.y0 + inset, x + room, y};
  // The longest sentence has two lines: what is below stands still while one steps.
  const float line = sketch.canvas().line_height(Face::text) * 1.2F;
  sketch.words({x, y + sketch.px(8)}, room, schedule_sentence(*schedule_, done), {.face = Face::text});
  y += sketch.px(8) + 2 * line + sketch.px(10);
  const std::vector<std::string> counters = schedule_counter_lines(*schedule_, schedule_->after(done));
  const float below = sketch.px(12) + line * static_cast<float>(counters.size()) + inset;
  const float rest = schedule_rest_height(sketch, *schedule_, room);
  const float cells = (box.y1 - y - below - rest) / sketch.px(1);
  y = paint_schedule(sketch, *schedule_, done, {x, y}, room, std::max(kLeastCells, cells)) + sketch.px(12);
  for (const std::string& words : counters) y = sketch.words({x, y}, room, words, {.face = Face::text});
  return y;
}

Drawing ScheduleScene::below() const {
  if (!schedule_) return {};
  return {"", "", "", [this](Sketch& sketch, PlotPoint at, float width) {
            return paint_schedule_legend(sketch, *schedule_, at, width);
          }};
}

namespace {

/// An all-reduce of its own, or gradients that travel in buckets.
bool suits_schedule(const LessonInfo& lesson) {
  return honours(lesson, "comm.algorithm") || honours(lesson, "comm.bucket_mb");
}

const AddScene kScene{{"Messages", suits_schedule,
                       []() -> std::unique_ptr<Scene> { return std::make_unique<ScheduleScene>(); }}};

}  // namespace

}  // namespace isobar::lesson_09
