// Reading the spans of a run, well-formed and hostile.
#include <fstream>

#include "analyse/comm_times.h"
#include "log/spans.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/made_spans.h"

namespace isobar::test_spans {

namespace {

SpanTable read(const MadeSpans& spans) {
  const TempFolder folder;
  spans.write(folder);
  return read_spans(folder.path());
}

std::vector<std::string> names_of(const SpanTable& table) {
  std::vector<std::string> out;
  for (const std::size_t track : ordered_tracks(table)) out.push_back(table.tracks[track]);
  return out;
}

}  // namespace

TEST_CASE("spans are read as they were written") {
  const SpanTable table =
      read(MadeSpans().attempt(0).span(3, "load.0", "read", 100, 50, 4096).span(3, "loop", "load", 160, 0));
  REQUIRE(table.spans.size() == 2);
  const SpanRow& row = table.spans[0];
  CHECK(table.tracks[row.track] == "load.0");
  CHECK(table.names[row.name] == "read");
  CHECK(row.step == 3);
  CHECK(row.begin_us == 100);
  CHECK(row.end_us == 150);
  CHECK(row.bytes == 4096);
  CHECK(table.spans[1].duration_us() == 0);
  CHECK(table.unread_lines == 0);
}

TEST_CASE("the newest attempt counts") {
  const SpanTable table = read(MadeSpans()
                                   .attempt(0)
                                   .span(0, "loop", "load", 1, 1)
                                   .span(1, "gone", "gone", 2, 1)
                                   .attempt(1, 1)
                                   .span(1, "loop", "load", 5, 1));
  CHECK(table.attempt == 1);
  REQUIRE(table.spans.size() == 1);
  CHECK(table.spans[0].begin_us == 5);
  CHECK(table.tracks == std::vector<std::string>{"loop"});
}

TEST_CASE("a run without spans says how to get some") {
  const TempFolder folder;
  write_file_whole(folder / "run.toml", "");
  CHECK_THAT(error_of([&] { read_spans(folder.path()); }),
             says("no spans") && says("rank-0000.spans.jsonl") && says("run.trace_steps"));
  write_file_whole(folder / "rank-0000.spans.jsonl", "");
  CHECK_THAT(error_of([&] { read_spans(folder.path()); }), says("run.trace_steps"));
}

TEST_CASE("another schema of spans is refused in a sentence") {
  CHECK_THAT(error_of([] { read(MadeSpans().line(JsonLine("attempt").add("schema", 7))); }),
             says("schema 7") && says("another version"));
}

TEST_CASE("spans that make no sense are counted and left out") {
  const std::vector<std::string> bad = {
      R"({"kind":"span","step":-1,"track":"a","name":"b","begin_us":1,"duration_us":1})",
      R"({"kind":"span","step":0,"track":"a","name":"b","begin_us":-5,"duration_us":1})",
      R"({"kind":"span","step":0,"track":"a","name":"b","begin_us":1,"duration_us":-1})",
      R"({"kind":"span","step":0,"track":"a","name":"b","begin_us":1e300,"duration_us":1})",
      R"({"kind":"span","step":0,"track":"a","name":"b","begin_us":"nan","duration_us":1})",
      R"({"kind":"span","step":0,"track":"a","name":"b","begin_us":1,"duration_us":"inf"})",
      R"({"kind":"span","step":"0","track":"a","name":"b","begin_us":1,"duration_us":1})",
      R"({"kind":"span","step":0,"track":7,"name":"b","begin_us":1,"duration_us":1})",
      R"({"kind":"span","step":0,"track":"a","name":["b"],"begin_us":1,"duration_us":1})",
      R"({"kind":"span","step":0,"track":"","name":"b","begin_us":1,"duration_us":1})",
      R"({"kind":"span"})",
      "[1,2]",
      "no json",
      R"({"kind":"span","step":0,"track":"a")"};
  MadeSpans spans;
  spans.span(0, "loop", "load", 1, 1);
  for (const std::string& line : bad) spans.raw(line + "\n");
  spans
      .raw(R"({"kind":"novelty","track":"a"})"
           "\n")
      .raw(R"({"kind":5})"
           "\n");
  const SpanTable table = read(spans.span(1, "loop", "load", 2, 1));
  CHECK(table.spans.size() == 2);
  CHECK(table.unread_lines == static_cast<std::int64_t>(bad.size()));
  CHECK(table.tracks == std::vector<std::string>{"loop"});
}

TEST_CASE("times at the edge of what is taken do not overflow") {
  const SpanTable table = read(MadeSpans().raw(
      R"({"kind":"span","step":8e15,"track":"a","name":"b","begin_us":8.9e15,"duration_us":8.9e15,"bytes":-9})"
      "\n"));
  REQUIRE(table.spans.size() == 1);
  CHECK(table.spans[0].end_us == 17'800'000'000'000'000);
  CHECK(table.spans[0].bytes == 0);
}

TEST_CASE("names cannot steer a terminal, and are cut") {
  const SpanTable table = read(MadeSpans().span(0, "a\x1b[2Jb\n", "c\x07" + std::string(5000, 'x'), 0, 1));
  CHECK(table.tracks[0] == "a?[2Jb; ");
  CHECK(table.names[0].substr(0, 4) == "c?xx");
  CHECK(table.names[0].size() < 50);
}

TEST_CASE("what is kept is bounded: spans, tracks and names") {
  MadeSpans spans;
  for (std::size_t i = 0; i < kMostTracks + 5; ++i) spans.span(0, "track." + std::to_string(i), "x", 0, 1);
  for (std::size_t i = 0; i < kMostSpanNames + 5; ++i)
    spans.span(0, "track.0", "n" + std::to_string(i), 0, 1);
  const SpanTable few = read(spans);
  CHECK(few.tracks.size() == kMostTracks);
  CHECK(few.names.size() == kMostSpanNames);
  CHECK(few.left_out == 5 + 6);

  SpanTableBuilder builder("made up");
  EventParser parser;
  const std::string line = MadeSpans().span(0, "loop", "load", 0, 1).text();
  const Event* const event = parser.parse(std::string_view(line).substr(0, line.size() - 1));
  REQUIRE(event != nullptr);
  for (std::size_t i = 0; i < kMostSpans + 7; ++i) builder.take(*event);
  CHECK(builder.table().spans.size() == kMostSpans);
  CHECK(builder.table().left_out == 7);
}

TEST_CASE("spans are read while they are written, and again when the file is another") {
  const TempFolder folder;
  MadeSpans spans;
  spans.attempt(0).span(0, "loop", "load", 0, 1);
  spans.write(folder);
  SpanReader reader(folder.path());
  CHECK(reader.update());
  CHECK_FALSE(reader.update());
  CHECK(reader.table().spans.size() == 1);
  spans.span(1, "loop", "load", 2, 1).raw("{\"kind\":\"span\",");
  {
    std::ofstream file(folder / "rank-0000.spans.jsonl", std::ios::app);
    file << MadeSpans().span(1, "loop", "load", 2, 1).text() << "{\"kind\":\"span\",";
  }
  CHECK(reader.update());
  CHECK(reader.table().spans.size() == 2);
  CHECK(reader.table().unread_lines == 0);  // half a line waits
  MadeSpans().span(9, "loop", "load", 2, 1).write(folder);
  CHECK(reader.update());
  REQUIRE(reader.table().spans.size() == 1);
  CHECK(reader.table().spans[0].step == 9);
}

TEST_CASE("tracks stand in the order in which they are read") {
  MadeSpans spans;
  for (const char* track : {"load.10", "bucket.1", "upload", "load.2", "loop", "x99999999999999999999999",
                            "device", "load.0", "7"}) {
    spans.span(0, track, "x", 0, 1);
  }
  CHECK(names_of(read(spans)) == std::vector<std::string>{"loop", "device", "bucket.1", "upload", "7",
                                                          "load.0", "load.2", "load.10",
                                                          "x99999999999999999999999"});
}

TEST_CASE("unions of intervals") {
  using Intervals = std::vector<Interval>;
  CHECK(union_of({}).empty());
  CHECK(union_of({{5, 7}, {1, 3}, {3, 4}, {6, 9}, {20, 20}, {8, 2}}) == Intervals{{1, 4}, {5, 9}});
  CHECK(length_of(union_of({{5, 7}, {1, 3}, {6, 9}})) == 6);
  CHECK(common_to({{0, 10}, {20, 30}}, {{5, 22}, {25, 26}, {29, 40}}) ==
        Intervals{{5, 10}, {20, 22}, {25, 26}, {29, 30}});
  CHECK(common_to({{0, 10}}, {}).empty());
}

}  // namespace isobar::test_spans
