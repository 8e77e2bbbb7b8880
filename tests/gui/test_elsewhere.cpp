// What the window shows of runs that were not measured here, and the plots that only some techniques have.

#include "config/lesson.h"
#include "core/nvidia.h"
#include "gui/headless.h"
#include "panels/views.h"
#include "record/json_line.h"
#include "record/run_folder.h"
#include "support/catch.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

constexpr int kSteps = 60;

/// A run whose loss scale halves at an overflow, as fp16 has it.
fs::path write_scaled_run(const TempFolder& folder, const std::string& name, bool overflows) {
  const fs::path path = write_run(folder, {.name = name, .steps = 1});
  std::string text = JsonLine("run")
                         .add("schema", 1)
                         .add("lesson", "01_baseline")
                         .add("device", "cpu")
                         .add("wanted_steps", kSteps)
                         .text();
  text += JsonLine("note").add("text", "plan").add("steps_per_epoch", 10).text();
  for (int i = 0; i < kSteps; ++i) {
    JsonLine line("step");
    line.add("step", i).add("t_us", 1000 * (i + 1)).add("samples", 4).add("step_us", 1000);
    if (i % 2 == 0) {
      line.add("loss", 0.5).add("scale", overflows && i > 30 ? 32768.0 : 65536.0);
      line.add("skipped", overflows && i > 30 ? 1 : 0).add("grad_norm", 1.0 / (1 + i));
    }
    text += line.text();
  }
  text += JsonLine("end").add("status", "done").add("reason", "").text();
  write_file_whole(path / "rank-0000.jsonl", std::string_view(text));
  return path;
}

