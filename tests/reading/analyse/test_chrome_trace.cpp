// The Chrome trace, read back.
#include <map>

#include "analyse/chrome_trace.h"
#include "core/json.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/made_spans.h"

using namespace isobar;

namespace {

/// The trace of these spans, parsed.
Json trace_of(const MadeSpans& spans, const std::vector<JsonLine>& events = {}) {
  const TempFolder folder;
  spans.write(folder);
  RunSeries series;
  EventParser parser;
  for (const JsonLine& line : events) {
    const std::string text = line.text();
    series.take(*parser.parse(text));
  }
  ChromeTrace out(folder / "trace.json");
  out.add(read_spans(folder.path()), &series, {.rank = 2, .name = "rank \"2\""});
  out.finish();
  return Json::parse(read_text_file(folder / "trace.json", 1'000'000'000));
}

std::vector<Json> of_phase(const Json& trace, const std::string& phase) {
  std::vector<Json> out;
  for (const Json& event : trace["traceEvents"].values()) {
    if (event["ph"] == phase) out.push_back(event);
  }
  return out;
}

/// What every reader of the format counts on.
void check_invariants(const Json& trace) {
  std::map<std::int64_t, std::string> threads;
  std::map<std::int64_t, std::int64_t> sorted;
  for (const Json& event : of_phase(trace, "M")) {
    if (event["name"] == "thread_name")
      CHECK(threads.emplace(event["tid"].as_integer(), event["args"]["name"].as_text()).second);
    if (event["name"] == "thread_sort_index")
      sorted[event["tid"].as_integer()] = event["args"]["sort_index"].as_integer();
  }
  std::map<std::int64_t, std::int64_t> ends;
  for (const Json& event : of_phase(trace, "X")) {
    const std::int64_t tid = event["tid"].as_integer();
    REQUIRE_NOTHROW(event["ts"].as_integer());
    REQUIRE(event["dur"].as_integer() >= 0);
    REQUIRE(event["pid"] == 2);
    REQUIRE_NOTHROW(event["name"].as_text());
    REQUIRE_NOTHROW(event["args"]["step"].as_integer());
    REQUIRE(threads.count(tid) == 1);
    REQUIRE(sorted.count(tid) == 1);
    if (ends.count(tid) == 1) REQUIRE(event["ts"].as_integer() >= ends[tid]);
    ends[tid] = event["ts"].as_integer() + event["dur"].as_integer();
  }
}

}  // namespace

TEST_CASE("every span is a complete event on the thread of its track") {
  const Json trace = trace_of(MadeSpans()
                                  .attempt(0)
                                  .span(0, "load.0", "read", 10, 30, 4096)
                                  .span(0, "loop", "load", 0, 40)
                                  .span(0, "loop", "forward", 40, 7)
                                  .span(1, "loop", "load", 50, 0));
  check_invariants(trace);
  const std::vector<Json> spans = of_phase(trace, "X");
  REQUIRE(spans.size() == 4);
  CHECK(spans[0]["name"] == "load");  // the loop is the first thread
  CHECK(spans[0]["tid"] == 1);
  CHECK(spans[3]["name"] == "read");
  CHECK(spans[3]["ts"] == 10);
  CHECK(spans[3]["dur"] == 30);
  CHECK(spans[3]["args"] == Json{{"step", 0}, {"bytes", 4096}});
  CHECK(spans[1]["args"] == Json{{"step", 0}});
  const std::vector<Json> about = of_phase(trace, "M");
  CHECK(about[0]["name"] == "process_name");
  CHECK(about[0]["args"]["name"] == "rank \"2\"");
  CHECK(about[2]["args"]["name"] == "loop");
  CHECK(trace["displayTimeUnit"] == "ms");
}

TEST_CASE("spans of one track that run at once get threads of their own") {
  const Json trace = trace_of(MadeSpans()
                                  .span(0, "upload", "a", 0, 100)
                                  .span(0, "upload", "b", 50, 100)
                                  .span(0, "upload", "c", 60, 5)
                                  .span(0, "upload", "d", 100, 10)
                                  .span(0, "loop", "load", 90, 5));
  check_invariants(trace);
  std::map<std::string, std::int64_t> threads;
  for (const Json& event : of_phase(trace, "X")) threads[event["name"].as_text()] = event["tid"].as_integer();
  CHECK(threads["a"] == threads["d"]);
  CHECK(threads["a"] != threads["b"]);
  CHECK(threads["b"] != threads["c"]);
  std::vector<std::string> names;
  for (const Json& event : of_phase(trace, "M")) {
    if (event["name"] == "thread_name") names.push_back(event["args"]["name"].as_text());
  }
  CHECK(names == std::vector<std::string>{"loop", "upload", "upload (2)", "upload (3)"});
}

TEST_CASE("occupied slots are a counter where steps are traced and say them") {
  MadeSpans spans;
  std::vector<JsonLine> events;
  for (int step = 0; step < 4; ++step) {
    spans.span(step, "loop", "load", 100 * step, 10);
    JsonLine line("step");
    line.add("step", step).add("t_us", 100 * step);
    if (step != 2) line.add("queue_slots", step);
    events.push_back(line);
  }
  events.push_back(JsonLine("step").add("step", 4).add("queue_slots", 4));  // was not traced
  const Json trace = trace_of(spans, events);
  check_invariants(trace);
  const std::vector<Json> counters = of_phase(trace, "C");
  REQUIRE(counters.size() == 3);
  CHECK(counters[2]["ts"] == 300);
  CHECK(counters[2]["name"] == "queue_slots");
  CHECK(counters[2]["args"]["ready"] == 3);
}

TEST_CASE("names from a foreign file are escaped") {
  const Json trace = trace_of(
      MadeSpans()
          .span(0, "a\"b\\c", "</script>\x1b", 0, 1)
          .raw("{\"kind\":\"span\",\"step\":0,\"track\":\"cut "
               "\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4"
               "\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4"
               "\\u00e4\\u00e4\\u00e4\",\"name\":\"b\",\"begin_us\":1,\"duration_us\":1}\n"));
  check_invariants(trace);
  CHECK(of_phase(trace, "X")[0]["name"] == "</script>?");
}

TEST_CASE("many spans make a whole file") {
  MadeSpans spans;
  for (int i = 0; i < 60'000; ++i) spans.span(i / 6, "track." + std::to_string(i % 9), "x", 10 * i, 95);
  const Json trace = trace_of(spans);
  check_invariants(trace);
  CHECK(of_phase(trace, "X").size() == 60'000);
}

TEST_CASE("a trace that cannot be written says why, and leaves nothing") {
  const TempFolder folder;
  CHECK_THROWS_AS(ChromeTrace(folder / "no/such/folder/t.json"), Error);
  CHECK_FALSE(std::filesystem::exists(folder / "no"));
}

TEST_CASE("several ranks are processes of one trace, on one clock") {
  const TempFolder folder;
  MadeSpans here, there;
  here.span(0, "loop", "forward", 100, 50).span(0, "bucket.0", "all-reduce", 200, 100);
  there.span(0, "loop", "forward", 5100, 50).span(0, "bucket.0", "all-reduce", 5150, 150);
  here.span(1, "bucket.0", "all-reduce", 400, 100).span(1, "bucket.1", "wait", 0, 9);
  there.span(1, "bucket.0", "all-reduce", 5450, 50);
  here.write(folder);
  const SpanTable one = read_spans(folder.path());
  there.write(folder);
  const SpanTable other = read_spans(folder.path());
  CHECK(ends_apart_us(one, other) == -5000);
  CHECK(ends_apart_us(one, SpanTable{}) == 0);
  ChromeTrace trace(folder / "trace.json");
  trace.add(one, nullptr, {.rank = 0, .name = "rank 0"});
  trace.add(other, nullptr, {.rank = 1, .name = "rank 1", .shift_us = ends_apart_us(one, other)});
  trace.finish();
  const Json read = Json::parse(read_text_file(folder / "trace.json", 1 << 20));
  std::map<std::int64_t, std::vector<std::int64_t>> begins;
  for (const Json& event : of_phase(read, "X")) {
    if (event["name"] == "forward") begins[event["pid"].as_integer()].push_back(event["ts"].as_integer());
  }
  CHECK(begins == std::map<std::int64_t, std::vector<std::int64_t>>{{0, {100}}, {1, {100}}});
}
