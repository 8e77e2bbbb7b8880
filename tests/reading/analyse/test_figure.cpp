// Figures: one row each, read from runs, printed by their quantity.
#include <set>

#include "analyse/figure.h"
#include "cli/case_text.h"
#include "core/text.h"
#include "support/catch.h"
#include "support/made_ranks.h"
#include "support/made_runs.h"
#include "support/made_spans.h"
#include "support/says.h"

namespace isobar::test_figure {

namespace {

/// Two ranks whose steps have so many calls, of which 5 ms are exposed; traced, with 3 of 4 ms beside
/// backward.
void write_run(const std::filesystem::path& folder, int calls, bool is_traced, int compress_us = 0) {
  std::filesystem::create_directory(folder);
  MadeRanks made;
  made.config = "[comm]\nbucket_mb = " + std::to_string(calls) + "\n";
  made.more = [=](int, int, JsonLine& line) {
    line.add("forward_us", 30'000).add("backward_us", 20'000).add("comm_us", 5'000);
    if (calls > 0) line.add("comm_total_us", 20'000).add("comm_calls", calls);
    if (compress_us > 0) line.add("compress_us", compress_us);
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

TableRow comm_cells(const std::filesystem::path& folder) {
  const Repeats repeats = {steady_figures(folder)};
  TableRow out;
  for (const Figure* const figure : figures_in(FigureTable::comm))
    out.push_back(figure_cell(*figure, repeats));
  return out;
}

std::string text_of(const Report& report) { return joined(report.texts(), "\n") + "\n"; }

}  // namespace

TEST_CASE("each figure has a name of its own, by which it is found") {
  std::set<std::string> names;
  for (const Figure& one : all_figures()) {
    INFO(one.name);
    CHECK(names.insert(one.name).second);
    CHECK(figure_named(one.name) == &one);
  }
  CHECK(figure_named("samples") == nullptr);
}

TEST_CASE("a value is printed by its quantity, in the unit that a head names") {
  CHECK(value_text(Quantity::time, 49'400) == "49.40");
  CHECK(value_text(Quantity::time, 2.2) == "0.0022");
  CHECK(value_text(Quantity::time, 0) == "0.00");
  CHECK(value_text(Quantity::rate, 81.04) == "81.0");
  CHECK(value_text(Quantity::rate, 1234.5) == "1234");
  CHECK(value_text(Quantity::share, 0.398) == "39.8 %");
  CHECK(value_text(Quantity::bytes, 113e6) == "113 MB");
  CHECK(value_text(Quantity::score, 0.29437) == "0.2944");
  CHECK(value_text(Quantity::count, 1024) == "1,024");
  CHECK(value_text(Quantity::count, 2.5) == "2.5");
}

TEST_CASE("of repeats the middle is shown, of a rate least and most too") {
  Repeats repeats(3);
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    repeats[i].samples_per_s = 100 + 10 * static_cast<double>(i);
    repeats[i].means["step_us"] = 1'000 * static_cast<double>(i + 1);
  }
  CHECK(figure_cell(*figure_named("samples_per_s"), repeats) == "110.0 (100.0 to 120.0)");
  CHECK(figure_cell(*figure_named("step_us"), repeats) == "2.00");
  CHECK(figure_cell(*figure_named("peak_bytes"), repeats) == "-");
  Json json;
  add_figures(json, FigureTable::runs, repeats);
  CHECK(json["samples_per_s"]["min"].as_number() == 100);
  CHECK(json["step_us"].as_number() == 2'000);
  CHECK(json["mfu"] == Json());
}

TEST_CASE("the noise scale is made of the steps in which it was measured, of several ranks") {
  const Figure* const figure = figure_named("noise_scale");
  REQUIRE(figure != nullptr);
  const auto of_run = [&](int world, bool is_measured) {
    const TempFolder folder;
    MadeRanks made;
    made.world = world;
    made.more = [&](int, int step, JsonLine& line) {  // 8 samples a rank: |G|^2 is 2, s is 48
      if (is_measured && step % 2 == 1) line.add("local_square", 8).add("mean_square", 5);
    };
    made.write(folder);
    return figure->of(steady_figures(folder.path()));
  };
  REQUIRE(of_run(2, true));
  CHECK(*of_run(2, true) == Approx(24));
  CHECK_FALSE(of_run(1, true));
  CHECK_FALSE(of_run(2, false));
}

TEST_CASE("calls, exposed time, overlap and the last bucket are columns, where they are known") {
  const TempFolder folder;
  write_run(folder / "traced", 3, true);
  write_run(folder / "bare", 3, false);
  write_run(folder / "silent", 0, false);
  CHECK(comm_cells(folder / "traced") == TableRow{"3", "5.00", "75.0 %", "100.0 %", "-", "-", "-", "-"});
  CHECK(comm_cells(folder / "bare") == TableRow{"3", "5.00", "-", "-", "-", "-", "-", "-"});
  Json bare;
  add_figures(bare, FigureTable::comm, {steady_figures(folder / "bare")});
  CHECK(bare["overlap"] == Json());
  CHECK_FALSE(has_comm({steady_figures(folder / "silent")}));
  MadeRuns runs;
  CHECK_FALSE(has_comm({steady_figures(runs.add("alone", {}))}));
  CHECK_FALSE(has_comm({}));
}

TEST_CASE("a comparison shows what communication costs each run, and nothing where no rank talks") {
  const TempFolder folder;
  write_run(folder / "a", 9, true);
  write_run(folder / "b", 3, true);
  const std::string text = text_of(compare_report(read_cases({folder / "a", folder / "b"}), 100, 120));
  CHECK_THAT(text, says("A  communication") && says("B  communication") && says("last bucket"));
  CHECK_THAT(text, says("9        5.00") && says("3        5.00") && !says("compress ms"));
  write_run(folder / "c", 6, true, 2500);
  const std::string compressed = text_of(compare_report(read_cases({folder / "a", folder / "c"}), 100, 120));
  CHECK_THAT(compressed, says("compress ms") && says("2.50"));
  CHECK_THAT(comm_sentence(read_ranks(folder / "c")), says("; compression 2.50 ms"));
  MadeRuns runs;
  const auto one = runs.add("one", {}), two = runs.add("two", {.keys = {{"data.workers", "2"}}});
  CHECK_THAT(text_of(compare_report(read_cases({one, two}), 100, 120)), !says("communication"));
}

}  // namespace isobar::test_figure
