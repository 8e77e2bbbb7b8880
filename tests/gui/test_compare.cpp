// Ticked runs put together, and what comparing shows first.

#include "draw/stage_bars.h"
#include "draw/svg_canvas.h"
#include "headless.h"
#include "state/comparison.h"
#include "support/catch.h"
#include "support/count_of.h"
#include "support/made_runs.h"
#include "support/says.h"

using namespace isobar;

namespace {

/// All runs of the folder, everything of them read.
std::shared_ptr<const StoreSnapshot> read_all(const MadeRuns& runs) {
  RunStore store({runs.path()});
  const auto read = [&] {
    do {
      store.update(std::chrono::milliseconds(1000));
    } while (!store.is_idle());
  };
  read();
  std::set<std::string> ids;
  const auto snapshot = store.snapshot();
  for (const auto& run : snapshot->runs) ids.insert(run->id);
  store.open(ids);
  read();
  return store.snapshot();
}

std::set<std::string> ids_of(const MadeRuns& runs, const std::vector<std::string>& names) {
  std::set<std::string> out;
  for (const std::string& name : names) out.insert((runs.path() / name).string());
  return out;
}

ComparedRuns compared(const MadeRuns& runs, const std::vector<std::string>& names) {
  const auto all = read_all(runs);
  const Runs ticked = ticked_runs(*all, ids_of(runs, names));
  Runs beside;
  for (const std::string& id : possible_repeats(*all, ticked)) beside.push_back(all->find(id));
  return compare_ticked(ticked, beside);
}

std::string svg_of(const ScoreSpec& spec) {
  SvgCanvas canvas(1000, 400, theme_of(true).ground);
  paint_scoreboard(canvas, theme_of(true), spec, {0, 0, 1000, 400});
  return canvas.text();
}

}  // namespace

