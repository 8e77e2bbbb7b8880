// Each panel is drawn and clicked without a display.
#include <fmt/format.h>
#include <imgui_internal.h>

#include <fstream>

#include "fields/npy.h"
#include "gui/headless.h"
#include "panels/parts.h"
#include "record/json_line.h"
#include "record/run_folder.h"
#include "support/catch.h"

namespace isobar::test_window {

namespace fs = std::filesystem;

namespace {

void append(const fs::path& file, const std::string& text) { std::ofstream(file, std::ios::app) << text; }

ImGuiID id_of(Headless& window, const std::string& name) {
  for (const UiItem& item : window.app().ui().items()) {
    if (item.name == name) return item.id;
  }
  return 0;
}

}  // namespace

TEST_CASE("An empty folder says what to do, and the button starts the lesson by an argument list") {
  const TempFolder folder;
  AppOptions options = options_in(folder);
  options.isobar = fake_isobar(folder, "echo building\nsleep 0.2\n");
  Headless window(options);
  window.settle();
  REQUIRE(window.has("Run 01_baseline"));
  window.click("Run 01_baseline");
  CHECK(window.app().launcher().is_running());
  window.until("the program to end", [&] { return !window.app().launcher().is_running(); });
  CHECK(text_of(folder / "arguments") == "run\n01_baseline\n");
}

TEST_CASE("Runs are listed with their results, filtered, chosen, and drawn") {
  const TempFolder folder;
  write_run(folder, {.name = "01_baseline-20261120-100000-aaaa"});
  write_run(folder, {.name = "01_baseline-20261120-110000-bbbb", .status = "failed"});
  write_run(folder, {.name = "other", .preset = "cpu_tiny", .status = ""});
  Headless window(options_in(folder));
  window.settle();
  const auto runs = window.app().feed_state().runs;
  REQUIRE(runs->runs.size() == 3);
  window.type("filter runs", "FAILED micro");
  CHECK(window.has("run 01_baseline-20261120-110000-bbbb"));
  CHECK_FALSE(window.has("run other"));
  window.click("run 01_baseline-20261120-110000-bbbb");
  window.settle();
  const auto run = window.app().feed_state().runs->find(window.state().run);
  REQUIRE(run);
  CHECK(run->view.state == RunState::failed);
  CHECK(run_line(*run) == "failed: the loss is nan");
  // The first curve is there, in its colour.
  CHECK(window.count_colour(window.box("loss"), window.app().ui().theme().series[0]) > 40);
  CHECK(window.count_colour(window.box("anatomy"), window.app().ui().theme().stages[3]) > 200);
}

TEST_CASE("Every kind of picture is saved as SVG, PNG and CSV, and nothing is overwritten") {
  const TempFolder folder;
  const fs::path run = write_run(folder, {.name = "one", .steps = 60});
  const std::vector<float> values(3 * 3 * 4 * 8, 0.5F);
  write_npy(RunFolder{run}.fields_file(60), std::vector<std::int64_t>{3, 3, 4, 8}, values);
  Headless window(options_in(folder));
  window.settle();
  const auto save_all = [&](const std::string& item, const std::string& name) {
    for (const char* const kind : {"SVG", "PNG", "CSV"}) {
      window.click(item, 1);
      window.click(std::string("Save as ") + kind);
      window.frames(2);
    }
    const std::string file = (folder / "exports").string() + "/" + name;
    CHECK(text_of(file + ".svg").rfind("<svg", 0) == 0);
    CHECK(text_of(file + ".png").rfind("\x89PNG", 0) == 0);
    CHECK(text_of(file + ".csv").find(',') != std::string::npos);
  };
  for (const char* const plot : {"loss", "throughput", "anatomy", "rmse", "learning rate"}) {
    std::string name = plot;
    std::replace(name.begin(), name.end(), ' ', '-');
    save_all(plot, "one-" + name);
  }
  save_all("loss", "one-loss-2");
  window.click("compare one");
  window.click("Compare 1");
  window.settle();
  save_all("valid loss", "compare-valid-loss");
  save_all("score one", "compare-throughput");
  window.click("Maps");
  window.settle();
  save_all("map prediction", "one-u10m-prediction");
}

TEST_CASE("What is chosen from outside is scrolled to, once") {
  const TempFolder folder;
  for (int i = 0; i < 40; ++i)
    write_run(folder, {.name = fmt::format("06_ddp-20261120-1000{:02}-aaaa", i), .lesson = "06_ddp"});
  Headless window(options_in(folder), 1280, 700);
  window.state().run = (folder / "runs/06_ddp-20261120-100005-aaaa").string();
  window.state().lesson = "06_ddp";
  window.settle();
  const std::string row = "run 06_ddp-20261120-100005-aaaa";
  REQUIRE(window.has(row));
  CHECK(window.box(row).y1 < 660);
  CHECK(window.box("lesson 06_ddp").y0 > 48);
  CHECK(window.box("lesson 06_ddp").y1 < window.box("filter runs").y0);
  window.wheel({100, window.box(row).y0}, 50);
  CHECK_FALSE(window.has(row));  // a hand on the wheel is left alone
}

TEST_CASE("A lesson that was asked for stays, with its own newest run") {
  const TempFolder folder;
  write_run(folder, {.name = "asked", .lesson = "02_workers"});
  write_run(folder, {.name = "newest", .lesson = "06_ddp"});
  // Both may be written in one tick of the file system's clock.
  const fs::path asked = folder / "runs/asked/run.toml";
  fs::last_write_time(asked, fs::last_write_time(asked) - std::chrono::hours(1));
  const auto shown = [&](const std::string& lesson) {
    Headless window(options_in(folder));
    if (!lesson.empty()) {
      window.state().lesson = lesson;
      window.state().asked_lesson = true;
    }
    window.settle();
    return std::pair(window.state().lesson, fs::path(window.state().run).filename().string());
  };
  CHECK(shown("02_workers") == std::pair<std::string, std::string>("02_workers", "asked"));
  CHECK(shown("04_amp") == std::pair<std::string, std::string>("04_amp", ""));
  CHECK(shown("") == std::pair<std::string, std::string>("06_ddp", "newest"));
}

TEST_CASE("Comparing shows what differs first, and of single runs no factor") {
  const TempFolder folder;
  write_run(
      folder,
      {.name = "slow",
       .step_us = 2000,
       .extra =
           "[optim]\nlr = 0.001\n[train]\nsteps = 40\n[environment]\nstarted = \"1\"\ncommand = \"a\"\n"});
  write_run(
      folder,
      {.name = "fast",
       .step_us = 1000,
       .extra =
           "[optim]\nlr = 0.002\n[train]\nsteps = 40\n[environment]\nstarted = \"2\"\ncommand = \"b\"\n"});
  Headless window(options_in(folder));
  window.settle();
  window.click("compare slow");
  window.click("compare fast");
  CHECK(window.state().compared.size() == 2);
  window.click("Compare 2");
  window.settle();
  const auto runs = window.app().feed_state().runs->runs;
  const std::vector<KeyRow> rows = key_rows(runs);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].key == "optim.lr");
  CHECK(rows[0].differs);
  CHECK_FALSE(rows[1].differs);
  CHECK(window.has("train loss"));
  CHECK(window.has("score slow"));
  window.click("score fast", 1);
  window.click("Save as SVG");
  const std::string bars = text_of(folder / "exports/compare-throughput.svg");
  CHECK(bars.find("cannot tell") != std::string::npos);
  CHECK(bars.find(">x") == std::string::npos);  // "x1.05"
  window.frames(2);
  window.click("train loss", 1);
  window.click("Save as CSV");
  CHECK(text_of(folder / "exports/compare-train-loss.csv").find("\"lr 0.002\",39,") != std::string::npos);
  window.click("remove fast");
  CHECK(window.state().compared.size() == 1);
}

