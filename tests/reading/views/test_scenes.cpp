// Scenes of lessons, without a window: what they show of settings and of runs, and what is refused.
#include <array>
#include <filesystem>

#include "00_sgd/view/fit_scene.h"
#include "09_all_reduce/view/schedule_scene.h"
#include "core/files.h"
#include "course/made_descent.h"
#include "record/json_line.h"
#include "support/catch.h"
#include "support/recording_canvas.h"
#include "support/says.h"
#include "support/temp_folder.h"

namespace isobar::test_scenes {

namespace fs = std::filesystem;
using lesson_00::FitScene;
using lesson_09::ScheduleScene;

namespace {

SceneInput input_for(const char* lesson, const std::vector<std::string>& sets = {}) {
  return {.home = project_home(), .lesson = read_lesson(project_home(), lesson), .sets = sets};
}

/// By its name; what it is called where it has none.
const SceneControl& control(const std::vector<SceneControl>& all, const std::string& name) {
  for (const SceneControl& one : all) {
    if (one.name == name) return one;
  }
  throw Error("there is no control", name, "");
}

/// The texts of its picture.
std::string painted(Scene& scene, std::size_t done) {
  RecordingCanvas canvas(1);
  Sketch sketch(canvas, theme_of(false));
  scene.paint(sketch, done, {0, 0, 700, 600});
  std::string out;
  for (const auto& text : canvas.texts()) out += text.words + "\n";
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

/// A run folder of lesson 09 with these spans; without steps it has none.
SceneRun made_run(const TempFolder& folder, std::array<int, 2> steps, bool goes_on = false) {
  const fs::path run = folder / "run";
  fs::create_directories(run);
  write_file_whole(run / "run.toml", "lesson = \"09_all_reduce\"\n[run]\nranks = 2\n");
  write_file_whole(run / "rank-0000.jsonl", "");
  if (steps[0] > 0) add_spans(run, steps);
  return {run.string(), run, "09 run", "09_all_reduce", goes_on};
}

}  // namespace

TEST_CASE("every lesson has at most one scene, by what it honours, and a title finds it") {
  CHECK(std::string(scene_of(read_lesson(project_home(), "00_sgd"))->title) == "Descent");
  for (const char* const lesson : {"06_ddp", "09_all_reduce", "10_buckets", "11_compression", "12_scaling"})
    CHECK(std::string(scene_of(read_lesson(project_home(), lesson))->title) == "Messages");
  CHECK(scene_of(read_lesson(project_home(), "01_baseline")) == nullptr);
  CHECK(scene_named("messages") == scene_named("Messages"));
  CHECK(scene_named("opera") == nullptr);
}

TEST_CASE("the fit walks as the lesson does, one step further than is looked at") {
  FitScene scene;
  CHECK_FALSE(scene.take(input_for("00_sgd"), 2));
  REQUIRE(scene.walk());
  const auto walked = lesson_00::walk_descent(scene.config(), 3);
  CHECK(scene.walk()->so_far().ranks.front().path() == walked.ranks.front().path());
  CHECK_THAT(scene.lines(2).front(), says("step 3:  m = "));
  CHECK(scene.plot(2, theme_of(false))->spec.lines.front().curve->y.size() == 2);
  CHECK_FALSE(scene.take(input_for("00_sgd"), 1));  // back: nothing is lost
  CHECK(scene.walk()->so_far().steps() == 3);
}

TEST_CASE("controls of the fit are settings, a mistake takes the ranks that it needs") {
  FitScene scene;
  scene.take(input_for("00_sgd", {"optim.lr=0.3"}), 0);
  const std::vector<SceneControl> all = scene.controls();
  const SceneControl& rate = control(all, "knob optim.lr");
  CHECK(rate.places.at(rate.at) == "0.3");  // among the usual places
  CHECK(scene.turn("knob optim.lr", rate.at + 1).settings.front() ==
        std::pair<std::string, std::string>{"optim.lr", "0.5"});
  const SceneControl& fault = control(all, "scene fault");
  const auto at = std::ranges::find(fault.places, "no_broadcast") - fault.places.begin();
  const auto asked = scene.turn("scene fault", static_cast<std::size_t>(at)).settings;
  CHECK(asked ==
        std::vector<std::pair<std::string, std::string>>{{"run.fault", "no_broadcast"}, {"run.ranks", "4"}});
  scene.take(input_for("00_sgd", {"run.fault=no_broadcast", "run.ranks=4"}), 0);
  const auto& ranks = scene.walk()->so_far().ranks;
  CHECK(ranks.at(1).start != ranks.at(0).start);
  scene.take(input_for("00_sgd", {"train.global_batch=2000", "run.ranks=4"}), 0);
  CHECK(scene.walk() == nullptr);
  CHECK_THAT(scene.problem(), says("a batch of 500 is larger than the 250 samples"));
  CHECK(scene.grips().empty());
  CHECK_FALSE(scene.above(0).body);
}

TEST_CASE("the start of the fit is taken hold of in its picture") {
  FitScene scene;
  scene.take(input_for("00_sgd"), 0);
  CHECK(scene.grips().empty());  // nothing was painted yet
  CHECK_THAT(painted(scene, 0), says("slope"));
  const SceneGrip grip = scene.grips().at(0);
  const auto asked = scene.hold(grip.name, {grip.box.x1 + 50, grip.box.y0 - 50}).settings;
  REQUIRE(asked.size() == 2);
  CHECK(asked[0].first == "model.slope");
  CHECK(std::stod(asked[0].second) > scene.config().model.slope);  // cut at the edge
}

TEST_CASE("the fit shows the path of the chosen run, where that is one of the lesson") {
  const MadeDescents runs;
  SceneInput input = input_for("00_sgd");
  const fs::path run = runs.add("path", {.sets = {"train.steps=20"}});
  input.run = {.id = "path", .folder = run, .title = "", .lesson = "01_baseline"};
  FitScene scene;
  scene.take(input, 0);
  CHECK_THAT(painted(scene, 0), !says("the chosen run"));
  input.run = {.id = "other", .folder = run, .title = "", .lesson = "00_sgd"};
  scene.take(input, 0);
  CHECK_THAT(painted(scene, 0), says("the chosen run"));
}

TEST_CASE("an all-reduce by the rules begins again with another algorithm or number of ranks") {
  ScheduleScene show;
  const SceneInput input = input_for("09_all_reduce");
  show.take(input, 0);
  REQUIRE(show.schedule());
  CHECK(show.last() == 6);
  CHECK(show.turn("algorithm", 1).shown == 0);
  CHECK(show.schedule()->kind == AllReduceKind::tree);
  CHECK(show.last() == 4);
  show.turn("algorithm", 2);
  CHECK(show.turn("messages ranks", 14).shown == 0);
  CHECK(show.schedule()->ranks == 16);
  CHECK(show.schedule()->chunks == 16);  // one a rank stays one a rank
  show.turn("messages chunks", 0);
  CHECK(show.schedule()->chunks == 1);
  CHECK_FALSE(show.turn("messages latency", 0).shown);  // the step that is looked at stays
  CHECK(show.schedule()->after(show.last()).all_hold_the_sum());
}

TEST_CASE("a click on the clock of an all-reduce goes there") {
  ScheduleScene show;
  show.take(input_for("09_all_reduce"), 0);
  CHECK_THAT(painted(show, 1), says("rank 0"));
  const SceneGrip clock = show.grips().at(0);
  CHECK(show.hold(clock.name, {clock.box.x1 - 2, clock.box.y0}).shown == show.last());
  CHECK(show.hold(clock.name, {clock.box.x0 + 2, clock.box.y0}).shown == 0);
}

TEST_CASE("the chosen run's all-reduces are shown as it recorded them") {
  const TempFolder folder;
  SceneInput input = input_for("09_all_reduce");
  input.run = made_run(folder, {2, 2});
  ScheduleScene show;
  CHECK(show.take(input, 0));
  CHECK(show.shows_run());
  REQUIRE(show.schedule());
  CHECK(show.schedule()->ranks == 2);
  CHECK(show.schedule()->run_step == 0);
  CHECK(show.schedule()->after(show.last()).all_hold_the_sum());
  CHECK(show.schedule()->after(show.last()).ranks.at(0).cells.at(0).value == 3);
  CHECK(show.turn("messages step", 1).shown == 0);
  CHECK(show.schedule()->run_step == 1);
  show.turn("source", 0);
  CHECK(show.schedule()->ranks == 4);
  CHECK_FALSE(show.schedule()->is_recorded());
}

TEST_CASE("a run that goes on is looked at every few seconds, and any rank's spans count") {
  const TempFolder folder;
  SceneInput input = input_for("09_all_reduce");
  input.run = made_run(folder, {3, 1}, /*goes_on=*/true);
  ScheduleScene show;
  const auto texts_at = [&](double now_s) {
    input.now_s = now_s;
    show.take(input, 0);
    return show.choices();
  };
  using Texts = std::vector<std::string>;
  CHECK(texts_at(10) == Texts{"step 0, all_reduce"});
  add_spans(input.run.folder, {3, 2});
  CHECK(texts_at(11).size() == 1);
  CHECK(texts_at(14) == Texts{"step 0, all_reduce", "step 1, all_reduce"});
  input.run.goes_on = false;
  CHECK(texts_at(18).size() == 3);  // step 2 as far as it went
}

TEST_CASE("without a run, and with one without spans, the plan is there and the run says why not") {
  const TempFolder folder;
  SceneInput input = input_for("09_all_reduce");
  ScheduleScene show;
  show.take(input, 0);
  CHECK(show.schedule());
  show.turn("source", 1);
  CHECK_FALSE(show.schedule());
  CHECK_THAT(show.problem(), says("no run is chosen"));
  CHECK(show.last() == 0);
  input.run = made_run(folder, {0, 0});
  input.now_s = 10;
  show.take(input, 0);
  CHECK_FALSE(show.schedule());
  CHECK_THAT(show.problem(), says("no spans"));
  CHECK_THAT(show.hint(), says("run.trace_steps"));
  show.turn("source", 0);
  CHECK(show.schedule());
  CHECK_THAT(show.controls().back().title, says("run.trace_steps"));
}

}  // namespace isobar::test_scenes
