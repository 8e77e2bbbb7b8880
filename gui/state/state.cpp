#include "state/state.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/find.h"
#include "core/text.h"
#include "plot/band.h"

namespace isobar {
namespace {

constexpr std::array<const char*, kViews> kViewNames = {"watch",    "scene",    "compare", "predict",
                                                        "timeline", "pipeline", "mesh",    "memory",
                                                        "maps",     "code",     "lesson",  "run"};
constexpr std::array<const char*, kViews> kViewTitles = {"Watch",    "Scene",    "Compare", "Predict",
                                                         "Timeline", "Pipeline", "Mesh",    "Memory",
                                                         "Maps",     "Code",     "Lesson",  "Settings"};

}  // namespace

const char* view_name(View view) { return kViewNames[static_cast<std::size_t>(view)]; }

const char* view_title(View view, const LessonInfo* lesson) {
  if (view == View::scene && lesson != nullptr && scene_of(*lesson) != nullptr)
    return scene_of(*lesson)->title;
  return kViewTitles[static_cast<std::size_t>(view)];
}

bool suits(View view, const LessonInfo& lesson) {
  if (view == View::scene) return scene_of(lesson) != nullptr;
  if (view == View::pipeline) return honours(lesson, "mesh.pp");
  if (view == View::mesh) return honours(lesson, "mesh.order") || honours(lesson, "mesh.shard");
  if (view == View::predict || view == View::maps || view == View::memory) return !lesson.stands_alone;
  return true;
}

std::optional<View> view_of(std::string_view name) {
  if (scene_named(name) != nullptr) return View::scene;
  const auto* const found = std::ranges::find(kViewNames, name);
  return found == kViewNames.end() ? std::nullopt
                                   : std::optional(static_cast<View>(found - kViewNames.begin()));
}

std::string view_names() { return joined(kViewNames); }

CourseRequest done_request(const std::string& lesson, const std::string& part) {
  return {.kind = CourseRequest::Kind::done, .id = lesson, .part = part};
}

std::string FormState::text(const std::string& key) const {
  const std::string *change = find_in(changed, key), *value = find_in(values, key);
  return change != nullptr ? *change : value != nullptr ? *value : "";
}

void FormState::set(const std::string& key, const std::string& text) {
  if (values[key] == text) {
    changed.erase(key);
  } else {
    changed[key] = text;
  }
  stale = true;
}

void reset_form(FormState& form, Requests& ask) {
  ask.say = counted(static_cast<std::int64_t>(form.changed.size()), "setting") + " reset";
  ask.undo = form;
  form.changed.clear();
  form.stale = true;
}

FormState& AppState::form() {
  FormState& mine = forms[lesson];
  mine.lesson = lesson;
  return mine;
}

XAxis AppState::x_axis() const {
  const auto* const found = std::ranges::find(kAxisTitles, settings.x_axis);
  return found == kAxisTitles.end() ? XAxis::step : static_cast<XAxis>(found - kAxisTitles.begin());
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
  return fmt::format("died after {}: its stream has no end; last sign {} ago", steps,
                     human_seconds(run.view.age_s));
}

Colour state_colour(const Theme& theme, RunState state) {
  static constexpr std::array<Colour Theme::*, 6> kColours = {&Theme::dim,  &Theme::accent, &Theme::good,
                                                              &Theme::warn, &Theme::bad,    &Theme::bad};
  return theme.*kColours[static_cast<std::size_t>(state)];
}

std::string sentence_of(const Error& error) {
  return printable(error.what(), 300) + (error.hint().empty() ? "" : ": " + printable(error.hint(), 200));
}

}  // namespace isobar
