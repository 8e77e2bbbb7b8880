// What communication costs, as columns of tables.
#include "cli/comm_columns.h"
#include "cli/compare_text.h"
#include "support/catch.h"
#include "support/made_ranks.h"
#include "support/made_runs.h"
#include "support/made_spans.h"
#include "support/says.h"

namespace isobar::test_comm_columns {

namespace {

/// Two ranks whose steps have so many calls, of which 5 ms are exposed; traced, with 3 of 4 ms beside
/// backward.
void write_run(const std::filesystem::path& folder, int calls, bool is_traced) {
  std::filesystem::create_directory(folder);
  MadeRanks made;
  made.config = "[comm]\nbucket_mb = " + std::to_string(calls) + "\n";
  made.more = [calls](int, int, JsonLine& line) {
    line.add("forward_us", 30'000).add("backward_us", 20'000).add("comm_us", 5'000);
    if (calls > 0) line.add("comm_total_us", 20'000).add("comm_calls", calls);
  };
  made.write(folder);
  if (!is_traced) return;
  MadeSpans spans;
  spans.attempt(0);
  for (int step = 0; step < 20; ++step) {
    const int at = 100'000 * step;
    spans.span(step, "loop", "backward", at, 20'000).span(step, "loop", "comm", at + 20'000, 80'000);
    spans.span(step, "bucket.0", "all-reduce", at + 17'000, 4'000);
  }
  write_file_whole(folder / "rank-0000.spans.jsonl", std::string_view(spans.text()));
}

std::string text_of(const Report& report) {
  std::string out;
  for (const std::string& line : report.texts()) out += line + "\n";
  return out;
}

}  // namespace

TEST_CASE("calls, exposed time, overlap and the last bucket are columns, where they are known") {
  const TempFolder folder;
  write_run(folder / "traced", 3, true);
  write_run(folder / "bare", 3, false);
  write_run(folder / "silent", 0, false);
  const auto columns = [&](const char* name) { return comm_columns({steady_figures(folder / name)}); };
  const std::optional<CommColumns> traced = columns("traced");
  REQUIRE(traced);
  CHECK(CommColumns::heads() == TableRow{"comm calls", "exposed ms", "overlap", "last bucket"});
  CHECK(traced->cells() == TableRow{"3", "5.00", "75 %", "100 %"});
  CHECK(traced->json()["calls"].text() == "3.0");
  REQUIRE(columns("bare"));
  CHECK(columns("bare")->cells() == TableRow{"3", "5.00", "-", "-"});
  CHECK(columns("bare")->json()["overlap"].text() == "null");
  CHECK(CommColumns{.calls = 3, .exposed_us = 0, .overlap = 0}.cells() == TableRow{"3", "0.00", "0 %", "-"});
  CHECK(CommColumns{.calls = 3}.cells() == TableRow{"3", "-", "-", "-"});
  CHECK_FALSE(columns("silent"));
  MadeRuns runs;
  CHECK_FALSE(comm_columns({steady_figures(runs.add("alone", {}))}));
  CHECK_FALSE(comm_columns({}));
}

TEST_CASE("a comparison says what communication costs each run, and nothing where no rank talks") {
  const TempFolder folder;
  write_run(folder / "a", 9, true);
  write_run(folder / "b", 3, true);
  const std::string text = text_of(compare_report(read_cases({folder / "a", folder / "b"}), 100, 120));
  CHECK_THAT(text, says("A  communication") && says("B  communication") && says("last bucket"));
  CHECK_THAT(text, says("9        5.00") && says("3        5.00"));
  MadeRuns runs;
  const auto one = runs.add("one", {}), two = runs.add("two", {.keys = {{"data.workers", "2"}}});
  CHECK_THAT(text_of(compare_report(read_cases({one, two}), 100, 120)), !says("communication"));
}

}  // namespace isobar::test_comm_columns
