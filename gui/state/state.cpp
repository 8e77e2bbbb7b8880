#include "state/state.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/clock.h"
#include "core/text.h"
#include "draw/band.h"

namespace isobar {
namespace {

constexpr std::array<const char*, kViews> kViewNames = {
    "watch", "descent", "theatre", "compare", "predict", "timeline", "maps", "code", "lesson", "run"};
constexpr std::array<const char*, kViews> kViewTitles = {
    "Watch", "Descent", "Theatre", "Compare", "Predict", "Timeline", "Maps", "Code", "Lesson", "Settings"};

template <class Value>
void take(Value& mine, Value& other) {
  if (other != Value{}) mine = std::move(other);
}

}  // namespace

const char* view_name(View view) { return kViewNames[static_cast<std::size_t>(view)]; }

const char* view_title(View view) { return kViewTitles[static_cast<std::size_t>(view)]; }

bool suits(View view, const LessonInfo& lesson) {
  if (view == View::descent) return lesson.name == "00_sgd";
  // Of lesson 09, and of gradients that travel in buckets.
  if (view == View::theatre) return honours(lesson, "comm.algorithm") || honours(lesson, "comm.bucket_mb");
  if (view == View::predict || view == View::maps) return !lesson.stands_alone;
  return true;
}

std::optional<View> view_of(std::string_view name) {
  for (std::size_t i = 0; i < kViewNames.size(); ++i) {
    if (name == kViewNames[i]) return static_cast<View>(i);
  }
  return std::nullopt;
}

std::string view_names() { return joined(kViewNames); }

CourseRequest beat_request(const std::string& lesson, const std::string& beat) {
  CourseRequest out;
  out.kind = CourseRequest::Kind::beat;
  out.id = lesson;
  out.beat = beat;
  return out;
}

void Requests::join(Requests other) {
  if (other.start) start = std::move(other.start);
  if (other.restart) restart = std::move(other.restart);
  if (other.view) view = other.view;
  if (other.link) link = std::move(other.link);
  if (other.course) course = std::move(other.course);
  if (other.save) save = std::move(other.save);
  if (other.undo) undo = std::move(other.undo);
  if (other.form) form = std::move(other.form);
  take(stop_started, other.stop_started);
  take(stop_run, other.stop_run);
  take(resume, other.resume);
  take(show_run, other.show_run);
  take(show_lesson, other.show_lesson);
  take(look_at, other.look_at);
  take(queue, other.queue);
  take(copy, other.copy);
  take(place, other.place);
  take(edit, other.edit);
  take(changes, other.changes);
  take(say, other.say);
  take(measure_machine, other.measure_machine);
  take(toggle_theme, other.toggle_theme);
  take(zoom_by, other.zoom_by);
  take(help, other.help);
}

std::size_t ColourBook::slot(const std::string& run) {
  return slots_.emplace(run, slots_.size()).first->second;
}

FormState& AppState::form() {
  FormState& mine = forms[lesson];
  mine.lesson = lesson;
  return mine;
}

XAxis AppState::x_axis() const {
  return settings.x_axis == "epoch"     ? XAxis::epoch
         : settings.x_axis == "time"    ? XAxis::time
         : settings.x_axis == "samples" ? XAxis::samples
                                        : XAxis::step;
}

PlotLine line_of(const std::shared_ptr<const RunEntry>& run, std::string_view curve, XAxis axis,
                 std::string label, Colour colour, Mark mark) {
  PlotLine line;
  line.id = run->id + "\n" + std::string(curve);
  line.label = std::move(label);
  line.colour = colour;
  line.mark = mark;
  line.dash = run->view.provenance == "recorded"    ? Dash::dashed
              : run->view.provenance == "predicted" ? Dash::dotted
                                                    : Dash::solid;
  if (!run->detail) return line;
  const CurveRef found = run->detail->series.find(curve);
  if (!found) return line;
  if (!found.places->knows(axis)) return line;
  line.places = &found.places->of(axis);
  line.curve = found.curve;
  line.keep = run->detail;
  return line;
}

std::string axis_title(XAxis axis) {
  switch (axis) {
    case XAxis::epoch:
      return "epoch";
    case XAxis::time:
      return "time";
    case XAxis::samples:
      return "samples";
    case XAxis::step:
      break;
  }
  return "step";
}

std::string throughput_title() { return fmt::format("Samples/s: median, p10 to p90 of {} steps", kBandRows); }

std::string short_run_name(const RunEntry& run) {
  // lesson-yyyymmdd-hhmmss-xxxx, as the engine names folders
  const std::string& name = run.name;
  if (name.size() < 22) return name;
  const std::string tail = name.substr(name.size() - 20);
  const auto digits = [&](std::size_t begin, std::size_t count) {
    return std::all_of(tail.begin() + static_cast<std::ptrdiff_t>(begin),
                       tail.begin() + static_cast<std::ptrdiff_t>(begin + count),
                       [](char c) { return c >= '0' && c <= '9'; });
  };
  if (!digits(0, 8) || tail[8] != '-' || !digits(9, 6) || tail[15] != '-') return name;
  const std::size_t below = name.rfind('/');
  return fmt::format("{}{}-{} {}:{}:{}", below == std::string::npos ? "" : name.substr(0, below + 1),
                     tail.substr(4, 2), tail.substr(6, 2), tail.substr(9, 2), tail.substr(11, 2),
                     tail.substr(13, 2));
}

std::string title_of(const RunEntry& run) {
  return run.view.lesson.empty() ? run.name : run.view.lesson + "  " + short_run_name(run);
}

std::string run_line(const RunEntry& run) {
  if (run.gone) return "its folder was deleted; this is what was read of it";
  if (run.foreign) return "event files of another program";
  const RunSummary& summary = run.view.summary;
  const std::string steps =
      fmt::format("{} of {} steps", human_count(summary.steps), human_count(summary.wanted_steps));
  const std::string reason = run.view.reason.empty() ? "" : ": " + run.view.reason;
  switch (run.view.state) {
    case RunState::empty:
      return "nothing was written yet";
    case RunState::running: {
      const double left_s =
          static_cast<double>(summary.wanted_steps - summary.steps) * summary.step_us * 1e-6;
      return steps + (summary.step_us > 0 ? ", " + human_seconds(left_s) + " left" : "");
    }
    case RunState::done:
      return run.view.provenance.empty() ? "done, " + steps : provenance_text(run.view);
    case RunState::stopped: {
      const bool without = run.view.reason.ends_with(" without a checkpoint");
      if (!without && !run.view.reason.ends_with(" with a checkpoint")) return "stopped" + reason;
      return fmt::format("stopped at step {}, {}", human_count(summary.steps),
                         without ? "no checkpoint saved" : "checkpoint saved");
    }
    case RunState::failed:
      return "failed" + reason;
    case RunState::died:
      break;
  }
  return fmt::format("died after {}: it never said its end; last sign {} ago", steps,
                     human_seconds(run.view.age_s));
}

Colour state_colour(const Theme& theme, RunState state) {
  switch (state) {
    case RunState::running:
      return theme.accent;
    case RunState::done:
      return theme.good;
    case RunState::failed:
    case RunState::died:
      return theme.bad;
    case RunState::stopped:
      return theme.warn;
    case RunState::empty:
      break;
  }
  return theme.dim;
}

}  // namespace isobar