TEST_CASE("Ticked runs with the same settings are one case, and its other repeats are found") {
  MadeRuns runs;
  runs.add_three("base", {});
  runs.add_three("fast", {.factor = 0.5, .keys = {{"data.workers", "2"}}});
  runs.add("busy", {.factor = 3, .processor_wait = 0.5});
  runs.add("died", {.steps = 20, .end = "", .pid = 2'000'000'000});
  const ComparedRuns found = compared(runs, {"base2", "base3", "fast1", "died"});
  REQUIRE(found.cases.size() == 3);
  CHECK(found.ticked.size() == 4);
  CHECK(found.shown.size() == 3);
  std::map<std::string, std::size_t> repeats;
  for (const ComparedCase& one : found.cases)
    repeats[one.run->folder.filename().string().substr(0, 4)] = one.figures.repeats.size();
  CHECK(repeats == std::map<std::string, std::size_t>{{"base", 3}, {"died", 1}, {"fast", 3}});
  CHECK(found.against.size() == 2);
  CHECK(found.identical.size() == 1);
  CHECK(found.loss);
}

TEST_CASE("The base is the lowest lesson, whichever run is the oldest") {
  const TempFolder folder;
  write_run(folder, {.name = "old", .extra = "[train]\nsteps = 40\n", .lesson = "06_ddp"});
  write_run(folder, {.name = "new", .extra = "[train]\nsteps = 41\n", .lesson = "01_baseline"});
  Headless window(options_in(folder));
  window.settle();
  window.click("compare old");
  window.click("compare new");
  window.click("Compare 2");
  window.settle();
  const auto made = window.state().compare.made;
  REQUIRE(made);
  REQUIRE(made->cases.size() == 2);
  CHECK(made->cases[0].run->view.lesson == "01_baseline");
  CHECK(window.has("waterfall"));
  window.click("watch old");
  CHECK(window.state().run == made->cases[1].run->id);
}

TEST_CASE("A chosen row stands against the base") {
  const TempFolder folder;
  int seed = 0;
  for (const char* const name : {"one", "two", "six"})
    write_run(folder, {.name = name, .extra = "[train]\nseed = " + std::to_string(++seed) + "\n"});
  Headless window(options_in(folder));
  window.settle();
  for (const char* const name : {"compare one", "compare two", "compare six"}) window.click(name);
  window.click("Compare 3");
  window.settle();
  CHECK(window.state().compare.other.empty());
  const auto made = window.state().compare.made;
  REQUIRE(made->cases.size() == 3);
  const std::string second = made->cases[1].run->name;
  window.click("score " + second);
  CHECK(window.state().compare.other == made->cases[1].run->id);
  window.click("Copy the command that makes the missing runs");
  CHECK_THAT(ImGui::GetClipboardText(), says("for i in $(seq 2)") && says(second + "/run.toml"));
}

TEST_CASE("What all compared runs have in common stands once, and in no label") {
  MadeRuns runs;
  const auto add = [&](const char* name, const char* lesson, const char* measure) {
    runs.add(name, {.measure = measure, .provenance = "recorded", .lesson = lesson});
  };
  add("first", "01_baseline", "synthetic");
  add("second", "05_fusion", "synthetic");
  const auto compare_all = [&] {
    const TempFolder folder;
    AppOptions options = options_in(folder);
    options.places = {runs.path()};
    Headless window(options);
    const auto all = read_all(runs);
    for (const auto& run : all->runs) window.state().compared.insert(run->id);
    window.state().view = View::compare;
    window.settle();
    std::vector<std::string> out = {window.state().compare.common};
    for (const auto& run : window.state().compare.made->shown)
      out.push_back(window.state().compare.labels.at(run->id));
    return out;
  };
  CHECK(compare_all() ==
        std::vector<std::string>{"recorded cpu, measures synthetic", "01_baseline", "05_fusion"});
  add("third", "04_amp", "io");
  CHECK(compare_all() == std::vector<std::string>{"recorded cpu", "01_baseline, measures synthetic",
                                                  "04_amp, measures io", "05_fusion, measures synthetic"});
}

TEST_CASE("Only what was measured here has a bar, and repeats have a whisker") {
  ScoreSpec spec{.title = "t", .rows = {}, .empty = "nothing"};
  CHECK_THAT(svg_of(spec), says("nothing"));
  ScoreRow row;
  row.label = "mine";
  row.rate = 100;
  row.least = row.most = 100;
  row.rate_words = "100 /s";
  row.colour = theme_of(true).series[0];
  spec.rows = {row};
  const std::string plain = svg_of(spec);
  spec.rows.front().least = 90;
  const std::string spread = svg_of(spec);
  CHECK(count_of(spread, "<poly") == count_of(plain, "<poly") + 3);  // a line and two caps
  spec.rows.front().has_bar = false;
  CHECK(count_of(svg_of(spec), "<rect") == count_of(plain, "<rect") - 1);
  spec.rows.front().rate = 0;
  CHECK_THAT(svg_of(spec), says("no rate yet"));
  CHECK_THAT(scoreboard_csv(spec), says("\"mine\",0,90,100"));
}

TEST_CASE("What is left of a step has no bar where no stage was measured") {
  ScoreSpec spec{.title = "t", .rows = {}, .empty = "nothing"};
  ScoreRow row;
  row.label = "theirs";
  row.step_words = "1600.0 ms a step";
  row.stages_us = {{"load", 0}, {"rest", 1.6e6}};
  spec.rows = {row};
  const std::string theirs = svg_of(spec);
  CHECK_THAT(theirs, says("1600.0 ms a step") && !says(">rest</text>"));
  spec.rows.front().stages_us.front().second = 1e5;
  const std::string ours = svg_of(spec);
  CHECK_THAT(ours, says(">rest</text>"));
  CHECK(count_of(ours, "<rect") == count_of(theirs, "<rect") + 4);  // two stages, in the row and in the key
}

TEST_CASE("An imported run beside one of ours: its source, losses, and nothing of stages or a ratio") {
  const TempFolder folder;
  write_run(folder, {.name = "ours"});
  const auto theirs = folder / "runs/imported-short";
  std::filesystem::create_directories(theirs);
  write_file_whole(theirs / "run.toml", std::string_view("[environment]\nsource = \"tutorial\"\n"));
  JsonLine head("run");
  head.add("schema", 1).add("lesson", "tutorial").add("provenance", "recorded").add("source", "tutorial");
  std::string text = head.text();
  for (int epoch = 1; epoch <= 3; ++epoch) {
    JsonLine step("step"), score("eval");
    step.add("step", 32 * epoch - 1).add("stands_for", 32).add("t_us", epoch * 52'000'000LL);
    step.add("samples", 4).add("loss", 0.9 / epoch).add("step_us", 1.6e6);
    score.add("step", 32 * epoch).add("t_us", epoch * 52'000'000LL).add("loss", 0.8 / epoch);
    text += step.text() + score.text();
  }
  JsonLine summary("summary"), end("end");
  summary.add("steps", 96).add("samples", 384).add("step_us", 1.6e6).add("samples_per_s", 2.5);
  text += summary.text() + end.add("status", "done").text();
  write_file_whole(theirs / "rank-0000.jsonl", std::string_view(text));
  Headless window(options_in(folder));
  window.settle();
  window.click("compare ours");
  window.click("compare imported-short");
  window.click("Compare 2");
  window.settle();
  const auto made = window.state().compare.made;
  REQUIRE(made);
  REQUIRE(made->cases.size() == 2);
  const RunEntry& run = *made->cases[1].run;
  CHECK_THAT(window.state().compare.labels.at(run.id), says("recorded with the Python tutorial"));
  const RunComparison& found = made->against.front();
  CHECK_THAT(found.no_ratio, says("recorded with the Python tutorial"));
  CHECK(found.losses.at_samples.has_value());
  CHECK(found.stages.empty());
  CHECK_FALSE(window.has("waterfall"));
  const Colour rest = stage_colour(window.app().ui().theme(), "rest");
  CHECK(window.longest_row(window.box("score ours"), rest) > 10);
  CHECK(window.longest_row(window.box("score imported-short"), rest) < 5);
  for (const auto& one : made->cases) CHECK(one.run->detail->series.find("valid/loss"));
}

TEST_CASE("A waterfall names every term, and copes with none") {
  WaterfallSpec spec{.title = "From one to two", .base = "one", .other = "two", .terms = {}};
  SvgCanvas none(600, 300, theme_of(false).ground);
  paint_waterfall(none, theme_of(false), spec, {0, 0, 600, 300});
  CHECK_THAT(none.text(), says("From one to two"));
  spec.base_us = 20'000;
  spec.other_us = 50'500;
  spec.terms = {{"load", 30'000}, {"forward", 1000}, {"backward", -500}};
  SvgCanvas canvas(600, 300, theme_of(false).ground);
  paint_waterfall(canvas, theme_of(false), spec, {0, 0, 600, 300});
  CHECK_THAT(canvas.text(), says("+30.0 ms") && says("+1.00 ms") && says("-0.50 ms") && says("50.5 ms"));
  CHECK_THAT(waterfall_csv(spec), says("\"load\",30000"));
}

TEST_CASE("The verdict stands above the plots, and its next step is a click") {
  const TempFolder folder;
  write_run(folder, {.name = "one"});
  AppOptions options = options_in(folder);
  options.isobar = fake_isobar(folder, "sleep 5\n");
  Headless window(options);
  window.settle();
  CHECK(window.state().watch.verdict.is_known);
  CHECK(window.state().watch.verdict.verdict.bound == Bound::compute);
  const std::string lesson = window.state().watch.verdict.next_lesson;
  REQUIRE_FALSE(lesson.empty());
  window.click("next step");
  CHECK(window.app().launcher().is_running());
  CHECK(window.app().launcher().request().lesson == lesson);
  CHECK(window.app().launcher().request().preset == "cpu_micro");
  CHECK(window.state().lesson == lesson);
}
