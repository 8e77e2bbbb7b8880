// Lesson 09 in the window: an all-reduce is stepped through, by the rules and as a run recorded it.
#include <array>

#include "analyse/run_files.h"
#include "gui/headless.h"
#include "record/json_line.h"
#include "state/scenes.h"
#include "support/catch.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

void open_theatre(Headless& window) {
  window.settle();
  window.state().view = View::theatre;
  window.frames(4);
}

/// What each rank holds, and which ranks' values are in it.
std::vector<std::pair<double, std::uint32_t>> shown_cells(const TheatreState& state) {
  std::vector<std::pair<double, std::uint32_t>> out;
  for (const TheatreRank& rank : state.theatre->after(state.shown).ranks) {
    for (const TheatreCell& cell : rank.cells) out.emplace_back(cell.value, cell.ranks);
  }
  return out;
}

/// The all-reduces of steps of a run on two ranks, as lesson 09 records them; `steps` of each rank.
void add_spans(const fs::path& run, std::array<int, 2> steps = {2, 2}) {
  for (int rank = 0; rank < 2; ++rank) {
    std::string text = JsonLine("attempt").add("schema", 1).add("attempt", 0).add("from_step", 0).text();
    for (int step = 0; step < steps[static_cast<std::size_t>(rank)]; ++step) {
      for (const char* const phase : {"reduce", "spread"}) {
        const bool reduces = std::string(phase) == "reduce";
        const int sent = reduces ? rank : 1 - rank;
        // Chunks of one float: rank 0 has 1 and 2, rank 1 has 2 and 3.
        const double value = sent == 0 ? 5 : 3;
        text += JsonLine("span")
                    .add("step", step)
                    .add("track", "all_reduce")
                    .add("name", phase)
                    .add("begin_us", reduces ? 10 : 40)
                    .add("duration_us", 20)
                    .add("bytes", 4)
                    .add("of", "all_reduce")
                    .add("chunk_step", 0)
                    .add("sent_chunk", sent)
                    .add("received_chunk", 1 - sent)
                    .add("to", 1 - rank)
                    .add("from", 1 - rank)
                    .add("value", value)
                    .text();
      }
    }
    const std::string name = "rank-000" + std::to_string(rank);
    if (rank > 0) write_file_whole(run / (name + ".jsonl"), "");
    write_file_whole(run / (name + ".spans.jsonl"), text);
  }
}

}  // namespace

TEST_CASE("An all-reduce is stepped through and back until all hold the sum") {
  const TempFolder folder;
  Headless window(options_in(folder));
  open_theatre(window);
  const TheatreState& mine = window.state().theatre;
  REQUIRE(mine.theatre);
  CHECK(mine.shown == 0);
  const auto start = shown_cells(mine);
  window.click("step forward");
  const auto first = shown_cells(mine);
  CHECK(first != start);
  window.click("step forward");
  CHECK(mine.shown == 2);
  window.click("step back");
  CHECK(shown_cells(mine) == first);
  window.key('N');
  CHECK(mine.shown == 2);
  window.key('B');
  window.key('B');
  CHECK(shown_cells(mine) == start);
  window.click("To the end");
  CHECK(mine.shown == 6);
  CHECK(mine.theatre->after(mine.shown).all_hold_the_sum());
  CHECK_FALSE(window.has("step forward"));  // there is no further one
  window.key('N');
  CHECK(mine.shown == 6);
  window.click("To the start");
  CHECK(shown_cells(mine) == start);
}

TEST_CASE("An all-reduce plays by itself and a click on its clock goes there") {
  const TempFolder folder;
  Headless window(options_in(folder));
  open_theatre(window);
  const TheatreState& mine = window.state().theatre;
  window.click("play steps");
  window.until("two steps to be played", [&] { return mine.shown >= 2; });
  window.click("play steps");
  CHECK_FALSE(mine.playing);
  const Box clock = window.box("theatre clock");
  window.click_at(clock.x1 - 2, (clock.y0 + clock.y1) / 2);
  CHECK(mine.shown == mine.last());
  window.click_at(clock.x0 + 2, (clock.y0 + clock.y1) / 2);
  CHECK(mine.shown == 0);
}

