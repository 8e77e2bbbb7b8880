// What ran when, from the spans of a run.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "analyse/timeline.h"
#include "core/error.h"
#include "core/find.h"
#include "core/stage.h"
#include "core/text.h"
#include "draw/stage_bars.h"
#include "plot/bars.h"
#include "plot/lesson_view.h"

namespace isobar {
namespace {

constexpr std::size_t kMostOwnRows = 12;

std::string span_words(const std::string& name) { return name == "all_reduce" ? "all-reduce" : name; }

using TrackFilter = std::function<bool(std::string_view)>;

bool is_loader_track(std::string_view track) {
  return track == "loop" || track == "device" || track == "upload" || track.substr(0, 5) == "load.";
}

bool is_bucket_track(std::string_view track) {
  return track == "loop" || track == "device" || track.substr(0, 7) == "bucket.";
}

struct OwnTimeline {
  SpanTable table;
  Timeline timeline;
  std::vector<std::size_t> tracks;  ///< that are shown
  std::size_t left_out = 0;
};

/// What looks alike stands in one entry.
std::vector<LegendEntry> timeline_legend(const Theme& theme, const OwnTimeline& own) {
  std::map<std::string, std::set<std::string>> names;
  for (const std::size_t i : own.timeline.spans) {
    const SpanRow& span = own.table.spans[i];
    if (!holds(own.tracks, span.track)) continue;
    const std::string& name = own.table.names[span.name];
    if (name != "wait") names[stage_of_span(name)].insert(span_words(name));
  }
  std::vector<LegendEntry> out;
  std::vector<std::string> stages(kStageNames.begin(), kStageNames.end());
  stages.emplace_back("rest");
  for (const std::string& stage : stages) {
    const std::set<std::string>& words = names[stage];
    if (!words.empty()) out.push_back(stage_entry(theme, stage, joined(words)));
  }
  return out;
}

Gantt own_gantt(const Theme& theme, const OwnTimeline& own) {
  Gantt out = timeline_gantt(own.table, own.timeline, own.tracks, [&](const std::string& name, std::size_t) {
    return name == "wait" ? std::nullopt
                          : std::optional(stage_span(theme, 0, 0, stage_of_span(name), span_words(name)));
  });
  for (GanttRow& row : out.rows) {
    if (row.label == "loop") row.label = "the loop";
  }
  return out;
}

OwnPicture timeline_picture(const OwnRun& run, const TrackFilter& shows, const std::string& title,
                            std::int64_t steps) {
  OwnTimeline own;
  try {
    own.table = read_spans(run.folder);
    own.timeline = make_timeline(own.table, run.reader->series(), {.steps = steps});
  } catch (const Error& error) {
    return nothing_to_draw(error.what(), error.hint());
  }
  for (const std::size_t track : own.timeline.tracks) {
    if (!shows(own.table.tracks[track])) continue;
    if (own.tracks.size() < kMostOwnRows)
      own.tracks.push_back(track);
    else
      ++own.left_out;
  }
  const auto body = [own](Sketch& sketch, PlotPoint at, float width) {
    at.y = paint_gantt(sketch, own_gantt(sketch.theme(), own), at, width);
    at.y = sketch.legend(at, width, timeline_legend(sketch.theme(), own));
    if (own.left_out == 0) return at.y;
    return sketch.words(
        at, width,
        fmt::format("{} more are left out", counted(static_cast<std::int64_t>(own.left_out), "row")));
  };
  return {{title, run.note,
           fmt::format("Rows over time in milliseconds: {} tracks of this run during {} steps.",
                       own.tracks.size(), own.timeline.drawn.size()),
           body}};
}

constexpr std::array<const char*, 4> kLaunched = {"forward", "backward", "optimize", "replay"};

struct HostAndDevice {
  StageTimes host, device;
};

void add_stage(StageTimes& to, const std::string& stage, std::optional<double> us) {
  if (us > 0) to.emplace_back(stage, *us);
}

/// A run that was measured says both of each stage. A predicted one says how long the host takes for the
/// whole step, and how long the device waits.
HostAndDevice host_and_device(const SteadyFigures& steady) {
  HostAndDevice out;
  for (const std::string stage : kLaunched) {
    add_stage(out.host, stage, steady.mean(stage + "_host_us"));
    if (!out.host.empty()) add_stage(out.device, stage, steady.mean(stage + "_us"));
  }
  const std::optional<double> idle_us = steady.mean("idle_us"), host_us = steady.mean("step_host_us");
  if (!out.host.empty() || !idle_us || !host_us) return out;
  out = {};
  add_stage(out.host, "launches", host_us);
  add_stage(out.device, "kernels", steady.mean("step_us").value_or(0) - *idle_us);
  return out;
}

GanttRow busy_row(const Theme& theme, const char* label, const StageTimes& parts) {
  GanttRow out{label, {}};
  double at = 0;
  for (const auto& [stage, us] : parts) {
    const std::string words = fmt::format("{} {:.2f} ms", stage, us * 1e-3);
    GanttSpan span = stage_span(theme, at, at + us * 1e-3, stage, words);
    if (stage == "launches") {
      span.colour = theme.series[1];
      span.hatch = Hatch::rising;
    } else if (stage == "kernels") {
      span.colour = theme.series[6];
    }
    span.may_stand_beside = parts.size() == 1;
    out.spans.push_back(span);
    at += us * 1e-3;
  }
  return out;
}

}  // namespace

OwnPicture own_loaders(const OwnRun& run) {
  return timeline_picture(run, is_loader_track, "The loop of this run, and who reads for it", 3);
}

OwnPicture own_buckets(const OwnRun& run) {
  if (run.view().summary.world < 2)
    return nothing_to_draw("the run has one rank, whose gradients travel nowhere",
                           "--ranks 2 makes one that has buckets to show");
  return timeline_picture(run, is_bucket_track, "The buckets of this run beside its backward", 1);
}

OwnPicture own_host_and_device(const OwnRun& run) {
  if (run.view().device == "cpu")
    return nothing_to_draw("on a processor host and device are one: nothing is launched",
                           "./isobar show LESSON --recorded --picture FILE.svg draws a recorded one");
  const HostAndDevice times = host_and_device(run.steady);
  const double host_us = total_us(times.host), device_us = total_us(times.device);
  if (!(device_us > 0))
    return nothing_to_draw("no steady step says how long host and device were busy",
                           "let it run on beyond its warm-up, then ask again");
  const auto body = [times, host_us, device_us](Sketch& sketch, PlotPoint at, float width) {
    const Gantt gantt{.rows = {busy_row(sketch.theme(), "host", times.host),
                               busy_row(sketch.theme(), "device", times.device)},
                      .end = 1.02e-3 * std::max(host_us, device_us),
                      .axis = "time in ms"};
    at.y = paint_gantt(sketch, gantt, at, width);
    const double more_ms = 1e-3 * (host_us - device_us);
    const char* const words =
        more_ms > 0 ? "The host needs {:.2f} ms more than the device: so much can be saved by launching less."
                    : "The host is done {:.2f} ms before the device: launches cost no time here.";
    return sketch.words(at, width, fmt::format(fmt::runtime(words), std::abs(more_ms)));
  };
  return {{"Host and device in a step of this run", run.note,
           fmt::format("Two bars: in a step the host is busy for {:.2f} ms, the device for {:.2f} ms.",
                       host_us * 1e-3, device_us * 1e-3),
           body}};
}

}  // namespace isobar
