
#include "analyse/timeline_text.h"
#include "core/json.h"

namespace isobar {

namespace {

Json to_json(const SpanTable& table, const TrackFigures& figures) {
  Json names = Json::array();
  for (const NameFigures& name : figures.names) {
    names.push_back({{"name", table.names[name.name]},
                     {"step_us", name.step_us},
                     {"share", name.share},
                     {"steps", name.steps},
                     {"bytes", name.bytes},
                     {"gb_per_s", name.bytes_per_us * 1e-3}});
  }
  return {{"track", table.tracks[figures.track]}, {"busy", figures.busy}, {"names", names}};
}

template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json();
}

}  // namespace

Json timeline_json(const SpanTable& table, const Timeline& timeline, const std::string& run) {
  Json spans = Json::array();
  for (const std::size_t i : timeline.spans) {
    const SpanRow& span = table.spans[i];
    spans.push_back({{"track", table.tracks[span.track]},
                     {"name", table.names[span.name]},
                     {"step", span.step},
                     {"begin_us", span.begin_us},
                     {"duration_us", span.duration_us()},
                     {"bytes", span.bytes}});
  }
  Json tracks = Json::array();
  for (const TrackFigures& figures : timeline.figures) tracks.push_back(to_json(table, figures));
  Json comm = nullptr;
  if (timeline.comm) {
    comm = {{"total_us", timeline.comm->total_us},
            {"exposed_us", timeline.comm->exposed_us},
            {"queued_us", timeline.comm->queued_us},
            {"calls", timeline.comm->calls},
            {"bytes", timeline.comm->bytes},
            {"overlap", or_null(timeline.comm->overlap)},
            {"backward_overlap", or_null(timeline.comm->backward_overlap)},
            {"last_bucket", or_null(timeline.comm->last_bucket)}};
  }
  Json stall = nullptr;
  if (timeline.stall) stall = {{"step_us", timeline.stall->step_us}, {"of_step", timeline.stall->of_step}};
  return {{"run", run},
          {"attempt", table.attempt},
          {"drawn",
           {{"first_step", timeline.drawn.front().step},
            {"last_step", timeline.drawn.back().step},
            {"begin_us", timeline.begin_us},
            {"end_us", timeline.end_us},
            {"spans", spans}}},
          {"steady",
           {{"first_step", timeline.steady.front().step},
            {"last_step", timeline.steady.back().step},
            {"step_us", timeline.step_us},
            {"median_step_us", timeline.median_step_us},
            {"tracks", tracks},
            {"upload_beside_compute", or_null(timeline.upload_beside_compute)},
            {"comm", comm},
            {"stall", stall},
            {"queue_slots", or_null(timeline.ready)}}},
          {"left_out", table.left_out},
          {"unread_lines", table.unread_lines}};
}

}  // namespace isobar