std::string stream_of(const std::string& provenance, const std::string& point) {
  std::string out = JsonLine("run")
                        .add("schema", 1)
                        .add("lesson", "09_gpu")
                        .add("preset", "short")
                        .add("provenance", provenance)
                        .add("device", "NVIDIA H200")
                        .add("point", point)
                        .add("started", "2026-11-21T10:00:00Z")
                        .add("wanted_steps", 10)
                        .text();
  out += JsonLine("note").add("text", "plan").add("steps_per_epoch", 1).text();
  for (int i = 0; i < 10; ++i) {
    out += JsonLine("step")
               .add("step", i)
               .add("t_us", 76'000 * (i + 1))
               .add("samples", 16)
               .add("replay_us", 76'000)
               .add("step_us", 76'000)
               .text();
  }
  out += JsonLine("summary").add("steps", 10).add("samples_per_s", 210.5).add("step_us", 76'000).text();
  return out + JsonLine("end").add("status", "done").add("reason", "").text();
}

/// A project with a lesson that needs a GPU, beside which a recorded and a predicted run lie.
AppOptions with_gpu_lesson(const TempFolder& folder) {
  const fs::path home = folder / "home";
  fs::create_directories(home);
  fs::copy(project_home() / "lessons", home / "lessons", fs::copy_options::recursive);
  // A ladder so short that its last rung needs no scrolling.
  for (const std::string& name : lesson_names(home)) {
    if (name > "01_baseline") fs::remove_all(home / "lessons" / name);
  }
  fs::create_directories(home / "lessons/09_gpu");
  write_file_whole(home / "lessons/09_gpu/lesson.toml",
                   std::string_view("title = \"Graphs: launch once\"\nneeds = \"cuda\"\n"));
  const auto beside = [&](const std::string& name, const std::string& provenance, const std::string& point) {
    const fs::path run = home / "lessons/09_gpu/recorded" / name;
    fs::create_directories(run);
    write_file_whole(run / "run.toml", std::string_view("[graph]\nenabled = true\n"));
    write_file_whole(run / "rank-0000.jsonl", std::string_view(stream_of(provenance, point)));
  };
  beside("h200-2026-11-21", "recorded", "");
  beside("predicted-h200/eager", "predicted", "graph.enabled=false");
  AppOptions options = options_in(folder);
  options.home = home;
  return options;
}

}  // namespace

TEST_CASE("A run with a scaled loss shows scale, skipped steps and the gradient's norm") {
  const TempFolder folder;
  const fs::path run = write_scaled_run(folder, "fp16", true);
  const fs::path quiet = write_scaled_run(folder, "fp16-quiet", false);
  write_run(folder, {.name = "plain"});
  Headless window(options_in(folder), 1440, 1600);
  window.settle();
  window.state().run = run.string();
  window.settle();
  const Theme& theme = window.app().ui().theme();
  REQUIRE(window.has("loss scale"));
  REQUIRE(window.has("skipped"));
  REQUIRE(window.has("gradient norm"));
  CHECK(window.state().watch.views["loss scale"].log_y);
  CHECK(window.count_colour(window.box("loss scale"), theme.series[5]) > 40);
  CHECK(window.count_colour(window.box("skipped"), theme.series[6]) > 40);
  CHECK(window.count_colour(window.box("gradient norm"), theme.series[7]) > 40);
  window.click("loss scale", 1);
  window.click("Save as CSV");
  CHECK(text_of(folder / "exports/fp16-loss-scale.csv").find("32768") != std::string::npos);
  window.state().run = quiet.string();
  window.settle();
  CHECK(window.has("loss scale"));
  CHECK_FALSE(window.has("skipped"));
  window.state().run = (folder / "runs/plain").string();
  window.settle();
  CHECK(window.has("loss"));
  CHECK_FALSE(window.has("loss scale"));
  CHECK_FALSE(window.has("gradient norm"));
}

TEST_CASE("A run beside which other programs ran says so above its plots") {
  const TempFolder folder;
  const fs::path calm = write_run(folder, {.name = "calm"});
  const fs::path crowded = write_run(folder, {.name = "crowded"});
  std::string text = text_of(crowded / "rank-0000.jsonl");
  const JsonLine summary =
      JsonLine("summary").add("steps", 10).add("samples_per_s", 6.6).add("processor_wait", 0.69);
  text.insert(text.rfind("{\"kind\":\"end\""), summary.text());
  write_file_whole(crowded / "rank-0000.jsonl", std::string_view(text));
  Headless window(options_in(folder));
  // A line more stands there; its small letters have no pixel of their colour alone.
  const auto plots_begin = [&](const fs::path& run) {
    window.state().run = run.string();
    window.settle();
    return window.box("loss").y0;
  };
  CHECK(plots_begin(crowded) > plots_begin(calm) + 10);
}

TEST_CASE("Only rates that were measured here have bars: those of other machines are grey numbers") {
  const TempFolder folder;
  const AppOptions options = with_gpu_lesson(folder);
  const auto longest = [&](const char* lesson) {
    Headless window(options);
    window.settle();
    const Theme& theme = window.app().ui().theme();
    window.state().lesson.clear();
    window.frames(2);
    const Box card = window.box(std::string("lesson ") + lesson);
    return std::pair(window.longest_row(card, theme.accent),
                     std::max(window.longest_row(card, theme.dim), window.longest_row(card, theme.warn)));
  };
  CHECK(longest("01_baseline").first < 20);
  CHECK(longest("01_baseline").second < 20);  // published
  CHECK(longest("09_gpu").second < 20);       // recorded
  write_run(folder, {.name = "mine"});
  CHECK(longest("01_baseline").first > 40);
  CHECK(longest("01_baseline").second < 20);
}

TEST_CASE("A lesson that cannot run here opens the run of another machine, and says that it is one") {
  if (has_nvidia_driver()) return;
  const TempFolder folder;
  write_run(folder, {.name = "mine"});
  AppOptions options = with_gpu_lesson(folder);
  const fs::path recorded = options.home / "lessons/09_gpu/recorded";
  options.isobar = fake_isobar(folder, "");
  Headless window(options);
  window.settle();
  CHECK(window.app().feed_state().runs->runs.size() == 1);  // nothing of it until somebody asks
  CHECK(window.state().run == (folder / "runs/mine").string());
  window.click("lesson 09_gpu");
  window.until("the recorded run", [&] {
    const auto run = window.app().feed_state().runs->find((recorded / "h200-2026-11-21").string());
    return run && run->detail;
  });
  window.settle();
  CHECK(window.state().run == (recorded / "h200-2026-11-21").string());
  const auto runs = window.app().feed_state().runs->runs;
  REQUIRE(runs.size() == 3);
  CHECK(runs[0]->name == "mine");  // what was measured here stays on top
  const auto run = window.app().feed_state().runs->find(window.state().run);
  CHECK(run_line(*run) == "recorded on NVIDIA H200, 2026-11-21");
  const PlotLine line = line_of(run, "train/samples_per_s", XAxis::step, "", 0, Mark::circle);
  CHECK(line.dash == Dash::dashed);
  CHECK(line.curve != nullptr);
  const auto predicted = window.app().feed_state().runs->find((recorded / "predicted-h200/eager").string());
  REQUIRE(predicted);
  CHECK(line_of(predicted, "train/step_us", XAxis::step, "", 0, Mark::circle).dash == Dash::dotted);
  CHECK(run_line(*predicted) == "predicted by model for NVIDIA H200");
  // The replayed step has its colour, and the program is never started.
  CHECK(window.count_colour(window.box("anatomy"), stage_colour(window.app().ui().theme(), "replay")) > 200);
  window.key(32);
  CHECK_FALSE(window.app().launcher().is_running());
  CHECK_FALSE(fs::exists(folder / "arguments"));
}

TEST_CASE("The ladder is measured from a lesson that cannot run here too") {
  if (has_nvidia_driver()) return;
  const TempFolder folder;
  AppOptions options = with_gpu_lesson(folder);
  options.isobar = fake_isobar(folder, "");
  Headless window(options, 1440, 1600);
  window.settle();
  window.state().lesson = "09_gpu";
  window.state().course.parts["09_gpu"] = 1;
  window.settle();
  CHECK_FALSE(window.has("measure Run"));
  window.click("measure Ladder");
  window.until("the program", [&] { return fs::exists(folder / "arguments"); });
  CHECK(text_of(folder / "arguments") == "ladder\n");
}

TEST_CASE("Published rates are shown only once it is known that their questions are revealed") {
  const TempFolder folder;
  const AppOptions options = with_gpu_lesson(folder);
  const auto height = [&] {
    Headless window(options);
    window.settle();
    return window.box("lesson 01_baseline").height();
  };
  const float hidden = height();
  write_file_whole(options.home / "lessons/01_baseline/questions.toml",
                   std::string_view("[[question]]\nid = 5\n"));
  CHECK(height() == hidden);
  fs::remove(options.home / "lessons/01_baseline/questions.toml");
  CHECK(height() > hidden);  // it asks nothing
  // Before the questions are read.
  const Project project = read_project(options.home);
  HeadlessContext context(400, 900);
  MemoryTextures textures;
  Ui ui(textures);
  ui.set_look(/*dark=*/true, 1);
  ImGui::GetIO().Fonts->SetTexID(ImGui::GetIO().Fonts);
  ImGui::NewFrame();
  ui.begin_frame();
  AppState state;
  Requests ask;
  draw_ladder(ui, Data{.project = project, .feed = {}}, state, ask);
  ui.end_frame();
  ImGui::Render();
  for (const UiItem& item : ui.items()) {
    if (item.name == "lesson 01_baseline") CHECK(item.box.height() == hidden);
  }
}

TEST_CASE("With no run at all, a lesson that cannot run here offers its recorded one") {
  if (has_nvidia_driver()) return;
  const TempFolder folder;
  const AppOptions options = with_gpu_lesson(folder);
  Headless window(options);
  window.settle();
  window.state().lesson = "09_gpu";  // as remembered from the last time
  window.settle();
  REQUIRE(window.has("Show a run of another machine"));
  window.click("Show a run of another machine");
  window.until("the recorded run", [&] { return window.has("throughput"); });
}

TEST_CASE("Measured, recorded and predicted figures never meet in one ratio") {
  if (has_nvidia_driver()) return;
  const TempFolder folder;
  write_run(folder, {.name = "mine", .preset = "short"});
  const AppOptions options = with_gpu_lesson(folder);
  Headless window(options);
  window.settle();
  window.click("lesson 09_gpu");
  window.until("the recorded runs", [&] { return window.app().feed_state().runs->runs.size() == 3; });
  const auto runs = window.app().feed_state().runs;
  for (const auto& run : runs->runs) window.state().compared.insert(run->id);
  window.frames(3);
  window.click("Compare 3");
  window.settle();
  window.click("score mine", 1);
  window.click("Save as SVG");
  window.frames(2);
  const std::string svg = text_of(folder / "exports/compare-throughput.svg");
  INFO(svg);
  CHECK(svg.find("210 /s") != std::string::npos);
  CHECK(svg.find(">x") == std::string::npos);  // "x1.05"
}
