// The settings of the next run: checked, kept, started.
#include <algorithm>

#include "gui/headless.h"
#include "support/catch.h"

using namespace isobar;
namespace fs = std::filesystem;

TEST_CASE("A value with the signs of a shell reaches the program as one word") {
  const TempFolder folder;
  AppOptions options = options_in(folder);
  options.isobar = fake_isobar(folder, "");
  Headless window(options);
  window.settle();
  window.click("Settings");
  window.type("filter keys", "data.root");
  const std::string value = "/x; touch " + (folder / "canary").string() + " $(id) `id` \"'";
  window.type("set data.root", value);
  window.click("Start");
  window.until("the program to end",
               [&] { return fs::exists(folder / "arguments") && !window.app().launcher().is_running(); });
  CHECK(text_of(folder / "arguments") == "run\n01_baseline\n--set\ndata.root=" + value + "\n");
  CHECK_FALSE(fs::exists(folder / "canary"));
}

TEST_CASE("Settings are checked as they are typed, with the words of the program") {
  const TempFolder folder;
  Headless window(options_in(folder));
  window.settle();
  window.click("Settings");
  window.type("filter keys", "optim.");
  window.type("set optim.lr", "fast");
  CHECK(window.state().form().problem.find("optim.lr wants a number, got \"fast\"") != std::string::npos);
  CHECK(window.state().form().problem_key == "optim.lr");
  CHECK_FALSE(window.has("Start"));
  window.type("set optim.lr", "-1");
  CHECK(window.state().form().problem.find("it must be more than 0") != std::string::npos);
  window.type("set optim.lr", "2e-3");
  CHECK(window.state().form().problem.empty());
  CHECK(window.has("Start"));
  window.click("Copy command");
  CHECK(std::string(ImGui::GetClipboardText()) == "./isobar run 01_baseline --set optim.lr=2e-3");
  window.click("reset optim.lr");
  CHECK(window.state().form().changed.empty());
}

TEST_CASE(
    "Each lesson keeps its settings, a reset can be undone, and a number for a field chooses no lesson") {
  const TempFolder folder;
  Headless window(options_in(folder));
  window.settle();
  window.click("Settings");
  window.type("filter keys", "optim.lr");
  window.type("set optim.lr", "2e-3");
  window.click_at(window.box("set optim.lr").x0 - 30, window.box("set optim.lr").y1 + 60);  // just outside
  CHECK_FALSE(ImGui::GetIO().WantTextInput);
  window.key('2');
  CHECK(window.state().lesson == "01_baseline");
  window.click("lesson 02_workers");
  CHECK(window.state().form().changed.empty());
  CHECK(window.state().form().filter.empty());
  window.click("lesson 01_baseline");
  CHECK(window.state().form().changed.at("optim.lr") == "2e-3");
  CHECK(window.state().form().filter == "optim.lr");
  window.click("Reset");
  CHECK(window.state().form().changed.empty());
  CHECK(window.state().toast == "1 setting reset");
  window.click("message Undo");
  CHECK(window.state().form().changed.at("optim.lr") == "2e-3");
  window.click("set optim.lr");
  window.key(256);  // Esc leaves it
  window.key('2');
  CHECK(window.state().lesson == "02_workers");
}

TEST_CASE(
    "What starts and what stops have places of their own, and a second click on either starter does "
    "nothing") {
  const TempFolder folder;
  AppOptions options = options_in(folder);
  options.isobar = fake_isobar(folder, "exec sleep 20\n");
  Headless window(options);
  window.settle();
  window.click("Settings");
  const auto stop = [&] {
    window.click("Stop");
    window.until("the end", [&] { return !window.app().launcher().is_running(); });
  };
  for (const char* const starter : {"Start", "Run"}) {
    const Box place = window.box(starter);
    CHECK_FALSE(window.has("Stop"));
    window.double_click(starter);
    window.frames(5);
    CHECK(window.app().launcher().is_running());
    CHECK_FALSE(window.has(starter));
    for (const char* const other : {"Stop", "Stop run", "Restart with these"})
      CHECK_FALSE(window.box(other).contains({(place.x0 + place.x1) / 2, (place.y0 + place.y1) / 2}));
    stop();
    window.frames(40);
    CHECK(window.box(starter).x0 == place.x0);
    CHECK(window.box(starter).y0 == place.y0);
  }
}