TEST_CASE("With another algorithm or number of ranks an all-reduce begins again") {
  const TempFolder folder;
  Headless window(options_in(folder));
  open_theatre(window);
  const TheatreState& mine = window.state().theatre;
  window.click("step forward");
  window.click("tree");
  CHECK(mine.theatre->kind == AllReduceKind::tree);
  CHECK(mine.shown == 0);
  CHECK(mine.theatre->steps.size() == 4);
  window.click("naive");
  CHECK(mine.theatre->steps.size() == 6);
  window.click("ring");
  const Box ranks = window.box("theatre ranks");
  window.click_at(ranks.x1 - 4, (ranks.y0 + ranks.y1) / 2);
  CHECK(mine.theatre->ranks == 16);
  CHECK(mine.theatre->chunks == 16);  // one a rank stays one a rank
  const Box chunks = window.box("theatre chunks");
  window.click_at(chunks.x0 + 4, (chunks.y0 + chunks.y1) / 2);
  CHECK(mine.theatre->chunks == 1);
  window.click("To the end");
  CHECK(mine.theatre->after(mine.shown).all_hold_the_sum());
}

TEST_CASE("The chosen run's all-reduces are shown as it recorded them") {
  const TempFolder folder;
  FakeRun made;
  made.name = "09_all_reduce-20261125-101112-abcd";
  made.lesson = "09_all_reduce";
  const fs::path run = write_run(folder, made);
  add_spans(run);
  Headless window(options_in(folder));
  window.settle();
  window.state().run = run.string();
  open_theatre(window);
  const TheatreState& mine = window.state().theatre;
  REQUIRE(mine.theatre);
  CHECK(mine.shows_run());
  CHECK(mine.theatre->ranks == 2);
  CHECK(mine.theatre->run_step == 0);
  window.click("To the end");
  CHECK(mine.theatre->after(mine.shown).all_hold_the_sum());
  CHECK(shown_cells(mine).front().first == 3);
  window.click("theatre step");
  window.frames(2);
  window.click("step 1, all_reduce");
  window.frames(2);
  CHECK(mine.theatre->run_step == 1);
  CHECK(mine.shown == 0);
  window.click("the plan");
  CHECK(mine.theatre->ranks == 4);
  CHECK_FALSE(mine.theatre->is_recorded());
}

TEST_CASE("The theatre of a run that goes on sees what any rank adds, and looks every few seconds") {
  const TempFolder folder;
  const ChosenRun run{"run", write_run(folder, {.name = "run", .lesson = "09_all_reduce"}), true};
  TheatreState mine;
  const auto texts_at = [&](double now_s) {
    keep_theatre_run(mine, run, now_s);
    return mine.choices;
  };
  using Texts = std::vector<std::string>;
  add_spans(run.folder, {3, 1});
  CHECK(texts_at(10) == Texts{"step 0, all_reduce"});
  const TheatreRun* const first = mine.recorded.get();
  CHECK(texts_at(20) == Texts{"step 0, all_reduce"});
  CHECK(mine.recorded.get() == first);  // nothing changed: it is not read again
  add_spans(run.folder, {3, 2});
  mine.stamps.at(0) = stamp_of(run.folder / "rank-0000.spans.jsonl");  // as if only rank 1 had written
  CHECK(texts_at(21).size() == 1);
  CHECK(texts_at(24) == Texts{"step 0, all_reduce", "step 1, all_reduce"});
  ChosenRun ended = run;
  ended.goes_on = false;
  keep_theatre_run(mine, ended, 28);
  CHECK(mine.choices.size() == 3);  // step 2 as far as it went
}

TEST_CASE("A run without spans says so, and so does the theatre without a run") {
  const TempFolder folder;
  const fs::path run = write_run(folder, {.name = "plain"});
  Headless window(options_in(folder));
  window.settle();
  window.state().run.clear();
  open_theatre(window);
  const TheatreState& mine = window.state().theatre;
  CHECK(mine.theatre);  // the plan
  window.click("the chosen run");
  window.frames(2);
  CHECK_FALSE(mine.theatre);
  CHECK(mine.problem.find("no run is chosen") != std::string::npos);
  window.state().run = run.string();
  window.frames(4);
  CHECK_FALSE(mine.theatre);
  CHECK(mine.problem.find("no spans") != std::string::npos);
  CHECK(mine.hint.find("run.trace_steps") != std::string::npos);
  window.key('N');  // nothing to step through
  CHECK(mine.shown == 0);
  window.click("the plan");
  CHECK(mine.theatre);
}