TEST_CASE("Event files of other programs are compared too") {
  const TempFolder folder;
  fs::create_directories(folder / "tutorial");
  fs::copy_file(project_home() / "tests/reference/events.reference",
                folder / "tutorial/events.out.tfevents.1");
  Headless window(options_in(folder));
  window.settle();
  window.click("Compare");
  window.type("runs folder", (folder / "tutorial").string());
  window.click("Add folder");
  window.until("the event files", [&] { return !window.app().feed_state().runs->runs.empty(); });
  const auto run = window.app().feed_state().runs->runs.front();
  CHECK(run->foreign);
  window.click("compare tutorial");
  window.settle();
  const auto read = window.app().feed_state().runs->find(run->id);
  REQUIRE(read->detail);
  CHECK(read->detail->series.find("train/loss"));
}

TEST_CASE("Maps show input, target, prediction and error of the channel that is asked for") {
  const TempFolder folder;
  const fs::path run = write_run(folder, {.name = "one"});
  std::vector<float> values(3 * 3 * 4 * 8);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 32) * 0.1F;
  write_npy(RunFolder{run}.fields_file(40), std::vector<std::int64_t>{3, 3, 4, 8}, values);
  write_npy(RunFolder{run}.fields_file(20), std::vector<std::int64_t>{3, 3, 4, 8}, values);
  Headless window(options_in(folder));
  window.settle();
  window.click("Maps");
  window.settle();
  REQUIRE(window.has("map prediction"));
  CHECK(window.state().maps.drawn->step == 40);
  CHECK(window.state().maps.drawn_channel == 0);  // u10m, the headline
  window.click("<");
  window.settle();
  CHECK(window.state().maps.drawn->step == 20);
  window.click("map channel");
  window.click("t2m");
  CHECK(window.state().maps.drawn_channel == 2);
  CHECK(window.count_colour(window.box("map prediction"), IM_COL32(0x44, 0x01, 0x54, 255)) > 10);
}

