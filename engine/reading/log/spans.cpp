#include "log/spans.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "core/error.h"
#include "core/number_text.h"
#include "core/text.h"
#include "record/run_folder.h"
#include "record/span_writer.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostTrackBytes = 40;

/// "load.10" as ("load.", 10): so that numbers sort as numbers.
std::pair<std::string, std::uint64_t> parts_of(const std::string& track) {
  std::size_t digits = track.size();
  while (digits > 0 && track[digits - 1] >= '0' && track[digits - 1] <= '9') --digits;
  const auto number = number_of<std::uint64_t>(std::string_view(track).substr(digits));
  if (!number) return {track, 0};
  return {track.substr(0, digits), *number};
}

/// A chunk, a step among chunks, or a rank; -1 where it is not known, or makes no sense.
std::int16_t small(const Event& event, std::string_view key) {
  const std::int64_t value = event.integer(key, -1);
  return static_cast<std::int16_t>(value < 0 || value > INT16_MAX ? -1 : value);
}

std::size_t place_among(const std::string& track) {
  static constexpr std::array<std::string_view, 8> kFirst = {
      "loop", "device", "tp.forward", "tp.backward", "bucket.", "gradients", "weights", "upload"};
  const std::string name = track.starts_with("bucket.") ? "bucket." : track;
  return static_cast<std::size_t>(std::ranges::find(kFirst, name) - kFirst.begin());
}

}  // namespace

void SpanTableBuilder::take(const Event& event) {
  if (event.kind() == "span") {
    take_span(event);
  } else if (event.kind() == "attempt") {
    if (const std::int64_t schema = event.integer("schema"); schema != kSpanSchema) {
      throw Error(fmt::format("the spans have schema {}, this program reads {}", schema, kSpanSchema), where_,
                  "the run was made by another version");
    }
    clear();
    table_.attempt = event.integer("attempt");
    table_.origin_us = event.integer("origin_us", -1);
  }
}

bool SpanTableBuilder::place_of(const std::string& text, Places& places, std::vector<std::string>& list,
                                std::size_t most, std::uint16_t& out) {
  const auto found = places.find(text);
  if (found != places.end()) {
    out = found->second;
    return true;
  }
  if (list.size() == most) return false;
  out = static_cast<std::uint16_t>(list.size());
  places.emplace(text, out);
  list.push_back(text);
  return true;
}

void SpanTableBuilder::take_span(const Event& event) {
  const std::string track = printable(event.text("track"), kMostTrackBytes);
  const std::string name = printable(event.text("name"), kMostTrackBytes);
  SpanRow row;
  row.step = event.integer("step", -1);
  row.begin_us = event.integer("begin_us", -1);
  const std::int64_t duration_us = event.integer("duration_us", -1);
  if (track.empty() || name.empty() || row.step < 0 || row.begin_us < 0 || duration_us < 0)
    return count_unread();
  row.end_us = row.begin_us + duration_us;
  row.bytes = std::max<std::int64_t>(0, event.integer("bytes"));
  row.chunk_step = small(event, "chunk_step");
  row.sent_chunk = small(event, "sent_chunk");
  row.received_chunk = small(event, "received_chunk");
  row.to = small(event, "to");
  row.from = small(event, "from");
  row.value = event.number("value", row.value);
  if (const std::string of = printable(event.text("of"), kMostTrackBytes); !of.empty())
    place_of(of, tracks_, table_.tracks, kMostTracks, row.of);
  const bool fits = table_.spans.size() < kMostSpans &&
                    place_of(track, tracks_, table_.tracks, kMostTracks, row.track) &&
                    place_of(name, names_, table_.names, kMostSpanNames, row.name);
  if (fits) {
    table_.spans.push_back(row);
  } else {
    ++table_.left_out;
  }
}

SpanReader::SpanReader(const fs::path& folder, int rank)
    : log_(RunFolder{folder}.spans_file(rank)), builder_(RunFolder{folder}.spans_file(rank).string()) {}

SpanTable read_spans(const fs::path& folder, int rank) {
  SpanReader reader(folder, rank);
  reader.read_all();
  if (reader.table().spans.empty()) {
    throw Error("the run has no spans to draw", RunFolder{folder}.spans_file(rank).string(),
                "a run keeps those of its first run.trace_steps steps: --set run.trace_steps=200");
  }
  return reader.table();
}

std::vector<std::size_t> ordered_tracks(const SpanTable& table) {
  std::vector<std::size_t> out(table.tracks.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = i;
  const auto key = [&](std::size_t i) {
    return std::tuple(place_among(table.tracks[i]), parts_of(table.tracks[i]));
  };
  std::ranges::sort(out, [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  return out;
}

}  // namespace isobar
