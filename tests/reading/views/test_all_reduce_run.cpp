// What is read of the runs of lesson 09, rank by rank.
#include <string>

#include "09_all_reduce/view/all_reduce_run.h"
#include "core/files.h"
#include "record/json_line.h"
#include "record/run_folder.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/says.h"
#include "support/temp_folder.h"

namespace isobar::test_all_reduce_run {

namespace {

struct RankLine {
  double bytes = 1024, time_us = 100, messages = 2, sent_bytes = 1024;
  int wrong = 0, same_bits = 1;
};

std::string stream_of(int rank, const std::vector<RankLine>& lines,
                      const std::string& lesson = "09_all_reduce") {
  std::string out =
      JsonLine("run").add("schema", 1).add("lesson", lesson).add("rank", rank).add("world", 2).text();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    out += JsonLine("step")
               .add("step", i)
               .add("bytes", lines[i].bytes)
               .add("all_reduce_us", lines[i].time_us)
               .add("comm_calls", lines[i].messages)
               .add("wire_bytes", lines[i].sent_bytes)
               .add("wrong_values", lines[i].wrong)
               .add("same_bits", lines[i].same_bits)
               .text();
  }
  return out;
}

struct Written {
  TempFolder folder;
  Written(const std::vector<std::string>& streams, const std::string& config) {
    const RunFolder run{folder.path()};
    write_file_whole(run.config_file(), std::string_view(config));
    for (std::size_t rank = 0; rank < streams.size(); ++rank)
      write_file_whole(run.stream_file(static_cast<int>(rank)), std::string_view(streams[rank]));
  }
};

AllReduceRun timed(AllReduceKind kind, const Link& link, double most = 4 << 20) {
  AllReduceRun out{.kind = kind, .ranks = 4};
  for (double bytes = 1024; bytes <= most; bytes *= 4)
    out.steps.push_back({.bytes = bytes, .time_us = all_reduce_us(kind, link, 4, bytes)});
  return out;
}

}  // namespace

TEST_CASE("a step of all ranks is as long as the slowest, and as wrong as the worst") {
  const Written run({stream_of(0, {{}, {.bytes = 4096, .time_us = 150}, {}}),
                     stream_of(1, {{.time_us = 130, .messages = 5, .sent_bytes = 7},
                                   {.bytes = 4096, .time_us = 140, .wrong = 9, .same_bits = 0}})},
                    "[comm]\nalgorithm = \"tree\"\nlink = {latency_us = 50.0, gbit_per_s = 8.0}\n");
  const AllReduceRun read = read_all_reduces(run.folder.path());
  CHECK(read.kind == AllReduceKind::tree);
  CHECK(read.ranks == 2);
  CHECK(read.link.latency_us == 50);
  CHECK(read.link.bytes_per_us == 1000);
  REQUIRE(read.steps.size() == 2);  // the third one rank 1 did not make
  CHECK(read.steps[0].time_us == 130);
  CHECK(read.steps[0].messages == 5);
  CHECK(read.steps[0].sent_bytes == 1024);
  CHECK(read.steps[0].wrong == 0);
  CHECK(read.steps[0].agrees);
  CHECK(read.steps[1].time_us == 150);
  CHECK(read.steps[1].wrong == 9);
  CHECK(!read.steps[1].agrees);
  CHECK(read.medians().back().bytes == 4096);
}

TEST_CASE("runs that hold no all-reduces are refused") {
  const Written other({stream_of(0, {{}}, "06_ddp")}, "");
  CHECK_THAT(error_of([&] { read_all_reduces(other.folder.path()); }),
             says("this is a run of 06_ddp") && says("09_all_reduce"));
  const Written early({stream_of(0, {{}}), stream_of(1, {})}, "");
  CHECK_THAT(error_of([&] { read_all_reduces(early.folder.path()); }), says("recorded no all-reduce"));
  const TempFolder none;
  CHECK(error_of([&] { read_all_reduces(none.path()); }) != "");
}

TEST_CASE("ring and tree cross where the model says, and only between sizes that were timed") {
  const Link link = link_of(1000, 1);
  const AllReduceRun ring = timed(AllReduceKind::ring, link), tree = timed(AllReduceKind::tree, link);
  REQUIRE(measured_crossing_bytes(ring, tree));
  CHECK(*measured_crossing_bytes(ring, tree) == Approx(ring_overtakes_tree_bytes(link, 4)));
  CHECK(!measured_crossing_bytes(tree, ring));
  CHECK(!measured_crossing_bytes(timed(AllReduceKind::ring, link, 16384),
                                 timed(AllReduceKind::tree, link, 16384)));
  CHECK(!measured_crossing_bytes(ring, timed(AllReduceKind::tree, link, 1024)));
  CHECK(
      !measured_crossing_bytes(timed(AllReduceKind::ring, {1000, 0}), timed(AllReduceKind::tree, {1000, 0})));
  CHECK(!measured_crossing_bytes({}, {}));
}

}  // namespace isobar::test_all_reduce_run