TEST_CASE("Keys work everywhere, and Tab shows where it is") {
  const TempFolder folder;
  write_run(folder, {.name = "one"});
  AppOptions options = options_in(folder);
  options.isobar = fake_isobar(folder, "sleep 5\n");
  Headless window(options);
  window.settle();
  window.key(258, true);  // Ctrl+Tab
  CHECK(window.state().view == View::compare);
  window.key('V');
  CHECK(window.state().view == View::predict);
  window.key('V', false, true);
  CHECK(window.state().view == View::compare);
  window.key('V', false, true);
  window.key('V', false, true);
  CHECK(window.state().view == View::code);  // the one before the first, of those that suit the lesson
  window.key('V');
  CHECK(window.state().view == View::watch);
  const bool dark = window.state().settings.dark;
  window.key('D');
  CHECK(window.state().settings.dark != dark);
  window.key('=', true);
  CHECK(window.state().settings.zoom > 1);
  window.key('0', true);
  CHECK(window.state().settings.zoom == Approx(1));
  window.letter('?');
  CHECK(window.state().help);
  REQUIRE(window.has("Close"));
  window.key(256);
  CHECK_FALSE(window.state().help);
  window.letter('/');
  CHECK(ImGui::GetIO().WantTextInput);
  window.key(256);
  window.frames(8);
  window.key('C');
  CHECK(window.state().settings.console_height > 0);
  window.key(32);  // Space runs
  CHECK(window.app().launcher().is_running());
  window.key(32);  // and stops
  window.until("the stop", [&] { return !window.app().launcher().is_running(); });
  window.key(258);
  CHECK(ImGui::GetIO().NavVisible);
  for (const char* const item : {"Run", "lesson 01_baseline", "Code"}) {
    for (int i = 0; i < 60; ++i) {
      if (ImGui::GetCurrentContext()->NavId == id_of(window, item)) break;
      window.key(258);
    }
    const Box box = window.box(item);
    INFO(item);
    CHECK(window.count_colour({box.x0 - 4, box.y0 - 4, box.x1 + 4, box.y0 + 1},
                              window.app().ui().theme().accent) > 20);
  }
}

TEST_CASE("A lesson with a predecessor shows the difference of their pages") {
  const TempFolder folder;
  const fs::path home = folder / "home";
  fs::create_directories(home);
  fs::copy(project_home() / "lessons", home / "lessons", fs::copy_options::recursive);
  fs::remove_all(home / "lessons/02_workers");  // the one here differs from its predecessor in one line
  fs::copy(home / "lessons/01_baseline", home / "lessons/02_workers", fs::copy_options::recursive);
  fs::remove(home / "lessons/02_workers/questions.toml");  // its questions are those of another lesson
  std::string sheet = text_of(home / "lessons/02_workers/lesson.toml");
  sheet.replace(sheet.find("previous = \"\""), 13, "previous = \"01_baseline\"");
  write_file_whole(home / "lessons/02_workers/lesson.toml", std::string_view("needs = \"cuda\"\n" + sheet));
  append(home / "lessons/02_workers/main.cpp", "// one line more\n");
  AppOptions options = options_in(folder);
  options.home = home;
  Headless window(options);
  window.settle();
  window.key('2');
  CHECK(window.state().lesson == "02_workers");
  window.click("Code");
  const LessonCard* const card = window.app().project().find("02_workers");
  REQUIRE(card != nullptr);
  CHECK(card->code.added == 1);
  if (!fs::exists("/dev/nvidiactl")) CHECK(card->cannot_run.find("NVIDIA") != std::string::npos);
  CHECK(window.has("I have read it"));  // the page is there too
}

}  // namespace isobar::test_window
