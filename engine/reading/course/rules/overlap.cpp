// What runs beside a stage of the step, from the spans of a run.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analyse/comm_times.h"
#include "core/text.h"
#include "course/rules/all.h"
#include "course/rules/parts.h"
#include "log/spans.h"

namespace isobar {
namespace {

/// "bucket" of "bucket.12": buckets are one kind of track, and so are the threads that load.
std::string kind_of_track(const std::string& track) {
  const std::size_t dot = track.find_last_of('.');
  const bool numbered = dot != std::string::npos && dot + 1 < track.size() &&
                        track.find_first_not_of("0123456789", dot + 1) == std::string::npos;
  return numbered ? track.substr(0, dot) : track;
}

/// Sums over all steady steps.
struct Beside {
  std::vector<Interval> stage;                         ///< when it ran
  std::map<std::string, std::vector<Interval>> track;  ///< by kind, when anything but waiting did
};

std::vector<Interval> clipped(std::vector<Interval> times, const Interval& to) {
  return common_to(union_of(std::move(times)), {to});
}

Beside beside_of(const NamedRun& run, const std::string& stage) {
  const SpanTable table = read_for(run, nullptr, [&] { return read_spans(run.run->folder); });
  const std::vector<StepWindow> steady = steady_windows(step_windows(table));
  if (steady.empty()) throw Cannot{fmt::format("`{}` has no complete step in its trace", run.name), run.name};
  const bool on_device = std::ranges::find(table.tracks, "device") != table.tracks.end();
  const std::string computes = on_device ? "device" : "loop";
  Beside out;
  for (const SpanRow& span : table.spans) {
    const std::string& track = table.tracks[span.track];
    const std::string& name = table.names[span.name];
    const Interval time{span.begin_us, span.end_us};
    if (track == computes && name == stage) out.stage.push_back(time);
    if (track != "loop" && track != "device" && name != "wait")
      out.track[kind_of_track(track)].push_back(time);
  }
  const Interval whole{steady.front().begin_us, steady.back().end_us};
  out.stage = clipped(std::move(out.stage), whole);
  for (auto& [track, times] : out.track) times = clipped(std::move(times), whole);
  if (out.stage.empty()) throw Cannot{fmt::format("`{}` traced no {}", run.name, stage), run.name};
  return out;
}

double share_of(const std::vector<Interval>& part, const std::vector<Interval>& whole) {
  const std::int64_t all = length_of(whole);
  return all > 0 ? static_cast<double>(length_of(part)) / static_cast<double>(all) : 0;
}

}  // namespace

Truth overlapping_track_truth(const RuleInput& input) {
  const std::string stage = input.argument("stage", "forward");
  const NamedRun run = ended_run(input, input.argument("run"));
  const Beside beside = beside_of(run, stage);
  Truth out;
  double most = 0;
  for (const auto& [track, times] : beside.track) {
    const double share = share_of(common_to(times, beside.stage), beside.stage);
    if (share <= most) continue;
    most = share;
    out.accepted = {track};
  }
  if (out.accepted.empty())
    throw Cannot{fmt::format("in `{}` nothing overlaps {}", run.name, stage), run.name};
  out.figures = {{"track", out.accepted.front()}, {"share", percent_text(most)}, {"stage", stage}};
  out.text =
      fmt::format("{} runs in {} % of the time of {}", out.accepted.front(), percent_text(most), stage);
  out.source = source_of(run);
  return out;
}

Truth made_overlap_truth(const RuleInput& input) {
  const std::string track = input.argument("track"), stage = input.argument("stage");
  const double wanted = number_argument(input, "share") * 0.01;
  const NamedRun run = made_runs(input, 1).front();
  check_made(input, run);
  check_ended(run);
  const Beside beside = beside_of(run, stage);
  const auto found = beside.track.find(track);
  Truth out;
  out.source = source_of(run);
  if (found == beside.track.end() || found->second.empty()) {
    out.text = fmt::format("`{}` has no track {}", run.name, track);
    out.figures = {{"share", "0"}, {"wanted", percent_text(wanted)}, {"track", track}, {"stage", stage}};
    return out;
  }
  const double share = share_of(common_to(found->second, beside.stage), found->second);
  if (share >= wanted) out.accepted = {"yes"};
  out.figures = {
      {"share", percent_text(share)}, {"wanted", percent_text(wanted)}, {"track", track}, {"stage", stage}};
  out.text = fmt::format("{} % of {} overlaps {}; {} % is required", percent_text(share), track, stage,
                         percent_text(wanted));
  return out;
}

}  // namespace isobar