TEST_CASE("Nothing in the settings moves when a field changes, however long the command grows") {
  const TempFolder folder;
  Headless window(options_in(folder), 1280, 800);
  window.settle();
  window.click("Settings");
  const auto places = [&] {
    std::vector<float> out;
    for (const char* const item :
         {"Start", "Copy command", "filter keys", "set data.limit_train", "set data.root"}) {
      out.push_back(window.box(item).x0);
      out.push_back(window.box(item).y0);
    }
    return out;
  };
  window.type("filter keys", "data.");
  const std::vector<float> before = places();
  window.type("set data.limit_train", "77");
  window.type("set data.root", "/a/folder/with/a/long/name/" + std::string(200, 'x'));
  CHECK(places() == before);
  window.type("set data.limit_train", "many");
  CHECK(window.state().form().problem_key == "data.limit_train");
  CHECK(window.box("filter keys").y0 == before[5]);
  window.type("set data.limit_train", "77");
  CHECK(window.box("Reset").x1 < ImGui::GetIO().DisplaySize.x - 16);
  window.click("Reset");
  CHECK(window.state().form().changed.empty());
  CHECK(places() == before);
}

namespace {

std::vector<std::string> names_of(const std::vector<PresetFact>& facts, bool fit) {
  std::vector<std::string> out;
  for (const PresetFact& fact : facts) {
    if (fact.fits == fit) out.push_back(fact.name);
  }
  return out;
}

}  // namespace

TEST_CASE("Presets that fit this machine come first, by size, with what each is") {
  Project project = read_project(project_home());
  project.device_kind = "cpu";
  const LessonInfo& lesson = project.find("01_baseline")->info;
  const std::uint64_t gigabyte = 1'000'000'000;
  const auto roomy = preset_facts(project, lesson, {.total_bytes = 4000 * gigabyte});
  CHECK(roomy.size() == project.presets.size());
  CHECK(names_of(roomy, true) == std::vector<std::string>{"cpu_micro", "cpu_tiny", "cpu_small", "cpu_attn"});
  CHECK(roomy.front().name == "cpu_micro");
  CHECK(roomy.front().rows == 48);
  CHECK(roomy.front().columns == 96);
  CHECK(roomy.front().parameters == Approx(700e3).epsilon(0.01));
  const auto base = std::find_if(roomy.begin(), roomy.end(), [](auto& fact) { return fact.name == "base"; });
  REQUIRE(base != roomy.end());
  CHECK(base->why_not == "made for a GPU");
  CHECK(base->bytes > 10 * gigabyte);
  const auto small = preset_facts(project, lesson, {.total_bytes = roomy.front().bytes});
  CHECK(names_of(small, true) == std::vector<std::string>{"cpu_micro"});
  CHECK(small.back().why_not.rfind("this machine has ", 0) == 0);
  project.device_kind = "cuda";
  CHECK(names_of(preset_facts(project, lesson, {.total_bytes = gigabyte}), false).empty());
  project.presets = {"cpu_tiny", "nowhere"};
  const auto wrong = preset_facts(project, lesson, {.total_bytes = gigabyte});
  CHECK(wrong.back().name == "nowhere");
  CHECK_FALSE(wrong.back().fits);
  CHECK(wrong.back().why_not.find("nowhere") != std::string::npos);
}

TEST_CASE("The next run has the preset of the one that is looked at, until another is picked") {
  const TempFolder folder;
  write_run(folder, {.name = "micro", .step_us = 3000});
  write_run(folder, {.name = "tiny", .preset = "cpu_tiny"});
  write_run(folder, {.name = "unknown", .preset = "mine"});
  Headless window(options_in(folder));
  window.settle();
  const auto look_at = [&](const char* name) {
    window.state().run = (folder / "runs" / name).string();
    window.settle();
    return window.state().form().preset;
  };
  CHECK(look_at("micro") == "cpu_micro");
  CHECK(look_at("tiny") == "cpu_tiny");
  CHECK(look_at("unknown") == "cpu_tiny");
  const auto runs = window.app().feed_state().runs;
  CHECK(measured_step_us(*runs, "01_baseline", "cpu_micro") > 0);
  CHECK(measured_step_us(*runs, "02_workers", "cpu_micro") == 0);
  CHECK(measured_step_us(*runs, "01_baseline", "cpu_small") == 0);
  window.click("Settings");
  window.click("preset");
  window.click("cpu_small");
  CHECK(window.state().form().preset == "cpu_small");
  CHECK(look_at("micro") == "cpu_small");
}
