// Lessons 02, 03, 06 and 10: what ran when, from the spans of a run.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>

#include "analyse/timeline.h"
#include "core/error.h"
#include "core/stage.h"
#include "core/text.h"
#include "draw/gantt.h"
#include "draw/own/own_run.h"

namespace isobar {
namespace {

constexpr std::size_t kMostOwnRows = 12;

struct SpanLook {
  std::string stage;  ///< whose colour and hatch it has; "" = those of what has no name here
  std::string words;
};

/// Spans that mean the same look the same.
SpanLook span_look(std::string_view name) {
  static constexpr std::array<std::pair<const char*, std::pair<const char*, const char*>>, 12> kLooks = {
      {{"load", {"load", "load"}},
       {"read", {"load", "read"}},
       {"copy", {"copy", "copy"}},
       {"upload", {"copy", "upload"}},
       {"forward", {"forward", "forward"}},
       {"backward", {"backward", "backward"}},
       {"comm", {"comm", "comm"}},
       {"all-reduce", {"comm", "all-reduce"}},
       {"all_reduce", {"comm", "all-reduce"}},
       {"optimize", {"optimize", "optimize"}},
       {"replay", {"replay", "replay"}},
       {"wait", {"", ""}}}};
  for (const auto& [known, look] : kLooks) {
    if (name == known) return {look.first, look.second};
  }
  return {"rest", std::string(name)};
}

/// Which tracks a picture shows.
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
    if (std::find(own.tracks.begin(), own.tracks.end(), span.track) == own.tracks.end()) continue;
    const SpanLook look = span_look(own.table.names[span.name]);
    if (!look.stage.empty()) names[look.stage].insert(look.words);
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

Gantt timeline_gantt(const Theme& theme, const OwnTimeline& own) {
  const std::int64_t begin = own.timeline.begin_us;
  const auto ms = [&](std::int64_t us) { return static_cast<double>(us - begin) * 1e-3; };
  Gantt out;
  out.end = ms(own.timeline.end_us);
  out.axis = "time in ms";
  for (const std::size_t track : own.tracks) {
    GanttRow row{own.table.tracks[track] == "loop" ? "the loop" : own.table.tracks[track], {}};
    for (const std::size_t i : own.timeline.spans) {
      const SpanRow& span = own.table.spans[i];
      if (span.track != track) continue;
      const SpanLook look = span_look(own.table.names[span.name]);
      if (!look.stage.empty())
        row.spans.push_back(stage_span(theme, ms(span.begin_us), ms(span.end_us), look.stage, look.words));
    }
    out.rows.push_back(std::move(row));
  }
  for (const StepWindow& window : own.timeline.drawn)
    out.marks.push_back({ms(window.begin_us), fmt::format("step {}", window.step)});
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
  OwnPicture out;
  out.drawing.title = title;
  out.drawing.alt = fmt::format("Rows over time in milliseconds: {} tracks of this run during {} steps.",
                                own.tracks.size(), own.timeline.drawn.size());
  out.drawing.body = [own](Sketch& sketch, PlotPoint at, float width) {
    at.y = paint_gantt(sketch, timeline_gantt(sketch.theme(), own), at, width);
    const std::vector<LegendEntry> legend = timeline_legend(sketch.theme(), own);
    at.y = sketch.legend(at, width, legend);
    if (own.left_out == 0) return at.y;
    return sketch.words(
        at, width,
        fmt::format("{} more are left out", counted(static_cast<std::int64_t>(own.left_out), "row")));
  };
  return out;
}

}  // namespace

OwnPicture own_loaders(const OwnRun& run) {
  return timeline_picture(run, is_loader_track, "The loop of this run, and who reads for it", 3);
}

OwnPicture own_buckets(const OwnRun& run) {
  if (run.view().summary.world < 2)
    return nothing_to_draw("the run has one rank, whose gradients travel nowhere",
                           "./isobar run 06_ddp --ranks 2 makes one that has buckets to show");
  return timeline_picture(run, is_bucket_track, "The buckets of this run beside its backward", 1);
}

}  // namespace isobar
